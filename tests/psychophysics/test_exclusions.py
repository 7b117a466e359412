"""Each exclusion rule at its limit and one step beyond it."""

import pandas as pd
import pytest

from psychophysics.exclusions import Thresholds, accepted, exclusions, pass_rates


def _study(make_trials, make_participants, condition: str, *, catch: int = 3, side: str | None = None, **person):
    main = make_trials("p", condition, [True] * 18)
    if side is not None:
        main["response_side"] = side
        main["correct"] = main["response_side"] == main["target_side"]
    control = make_trials("p", condition, [True] * catch + [False] * (3 - catch), kind="catch")
    return pd.concat([main, control], ignore_index=True), make_participants({"p": condition}, **person)


@pytest.mark.parametrize(
    ("condition", "change", "rule"),
    [
        ("natural", {}, None),
        ("natural", {"practice_attempts": 5}, None),
        ("natural", {"practice_attempts": 6}, "practice"),
        ("natural", {"catch": 2}, None),
        ("natural", {"catch": 1}, "catch"),
        ("natural", {"side": "left"}, "side"),
        ("natural", {"instruction_s": 20.0}, None),
        ("natural", {"instruction_s": 19.9}, "instruction"),
        ("none", {"instruction_s": 15.0}, None),
        ("none", {"instruction_s": 14.9}, "instruction"),
        ("natural", {"total_s": 90.0}, None),
        ("natural", {"total_s": 89.9}, "total"),
        ("none", {"total_s": 40.0}, None),
        ("none", {"total_s": 39.9}, "total"),
        ("none", {"total_s": 900.0}, None),
        ("natural", {"total_s": 900.1}, "total"),
    ],
)
def test_a_rule_breaks_beyond_its_limit_and_alone(make_trials, make_participants, condition, change, rule) -> None:
    trials, participants = _study(make_trials, make_participants, condition, **change)
    found = exclusions(trials, participants)
    assert list(found["rule"]) == ([] if rule is None else [rule])
    assert accepted(participants, found) == (["p"] if rule is None else [])


def test_practice_counts_its_last_attempt_only(make_trials, make_participants) -> None:
    trials, participants = _study(make_trials, make_participants, "natural", practice_attempts=2)
    first = make_trials("p", "natural", [True, False, True, True], kind="practice", attempt=1)
    passed = make_trials("p", "natural", [True] * 4, kind="practice", attempt=2)
    failed = make_trials("p", "natural", [True, True, False, True], kind="practice", attempt=2)
    assert exclusions(pd.concat([trials, first, passed]), participants).empty
    found = exclusions(pd.concat([trials, first, failed]), participants)
    assert list(found["reason"]) == ["practice not passed: 3 of 4 correct in attempt 2"]


def test_reasons_give_value_and_limit_and_thresholds_are_the_callers(make_trials, make_participants) -> None:
    trials, participants = _study(make_trials, make_participants, "natural", catch=1, total_s=1000.0)
    found = exclusions(trials, participants)
    assert list(found["reason"]) == [
        "1 of 3 catch trials correct, fewer than 2",
        "1000.0 s in total, more than 900 s",
    ]
    assert list(found["value"]) == [1.0, 1000.0] and list(found["limit"]) == [2.0, 900.0]
    assert exclusions(trials, participants, Thresholds(catch_correct=1, total_seconds=(0, 2000))).empty


def test_those_who_left_are_neither_excluded_nor_accepted(make_trials, make_participants) -> None:
    trials, participants = _study(make_trials, make_participants, "natural", catch=0)
    participants = pd.concat(
        [
            participants,
            make_participants({"left": "natural"}, finished=False, total_s=float("nan")),
            make_participants({"gone": "none"}, withdrawn=True, instruction_s=0.0),
        ]
    )
    found = exclusions(trials, participants)
    assert list(found["participant"]) == ["p"]
    assert accepted(participants, found) == []
    rates = pass_rates(participants, found).set_index("rule")
    assert rates.loc["catch"].to_dict() == {"broken": 1, "finished": 1, "passed": 0.0}
    assert rates.loc["total", "passed"] == 1.0


def test_who_failed_practice_was_shown_nothing_else_and_breaks_no_further_rule(make_trials, make_participants) -> None:
    practice = make_trials("p", "natural", [True, False], kind="practice", attempt=5)
    found = exclusions(practice, make_participants({"p": "natural"}, practice_attempts=5))
    assert list(found["rule"]) == ["practice"]
