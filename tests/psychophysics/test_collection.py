"""From events made by hand to tables whose every number is known."""

import numpy as np
import pandas as pd
import pytest

from psychophysics.baselines.pictures import manifest_baselines
from psychophysics.collection import collect
from psychophysics.exclusions import accepted, exclusions
from psychophysics.responses import read_responses, write_responses
from psychophysics.server.store.contract import Event, Participant
from psychophysics.session_plan import Place, session_plan
from psychophysics.stimuli.files import write_png

BEGUN = 1.8e9
BUTTON = {"left": -2, "right": 3}
OTHER = {"left": "right", "right": "left"}


class Person:
    """Writes the events of one participant; times are seconds of the participant's clock."""

    def __init__(self, study, name, condition, *, image_set=0, withdrawn=False):
        frozen, manifest, _ = study
        self.plan = session_plan(frozen, manifest, Place(condition, image_set, 0))
        self.participant = Participant(name, self.plan.place, "1", BEGUN, BEGUN, withdrawn=withdrawn)
        self.events = []

    def tell(self, at_s, kind, **content):
        received = BEGUN + at_s + 0.25
        self.events.append(Event(self.participant.id, len(self.events), kind, 1000 * at_s + 5e11, received, content))

    def instructed(self, seconds=30.0):
        self.tell(0, "instructions_shown")
        self.tell(seconds, "instructions_done")
        return self

    def block(self, trials, wrong=(), *, begin=40.0, each=10.0, side=None):
        """Answer trials; those at the positions `wrong` wrongly, or all on one side."""
        for index, trial in enumerate(trials):
            chosen = side or (OTHER[trial.target_side] if index in wrong else trial.target_side)
            self.tell(begin + index * each, "trial_shown", trial=trial.id)
            self.tell(begin + (index + 1) * each, "answer", trial=trial.id, button=BUTTON[chosen], rt_ms=2500 + index)
        return self


def of_kind(plan, kind):
    return [trial.position for trial in plan.main if trial.kind == kind]


def tables(study, people, **more):
    frozen, manifest, _ = study
    events = [event for person in people for event in person.events]
    return collect(frozen, manifest, [person.participant for person in people], reversed(events), **more)


def test_answers_become_rows_that_say_what_was_shown_and_whether_it_was_right(drawn_once):
    person = Person(drawn_once, "a", "natural", image_set=1).instructed()
    person.block(person.plan.practice(1), begin=40).block(person.plan.main, {0, 3}, begin=100)
    person.tell(170, "questions", answers={"strategy": 'the <left> half,\n"always"', "comments": "  "})
    found = tables(drawn_once, [person])
    practice, main = found.trials.iloc[:2], found.trials.iloc[2:]
    assert list(practice["kind"]) == ["practice"] * 2 and list(practice["attempt"]) == [1, 1]
    assert list(main["position"]) == list(range(6)) and list(main["correct"]) == [False, True, True, False, True, True]
    for (_, row), trial in zip(main.iterrows(), person.plan.main, strict=True):
        shown = (trial.network, trial.layer, str(trial.channel), trial.image_set, trial.kind, trial.target_side)
        assert tuple(row[["network", "layer", "unit", "image_set", "kind", "target_side"]]) == shown
        assert row["query_max"] == trial.query_max and row["query_min"] == trial.query_min
        assert row["confidence"] == abs(BUTTON[row["response_side"]]) and row["rt_s"] == (2500 + trial.position) / 1000
    assert set(main.loc[main["kind"] == "main", "image_set"]) == {1}
    (row,) = found.participants.to_dict("records")
    assert row == {
        "participant": "a", "condition": "natural", "instruction_s": 30.0, "total_s": 160.0, "practice_attempts": 1,
        "finished": True, "withdrawn": False,
    }  # fmt: skip
    assert found.comments.to_dict("records") == [
        {"participant": "a", "question": "strategy", "text": 'the <left> half,\n"always"'}
    ]


