import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.stats

from metrics.comparators import COMPARATORS, comparator, cosine, pearson, rho_a, spearman, tau_a
from metrics.errors import MetricError
from metrics.rdm import upper
from metrics.stimuli92 import Stimuli92

ORACLE_NAMES = {"spearman": "spearman", "rho-a": "rho-a", "tau-a": "tau-a", "pearson": "corr", "cosine": "cosine"}


def by_definition(a: np.ndarray, b: np.ndarray) -> float:
    signs = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in combinations(range(len(a)), 2)]
    return float(np.sum(signs)) / len(signs)


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_model_of_the_oracle(
    name: str,
    oracle: dict[str, Any],
    oracle_arrays: dict[str, np.ndarray],
    stimuli92: Stimuli92,
    deviations: Any,
) -> None:
    truth, worst = upper(stimuli92.human_rdm), {}
    for model, expected in oracle["models"].items():
        if f"rdm_{model}" not in oracle_arrays:
            continue
        pairs = oracle_arrays[f"rdm_{model}"].astype(float)
        worst[model] = abs((comparator(name).similarity(pairs, truth) or 0) - expected[ORACLE_NAMES[name]])
    assert len(worst) >= 14
    tied = worst.pop("rounded_ties")
    deviations(f"{name}, {len(worst)} models of rsatoolbox", max(worst.values()), 1e-10)
    deviations(f"{name}, model with rounded ties", tied, 1e-6)


def test_tau_a_is_its_definition_and_quick() -> None:
    rng = np.random.default_rng(0)
    for levels in (3, 5, 1000):
        a, b = rng.integers(0, levels, (2, 40)).astype(float)
        assert tau_a(a, b) == pytest.approx(by_definition(a, b), abs=1e-14)
    # The conversion of scipy's other variant: tau-c = 2 (P - Q) / (n^2 (k - 1) / k), with k the fewer levels.
    a, b = rng.integers(0, 4, (2, 60)).astype(float)
    tau_c = scipy.stats.kendalltau(a, b, variant="c").statistic
    k, n = min(len(np.unique(a)), len(np.unique(b))), 60
    assert tau_a(a, b) == pytest.approx(tau_c * n**2 * (k - 1) / k / (n * (n - 1)), abs=1e-14)
    assert tau_a(np.ones(10), np.arange(10.0)) == 0
    long = rng.normal(size=(2, 100_000))
    started = time.perf_counter()
    tau_a(*long)
    # 5e9 comparisons one by one would take minutes.
    assert time.perf_counter() - started < 5


def test_scipy_agrees_with_the_correlations(deviations: Any) -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 500)).round(2)
    pairs = {
        "spearman": (spearman(a, b), scipy.stats.spearmanr(a, b).statistic),
        "pearson": (pearson(a, b), scipy.stats.pearsonr(a, b).statistic),
        "cosine": (cosine(a, b), 1 - scipy.spatial.distance.cosine(a, b)),
        "tau-a": (tau_a(a, b), by_definition(a, b)),
    }
    for name, (found, expected) in pairs.items():
        deviations(f"{name}, scipy or the definition", abs((found or 0) - expected), 1e-12)


def test_rho_a_is_the_mean_over_ways_to_break_ties() -> None:
    a, b = np.array([1.0, 1, 2, 3]), np.array([2.0, 5, 5, 1])
    broken = [
        scipy.stats.pearsonr(x, y).statistic for x in ([1, 2, 3, 4], [2, 1, 3, 4]) for y in ([2, 3, 4, 1], [2, 4, 3, 1])
    ]
    assert rho_a(a, b) == pytest.approx(np.mean(broken), abs=1e-14)


def test_undefined_is_none_and_an_unknown_name_lists_the_choices() -> None:
    constant, other = np.full(10, 0.3), np.arange(10.0)
    assert spearman(constant, other) is pearson(constant, other) is cosine(np.zeros(10), other) is None
    with pytest.raises(MetricError, match="'kendall'; choose one of: spearman, rho-a, tau-a, pearson, cosine"):
        comparator("kendall")
