from collections import Counter
from dataclasses import astuple, fields, replace

import pytest

from psychophysics.catch_distractor import catch_distractors
from psychophysics.errors import StimuliError
from psychophysics.session_plan import Place, PlannedTrial, places, session_plan

PAPER = {
    "design": {"ranked_sets": 20, "sets": 10, "participants_per_cell": 5},
    "trials": {"main": 18, "catch": 3, "practice_very_easy": 1, "practice_easy": 3, "practice_attempts": 5},
    "curation": {"network": "net", "units": {"layers": ["conv"]}, "sets": 1, "very_easy": 3, "easy": 7, "catch": 3},
}


@pytest.fixture(scope="module")
def paper(make_drawn_study, tmp_path_factory):
    """The design of the paper, as a plan of files: 18 units, 10 image sets, 5 conditions of 5 participants a set."""
    frozen, manifest, _ = make_drawn_study(tmp_path_factory.mktemp("none"), draw=False, **PAPER)
    return frozen, manifest


def test_every_place_of_the_design_is_there_once(paper):
    every = places(paper[0].study_config)
    assert len(every) == len(set(every)) == 250
    assert Counter(place.condition for place in every) == dict.fromkeys(
        ("natural", "synthetic", "mixed", "blurred", "none"), 50
    )


def test_a_session_shows_each_unit_once_with_balanced_sides_among_catch_trials(paper):
    frozen, manifest = paper
    orders, first_sides = set(), Counter()
    for slot in range(5):
        for image_set in range(10):
            plan = session_plan(frozen, manifest, Place("natural", image_set, slot))
            main = [trial for trial in plan.main if trial.kind == "main"]
            catch = [trial for trial in plan.main if trial.kind == "catch"]
            assert Counter(trial.target_side for trial in main) == {"left": 9, "right": 9}
            assert sorted(Counter(trial.target_side for trial in catch).values()) == [1, 2]
            assert {(trial.channel, trial.image_set) for trial in main} == {(c, image_set) for c in range(18)}
            assert {trial.base for trial in catch} == {manifest.set(i).pair.base.file for i in frozen.curated["catch"]}
            assert [trial.position for trial in plan.main] == list(range(21))
            assert len({trial.id for trial in plan.main}) == 21
            orders.add(tuple(trial.base for trial in plan.main))
            first_sides[plan.main[0].target_side] += 1
    assert len(orders) == 50
    assert min(first_sides.values()) > 10


def test_the_correct_side_shows_the_maximal_query_and_nothing_in_an_id_tells_a_catch_trial(paper):
    frozen, manifest = paper
    plan = session_plan(frozen, manifest, Place("blurred", 3, 2))
    for trial in (plan.instruction, *plan.practice(1), *plan.main):
        shown = {"left": trial.left, "right": trial.right}
        assert shown[trial.target_side] == trial.query_max and trial.query_max.endswith("maximum.png")
        assert {trial.left, trial.right} == {trial.query_max, trial.query_min}
        assert len(trial.references) == 9 and all("blurred" in file for file in trial.references)
    assert [trial.id for trial in plan.main][:3] == ["main-00", "main-01", "main-02"]


def test_order_and_sides_are_equal_across_conditions(paper):
    frozen, manifest = paper

    def without_references(trial):
        return astuple(replace(trial, references=()))

    for image_set, slot in ((0, 0), (9, 4)):
        plans = {
            condition: session_plan(frozen, manifest, Place(condition, image_set, slot))
            for condition in ("natural", "synthetic", "mixed", "blurred", "none")
        }
        expected = plans["natural"]
        for condition, plan in plans.items():
            if condition == "none":
                assert plan.blocks == () and plan.practice(1) == ()
                assert all(trial.references == () for trial in plan.main)
            else:
                assert [[*map(without_references, block)] for block in plan.blocks] == [
                    [*map(without_references, block)] for block in expected.blocks
                ]
            for trial, other in zip(plan.main, expected.main, strict=True):
                if condition != "none" or trial.kind == "main":
                    assert without_references(trial) == without_references(other)
                else:
                    same = {f.name for f in fields(PlannedTrial)} - {"references", "left", "right", "query_min"}
                    assert all(getattr(trial, name) == getattr(other, name) for name in same)


def test_practice_blocks_hold_one_very_easy_and_three_easy_trials_drawn_anew(paper):
    frozen, manifest = paper
    very, easy = ({manifest.set(i).pair.base.file for i in frozen.curated[role]} for role in ("very_easy", "easy"))
    plan = session_plan(frozen, manifest, Place("mixed", 1, 0))
    assert len(plan.blocks) == 5 and len({tuple(t.base for t in block) for block in plan.blocks}) == 5
    for attempt in range(1, 6):
        block = plan.practice(attempt)
        bases = {trial.base for trial in block}
        assert len(bases & very) == 1 and len(bases & easy) == 3
        assert Counter(trial.target_side for trial in block) == {"left": 2, "right": 2}
        assert [trial.id for trial in block] == [f"practice-{attempt}-{position}" for position in range(4)]
        assert all(trial.attempt == attempt and trial.kind == "practice" for trial in block)
    everybody = {
        trial.base
        for place in places(frozen.study_config)[:20]
        for block in session_plan(frozen, manifest, place).blocks
        for trial in block
    }
    assert everybody == very | easy


def test_without_references_a_catch_distractor_shows_another_units_photograph_the_same_for_all(paper):
    frozen, manifest = paper
    seen = {}
    for image_set, slot in ((0, 0), (4, 2), (9, 4)):
        for trial in session_plan(frozen, manifest, Place("none", image_set, slot)).main:
            if trial.kind == "catch":
                assert trial.query_min.endswith("minimum.png")
                assert f"conv-{trial.channel}/" in trial.query_max and f"conv-{trial.channel}/" not in trial.query_min
                assert seen.setdefault(trial.base, trial.query_min) == trial.query_min
    assert len(seen) == 3


def test_a_study_whose_curated_sets_share_one_photograph_has_no_distractor(paper):
    frozen, manifest = paper
    document = manifest.model_dump()
    for unit in document["candidates"]:
        unit["sets"][0]["pair"]["base"]["source"] = "the-same#1"
    with pytest.raises(StimuliError, match=r"has no distractor for condition none: .* photograph, the-same\. Next"):
        catch_distractors(frozen.curated, type(manifest).model_validate(document), 0)


def test_another_seed_gives_other_orders_and_a_repetition_the_same(paper):
    frozen, manifest = paper
    place = Place("natural", 0, 0)
    assert session_plan(frozen, manifest, place) == session_plan(frozen, manifest, place)
    config = {**frozen.config, "study": {**frozen.config["study"], "seed": 12}}
    other = session_plan(frozen.model_copy(update={"config": config}), manifest, place)
    assert [t.base for t in other.main] != [t.base for t in session_plan(frozen, manifest, place).main]


def test_a_small_study_of_real_files_is_planned_from_its_frozen_form(drawn_study):
    frozen, manifest, folder = drawn_study
    plan = session_plan(frozen, manifest, Place("synthetic", 1, 0))
    shown = [file for t in (plan.instruction, *plan.main) for file in (t.base, t.left, t.right, *t.references)]
    assert len(plan.main) == 6 and all((folder.root / file).is_file() for file in shown)