def test_every_exclusion_is_as_constructed(drawn_once):
    """Each rule is broken by one participant; others finish, leave in the middle, withdraw."""

    def person(name, condition="synthetic"):
        return Person(drawn_once, name, condition)

    def practised(name, seconds=30.0):
        made = person(name).instructed(seconds)
        return made.block(made.plan.practice(1))

    good, quick, one_sided, hasty = practised("good"), practised("quick", 19.9), practised("side"), practised("hasty")
    careless, slow, failed = practised("careless"), practised("slow"), person("failed").instructed()
    good.block(good.plan.main, begin=60)
    quick.block(quick.plan.main, begin=60)
    one_sided.block(one_sided.plan.main, begin=60, side="left")
    hasty.block(hasty.plan.main, begin=60, each=4.9)
    careless.block(careless.plan.main, of_kind(careless.plan, "catch")[:1], begin=60)
    slow.block(slow.plan.main, begin=845, each=10)
    for attempt in (1, 2, 3):
        failed.block(failed.plan.practice(attempt), {1}, begin=40 + 30 * attempt)
    without = person("without", "none").instructed(15.0)
    without.block(without.plan.main, begin=20, each=10)
    left = practised("left")
    left.block(left.plan.main[:5], begin=60)
    gone = Person(drawn_once, "gone", "mixed", withdrawn=True)
    gone.instructed().block(gone.plan.main)  # were there still events, they would not be used
    agreed = person("agreed")

    everybody = [good, quick, one_sided, hasty, careless, slow, failed, without, left, gone, agreed]
    found = tables(drawn_once, everybody)
    broken = exclusions(found.trials, found.participants, found.study.thresholds)
    assert [(row.participant, row.rule) for row in broken.itertuples()] == [
        ("quick", "instruction"), ("side", "catch"), ("side", "side"), ("hasty", "total"), ("careless", "catch"),
        ("slow", "total"), ("failed", "practice"),
    ]  # fmt: skip
    assert accepted(found.participants, broken) == ["good", "without"]
    people = found.participants.set_index("participant")
    assert list(people.index[~people["finished"]]) == ["left", "gone", "agreed"]
    assert people.loc["failed", "practice_attempts"] == 3 and people.loc["without", "practice_attempts"] == 0
    assert people.loc["gone", "withdrawn"] and "gone" not in set(found.trials["participant"])
    assert pd.isna(people.loc["agreed", "instruction_s"]) and people.loc["left", "total_s"] == 110.0
    main = found.trials[found.trials["kind"] == "main"]
    assert main.groupby("participant")["correct"].mean().loc[["good", "careless", "side"]].tolist() == [1, 1, 0.5]


def test_the_study_fixes_bound_seed_and_limits(drawn_once, tmp_path):
    frozen, manifest, folder = drawn_once
    found = tables(drawn_once, [Person(drawn_once, "a", "none")], baselines=manifest_baselines(folder, manifest))
    assert (found.study.equivalence_bound, found.study.seed, found.study.config_hash) == (0.05, 11, frozen.sha256)
    assert found.study.thresholds.practice_attempts == 3 and found.study.thresholds.total_seconds == (90.0, 900.0)
    assert found.networks is None
    queries = found.queries.set_index("unit")
    assert len(queries) == 4 * 2 + 5 and set(queries["activation_max"] - queries["activation_min"]) == {2.0}
    write_responses(found, tmp_path)
    read = read_responses(tmp_path)
    for name in ("trials", "participants", "queries", "baselines", "comments"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(found, name), check_dtype=False)
    assert read.study.thresholds == found.study.thresholds


def test_baselines_are_those_of_the_pictures(drawn_study):
    _, manifest, folder = drawn_study
    rng = np.random.default_rng(4)
    bases = {record.pair.base.file: rng.integers(256, size=(60, 60, 3)) for u in manifest.units for record in u.sets}
    for file, pixels in bases.items():
        write_png(folder.root / file, pixels.astype(np.uint8))
    table = manifest_baselines(folder, manifest).set_index(["baseline", "unit", "image_set"])["correct"]
    assert len(table) == 3 * 4 * 2
    # The centre of the minimum's patch is 18 pixels from the middle, that of the maximum's 25.5 or, if odd, 14.
    for unit in manifest.units:
        for record in unit.sets:
            assert table["centre", str(unit.channel), record.number] == (unit.channel % 2 == 0)
            base = bases[record.pair.base.file]
            places = (record.pair.maximum.place, record.pair.minimum.place)
            at_max, at_min = (base[top : top + 24, left : left + 24].std(axis=(0, 1)) for top, left in places)
            expected = float((at_max**2).sum() < (at_min**2).sum())
            assert table["variance", str(unit.channel), record.number] == expected
    assert set(table["variance"]) == {0.0, 1.0}


@pytest.mark.parametrize("clock", ["right", "set back"])
def test_times_are_the_participants_own_unless_their_clock_was_set_back(drawn_once, clock):
    person = Person(drawn_once, "a", "none")
    person.tell(0, "instructions_shown")
    person.tell(3, "instructions_shown")  # after a reload
    done, end = (20, 60) if clock == "right" else (-3580, -3540)
    person.events.append(Event("a", 2, "instructions_done", 5e11 + 1000 * done, BEGUN + 21, {}))
    trial = person.plan.main[0].id
    answer = {"trial": trial, "button": 1, "rt_ms": 5.0}
    person.events.append(Event("a", 3, "answer", 5e11 + 1000 * end, BEGUN + 62, answer))
    row = tables(drawn_once, [person]).participants.iloc[0]
    assert (row["instruction_s"], row["total_s"]) == ((20.0, 60.0) if clock == "right" else (20.75, 61.75))
