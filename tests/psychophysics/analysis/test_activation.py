"""The relative activation difference, its guard, and its correlation with accuracy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychophysics.analysis.activation import activation_effect, relative_difference


def _queries(base: list[float], low: list[float], high: list[float]) -> pd.DataFrame:
    names = {"network": "net", "layer": "conv", "unit": [str(i) for i in range(len(base))], "image_set": 0}
    return pd.DataFrame(names | {"activation_base": base, "activation_min": low, "activation_max": high})


def test_it_is_a_share_of_the_base_and_undefined_without_one() -> None:
    found = relative_difference(_queries([2.0, 4.0, 0.0, -1.0], [1.0, 1.0, 0.0, -2.0], [2.0, 5.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, [0.5, 1.0, np.nan, np.nan])


def test_the_correlation_is_scipys_over_defined_pairs(make_trials) -> None:
    people = [[1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1]]
    trials = pd.concat([make_trials(str(i), "natural", [bool(x) for x in own]) for i, own in enumerate(people)])
    trials = pd.concat([trials, make_trials("x", "none", [True] * 6)])
    queries = _queries([1.0, 1.0, 1.0, 1.0, 1.0, -1.0], [0.0] * 6, [0.3, 0.5, 0.1, 0.9, 0.4, 0.2])
    table = activation_effect(trials, queries).set_index("condition")
    expected = stats.spearmanr([0.3, 0.5, 0.1, 0.9, 0.4], np.mean(people, axis=0)[:5])
    row = table.loc["natural"]
    assert (row["n"], row["not_defined"]) == (5, 1)
    assert row["rho"] == pytest.approx(expected.statistic) and row["p"] == pytest.approx(expected.pvalue)
    assert np.isnan(table.loc["none", "rho"])
