import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from search.report.differences import cliffs_delta, delta_in_words, difference, paired_difference


def sample(seed: int, n: int, shift: float = 0.0, digits: int = 12) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(shift, 1, n), digits)


@pytest.mark.parametrize("digits", [12, 0])  # 0: many ties
@pytest.mark.parametrize(("n", "m"), [(5, 9), (40, 23)])
def test_delta_counts_pairs_and_p_is_scipys(n: int, m: int, digits: int) -> None:
    first, second = sample(1, n, digits=digits), sample(2, m, 0.7, digits)
    counted = sum(np.sign(b - a) for a, b in product(first, second)) / (n * m)
    assert cliffs_delta(first, second) == pytest.approx(counted, abs=1e-12)
    u = stats.mannwhitneyu(second, first, alternative="two-sided")
    found = difference(first, second, resamples=200)
    assert found.p == u.pvalue
    assert found.delta == pytest.approx(2 * u.statistic / (n * m) - 1, abs=1e-12)
    assert found.difference == np.median(second) - np.median(first)
    assert (found.n_first, found.n_second) == (n, m)


def test_a_case_by_hand() -> None:
    # Pairs (a, b) with b > a: 1<2, 1<5, 1<6, 1<7, 3<5, ..., of 16; one tie would count as neither.
    first, second = np.array([1.0, 3.0, 4.0, 9.0]), np.array([2.0, 5.0, 6.0, 7.0])
    assert cliffs_delta(first, second) == (10 - 6) / 16
    assert cliffs_delta(second, first) == -(10 - 6) / 16
    assert cliffs_delta(first, first) == 0
    assert cliffs_delta(np.zeros(3), np.ones(2)) == 1


def test_the_interval_is_scipys_percentile_bootstrap() -> None:
    first, second = sample(3, 60), sample(4, 50, 0.5)
    found = difference(first, second)
    oracle = stats.bootstrap(
        (first, second), lambda a, b, axis: np.median(b, axis=axis) - np.median(a, axis=axis), method="percentile",
        n_resamples=20_000, vectorized=True, rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.05)
    assert found.delta_low < found.delta < found.delta_high
    assert difference(first, second) == found  # a fixed seed


def test_intervals_cover_about_as_often_as_they_say() -> None:
    hits = 0
    for seed in range(60):
        found = difference(sample(seed, 40), sample(1000 + seed, 40, 1.0), resamples=200)
        hits += found.low <= 1.0 <= found.high
    assert hits >= 51


def test_few_values_have_medians_and_a_reason() -> None:
    found = difference(np.array([1.0, 2.0, 3.0]), sample(1, 10))
    assert found.median_first == 2.0
    assert math.isnan(found.p)
    assert math.isnan(found.low)
    assert found.reason == "fewer than 4 values"
    assert math.isnan(difference(np.array([]), sample(1, 10)).difference)


def test_words_of_delta() -> None:
    assert [delta_in_words(value) for value in (0.1, -0.2, 0.4, -0.6, math.nan)] == [
        "negligible", "small", "medium", "large", "undefined",
    ]  # fmt: skip


def test_pairs() -> None:
    first = sample(6, 30)
    second = first + 0.5
    middle, low, high, rho = paired_difference(first, second)
    assert (middle, low, high, rho) == pytest.approx((0.5, 0.5, 0.5, 1.0))
    noisy = second + sample(7, 30) * 0.3
    middle, low, high, rho = paired_difference(first, noisy)
    assert low <= middle <= high
    assert middle == pytest.approx(np.median(noisy - first))
    assert rho == pytest.approx(stats.spearmanr(first, noisy).statistic)
    assert math.isnan(paired_difference(first[:3], second[:3])[1])
    assert math.isnan(paired_difference(np.ones(5), np.ones(5))[3])
