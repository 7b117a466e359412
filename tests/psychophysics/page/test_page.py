"""Participants who go through the whole study in real Chromium: what they did is what is stored, and what comes out.

Their computers' clocks are turned forward where they think, so that the time limits of the paper hold in seconds.
"""

from collections.abc import Callable
from hashlib import sha256

import pytest

from psychophysics.collection import collect
from psychophysics.exclusions import exclusions
from psychophysics.simulated_strategies import preference

pytestmark = pytest.mark.browser

LIMITS = {
    "practice_attempts": 2, "catch_correct": 2, "rarer_side": 1, "instruction_seconds": 20.0,
    "total_seconds": [90.0, 900.0],
}  # fmt: skip
INSTRUCTION_S, TRIAL_S = 25.0, 15.0


@pytest.fixture(scope="module")
def server(start_server):
    """Somebody may need three rounds of practice and go on, which is one more than is accepted."""
    design = {"conditions": ["natural"], "ranked_sets": 2, "sets": 2, "participants_per_cell": 8}
    return start_server(design=design, exclusions=LIMITS)


@pytest.fixture
def in_main(server) -> Callable:
    """A function: decides main trials by `main` and catch trials by `catch`, practice rightly; both get (trial, fetch).

    A catch trial is known by its picture: the page tells it from a main trial in no way.
    """
    perfect = preference("perfect", server.manifest)
    curated = {
        name: {server.manifest.set(i).pair.base.sha256 for i in ids} for name, ids in server.frozen.curated.items()
    }

    def decide(main=perfect, catch=perfect):
        def prefer(trial, fetch):
            base = sha256(fetch(trial["base"])).hexdigest()
            if base in curated["catch"]:
                return catch(trial, fetch)
            practice = base in curated["very_easy"] | curated["easy"]
            return (perfect if practice else main)(trial, fetch)

        return prefer

    return decide


def outcome(visitor):
    """Of one visitor: the rows of main trials, by the channel of the unit, and the rules that are broken."""
    server = visitor.server
    found = collect(server.frozen, server.manifest, *server.stored())
    excluded = exclusions(found.trials, found.participants, found.study.thresholds)
    trials = found.trials[found.trials["participant"] == visitor.id]
    main = trials[trials["kind"] == "main"].set_index("unit").sort_index()
    return main, excluded.loc[excluded["participant"] == visitor.id, "rule"].tolist()


STRATEGIES = {
    "random": None,
    "centre": [True, False, True, False],
    "variance": [True, True, True, False],
    "perfect": [True] * 4,
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_participant_with_a_strategy_is_as_right_as_the_pictures_make_it(
    server, visit, in_main, check_stored, strategy
):
    visitor = visit(server, in_main(preference(strategy, server.manifest)), clock=True)
    visitor.join()
    visitor.instructions(INSTRUCTION_S)
    visitor.finish(seconds=TRIAL_S)
    check_stored(visitor)

    main, broken = outcome(visitor)
    sides = {trial.id: trial.target_side for trial in server.plan(visitor.id).main}
    by_hand = dict(zip(sides, visitor.buttons[-len(sides) :], strict=True))
    channels = {trial.id: str(trial.channel) for trial in server.plan(visitor.id).main if trial.kind == "main"}
    right = {channels[trial]: (by_hand[trial] < 0) == (sides[trial] == "left") for trial in channels}
    assert main["correct"].to_dict() == right
    if STRATEGIES[strategy] is not None:
        assert [right[str(channel)] for channel in range(4)] == STRATEGIES[strategy]
    assert main["confidence"].to_dict() == {channels[trial]: abs(by_hand[trial]) for trial in channels}
    assert main["rt_s"].between(TRIAL_S, TRIAL_S + 5).all()
    one_side = len({by_hand[trial] < 0 for trial in channels}) == 1
    assert broken == ["side"] * one_side
    assert visitor.page.locator("#withdrawal-code").inner_text().count("-") == 3


def left(trial, fetch):
    return -1.0


@pytest.mark.parametrize("rule", ["catch", "side", "instruction", "too short", "too long"])
def test_a_careless_participant_breaks_exactly_one_rule(server, visit, in_main, check_stored, rule):
    perfect = preference("perfect", server.manifest)
    careless = {
        "catch": in_main(catch=lambda trial, fetch: -perfect(trial, fetch)),
        "side": in_main(main=left),
    }
    visitor = visit(server, careless.get(rule), clock=True)
    visitor.join()
    visitor.instructions(5.0 if rule == "instruction" else INSTRUCTION_S)
    visitor.finish(seconds={"too short": 2.0, "too long": 130.0}.get(rule, TRIAL_S))
    check_stored(visitor)
    assert outcome(visitor)[1] == ["total" if rule.startswith("too") else rule]


def practise_wrongly(visitor, rounds):
    """Give a wrong answer in each of so many rounds of practice."""
    for number in range(1, rounds + 1):
        visitor.to_trial()
        title = "Practice:" if number == 1 else f"Practice, round {number}:"
        assert visitor.page.locator("header.progress").inner_text().startswith(title)
        visitor.answer(seconds=TRIAL_S, wrong=True)
        visitor.page.get_by_text("Not correct.").wait_for()
        visitor.to_trial()
        visitor.answer(seconds=TRIAL_S)
        visitor.page.get_by_text("✓ Correct.").wait_for()
        visitor.go_on()


def test_three_rounds_of_practice_are_one_too_many(server, visit, check_stored):
    visitor = visit(server, clock=True)
    visitor.join()
    visitor.instructions(INSTRUCTION_S)
    practise_wrongly(visitor, 2)
    visitor.page.get_by_text("Please practice again").wait_for()
    visitor.finish(seconds=TRIAL_S)
    check_stored(visitor)
    assert outcome(visitor)[1] == ["practice"]


def test_who_fails_practice_for_good_is_thanked_and_sees_no_main_trial(server, visit, check_stored):
    visitor = visit(server, clock=True)
    visitor.join()
    visitor.instructions(INSTRUCTION_S)
    practise_wrongly(visitor, 3)
    visitor.page.get_by_text("This counts as full participation").wait_for()
    check_stored(visitor)
    main, broken = outcome(visitor)
    assert main.empty and "practice" in broken
    assert len(visitor.buttons) == 6


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_participants_in_all_conditions(start_server, visit, in_main, check_stored):
    """Every place of a study with five conditions is taken by somebody who decides by chance; nobody else gets one."""
    conditions = ["natural", "synthetic", "mixed", "blurred", "none"]
    server = start_server(
        design={"conditions": conditions, "ranked_sets": 2, "sets": 2, "participants_per_cell": 2},
        exclusions={"rarer_side": 0},
    )
    visitors = []
    for _ in range(20):
        visitors.append(visit(server, in_main(preference("random", server.manifest)), clock=True))
        visitors[-1].join()
        visitors[-1].instructions(INSTRUCTION_S)
        visitors[-1].finish(seconds=TRIAL_S)
        check_stored(visitors[-1])
    late = visit(server)
    late.join()
    late.page.get_by_role("heading", name="The study is full").wait_for()

    found = collect(server.frozen, server.manifest, *server.stored())
    assert exclusions(found.trials, found.participants, found.study.thresholds).empty
    assert found.participants["condition"].value_counts().to_dict() == dict.fromkeys(conditions, 4)
    assert sorted(found.participants["participant"]) == sorted(visitor.id for visitor in visitors)
    assert len(found.trials) == sum(len(visitor.buttons) for visitor in visitors) == 16 * 8 + 4 * 6
