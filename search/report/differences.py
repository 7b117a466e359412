"""How the networks of two searches differ in a metric: medians, Mann-Whitney, Cliff's delta. Pure functions of arrays.

Cliff's delta is the share of pairs in which the second is greater less the share in which it is smaller (Cliff 1993),
from -1 to 1; 0 where neither tends to be greater. It is 2 U / (n m) - 1 with Mann & Whitney's (1947) U.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

RESAMPLES = 2000
SEED = 92
LEAST = 4  # values of each, below which nothing but the medians is given


@dataclass(frozen=True)
class Difference:
    """Second less first; intervals are 95 % percentile bootstrap; NaN where undefined, `reason` says why.

    p: two-sided Mann-Whitney, exact for small samples without ties, else the normal approximation with ties corrected.
    """

    n_first: int
    n_second: int
    median_first: float
    median_second: float
    difference: float
    low: float
    high: float
    p: float
    delta: float
    delta_low: float
    delta_high: float
    reason: str = ""


def difference(first: Floats, second: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """Compare two independent samples (n,), (m,) of finite values; each is resampled by itself."""
    middles = [float(np.median(values)) if len(values) else math.nan for values in (first, second)]
    nothing = Difference(
        len(first), len(second), middles[0], middles[1], middles[1] - middles[0], math.nan, math.nan, math.nan,
        math.nan, math.nan, math.nan, f"fewer than {LEAST} values",
    )  # fmt: skip
    if min(len(first), len(second)) < LEAST:
        return nothing
    rng = np.random.default_rng(seed)
    gaps, deltas = np.empty(resamples), np.empty(resamples)
    for i in range(resamples):
        one, two = rng.choice(first, len(first)), rng.choice(second, len(second))
        gaps[i], deltas[i] = np.median(two) - np.median(one), cliffs_delta(one, two)
    (low, high), (delta_low, delta_high) = (np.quantile(values, [0.025, 0.975]) for values in (gaps, deltas))
    return replace(
        nothing,
        low=float(low),
        high=float(high),
        p=float(stats.mannwhitneyu(second, first, alternative="two-sided").pvalue),
        delta=cliffs_delta(first, second),
        delta_low=float(delta_low),
        delta_high=float(delta_high),
        reason="",
    )


def cliffs_delta(first: Floats, second: Floats) -> float:
    """Share of pairs in which `second` is greater, less the share in which it is smaller; -1..1."""
    ordered = np.sort(first)
    below = np.searchsorted(ordered, second, side="left").sum()
    above = (len(ordered) - np.searchsorted(ordered, second, side="right")).sum()
    return float((below - above) / (len(first) * len(second)))


def delta_in_words(delta: float) -> str:
    """`negligible`, `small`, `medium` or `large`: |delta| below 0.147, 0.33, 0.474 (Romano et al. 2006)."""
    if not math.isfinite(delta):
        return "undefined"
    bounds = (("large", 0.474), ("medium", 0.33), ("small", 0.147))
    return next((name for name, bound in bounds if abs(delta) >= bound), "negligible")


def paired_difference(
    first: Floats, second: Floats, *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float, float, float]:
    """Of pairs (n,), (n,): median of second - first with its 95 % bootstrap limits over pairs, and Spearman's rho.

    Limits need at least `LEAST` pairs, rho as many and values that vary; else NaN.
    """
    gaps = second - first
    if not len(gaps):
        return math.nan, math.nan, math.nan, math.nan
    middle = float(np.median(gaps))
    if len(gaps) < LEAST:
        return middle, math.nan, math.nan, math.nan
    draws = np.random.default_rng(seed).integers(0, len(gaps), (resamples, len(gaps)))
    low, high = np.quantile(np.median(gaps[draws], axis=1), [0.025, 0.975])
    varies = np.ptp(first) > 0 and np.ptp(second) > 0
    rho = float(stats.spearmanr(first, second).statistic) if varies else math.nan
    return middle, float(low), float(high), rho
