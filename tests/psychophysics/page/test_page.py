"""Participants who go through the whole study in real Chromium: what they did is what is stored, and what comes out.

Their computers' clocks are turned forward where they think, so that the time limits of the paper hold in seconds.
"""

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
    visitor = visit(server, in_main(server, main=preference(strategy, server.manifest)), clock=True)
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
        "catch": in_main(server, catch=lambda trial, fetch: -perfect(trial, fetch)),
        "side": in_main(server, main=left),
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
