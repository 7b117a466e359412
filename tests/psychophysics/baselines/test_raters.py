"""Raters and experts become rows of the table of baselines."""

import pandas as pd
import pytest

from psychophysics.baselines.raters import expert, primary_object
from psychophysics.errors import ResponsesError


def _ratings(correct: list[bool], confidence: list[int], unit: str = "1") -> pd.DataFrame:
    names = {"network": "net", "layer": "conv", "unit": unit, "image_set": 0}
    return pd.DataFrame({"rater": list("abc")[: len(correct)], "correct": correct, "confidence": confidence}).assign(
        **names
    )


def test_unsure_ratings_count_as_their_expectation() -> None:
    table = primary_object(pd.concat([_ratings([True, True, False], [3, 2, 1]), _ratings([False] * 3, [1, 2, 3], "2")]))
    assert table["correct"].tolist() == pytest.approx([2.5 / 3, 0.5 / 3])
    assert set(table["baseline"]) == {"object"}


def test_a_missing_rater_is_named() -> None:
    with pytest.raises(ResponsesError, match="2 raters of net, conv, 1, 0; 3 are needed"):
        primary_object(_ratings([True, True], [3, 3]))
    with pytest.raises(ResponsesError, match="column `rater` is missing"):
        primary_object(_ratings([True] * 3, [3] * 3).drop(columns="rater"))


def test_experts_answers_are_their_mean(make_trials) -> None:
    trials = pd.concat([make_trials("x", "natural", [True, False]), make_trials("y", "natural", [True, True])])
    assert expert(trials, ["x", "y"])["correct"].tolist() == [1.0, 0.5]
    with pytest.raises(ResponsesError, match="No main trials of z"):
        expert(trials, ["z"])
