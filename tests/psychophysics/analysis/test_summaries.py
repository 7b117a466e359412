"""Means and errors over participants, confidence shares: against numbers by hand."""

import numpy as np
import pandas as pd
import pytest

from psychophysics.analysis.summaries import by_condition, by_stimulus, confidence_shares, participant_means


@pytest.fixture
def trials(make_trials) -> pd.DataFrame:
    parts = [
        make_trials("a", "natural", [True, True, False, False], confidence=[1, 1, 3, 3], rt_s=[1.0, 2.0, 3.0, 4.0]),
        make_trials("b", "natural", [True, True, True], confidence=[3, 3, 3], rt_s=[5.0, 5.0, 5.0]),
        make_trials("a", "natural", [False] * 5, kind="catch"),
        make_trials("c", "none", [False, True], confidence=[2, 2]),
    ]
    return pd.concat(parts, ignore_index=True)


def test_errors_are_over_participants_and_only_main_trials_count(trials) -> None:
    table = by_condition(trials).set_index("condition")
    natural, none = table.loc["natural"], table.loc["none"]
    assert natural[["participants", "trials"]].tolist() == [2, 7]
    assert natural["mean"] == pytest.approx(0.75) and natural["pooled"] == pytest.approx(5 / 7)
    assert natural["sem2"] == pytest.approx(2 * np.std([0.5, 1.0], ddof=1) / np.sqrt(2))
    assert natural["sem2_ddof0"] == pytest.approx(2 * 0.25 / np.sqrt(2))
    assert none["mean"] == 0.5 and np.isnan(none["sem2"]) and np.isnan(none["sem2_ddof0"])
    assert by_condition(trials, "rt_s").set_index("condition").loc["natural", "mean"] == pytest.approx(3.75)
    means = participant_means(trials).set_index("participant")["mean"]
    assert means.to_dict() == {"a": 0.5, "b": 1.0, "c": 0.5}


def test_confidence_shares_and_their_accuracy(trials) -> None:
    table = confidence_shares(trials).set_index(["condition", "confidence"])
    assert table["share"]["natural"].tolist() == pytest.approx([2 / 7, 0, 5 / 7])
    assert table["accuracy"]["natural"].tolist() == pytest.approx([1.0, np.nan, 0.6], nan_ok=True)
    assert table["trials"]["none"].tolist() == [0, 2, 0]


def test_accuracy_of_units_and_layers(trials) -> None:
    units = by_stimulus(trials, ["layer", "unit"]).set_index(["condition", "layer", "unit"])["accuracy"]
    assert units["natural", "conv", "2"] == 0.5 and units["natural", "conv", "3"] == 0.0
    layers = by_stimulus(trials, ["layer"]).set_index("condition")
    assert layers.loc["natural", "accuracy"] == pytest.approx(5 / 7) and layers.loc["none", "trials"] == 2
