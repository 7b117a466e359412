"""Hyperparameter importance: the share of the variance of a metric's ranks that one hyperparameter explains.

Ranks of the metric are regressed on the ranks of the hyperparameter and their squares (on an indicator of each category
but the first where it is text); the share is the adjusted R squared, 1 - (1 - R^2)(n - 1)/(n - k - 1) with k terms
(Ezekiel 1930), whose expectation is 0 for a hyperparameter that does not matter; it may fall below 0. Under random
search hyperparameters are independent, and the share estimates the first-order sensitivity index of the ranks (Saltelli
et al. 2008, Global Sensitivity Analysis, ch. 1; rank regression: Iman & Conover 1979); what the shares leave to 1 is
interaction and noise. The square catches an optimum within the range, which Spearman misses.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from search.report.factors import TRAINED, Factor, factors
from search.report.rank_correlation import Floats, bootstrap_counts, in_chunks, interval, weighted_ranks
from search.report.sample import Sample

COLUMNS = [
    "metric", "hyperparameter", "n", "share", "ci_low", "ci_high", "terms", "method", "epoch_rule", "reason",
]  # fmt: skip
METHOD = "adjusted R2 of ranks on ranks and their squares"
METHOD_TEXT = "adjusted R2 of ranks on indicators of categories"
RESAMPLES = 1000
SEED = 79


def importance(sample: Sample, *, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """One row a metric and hyperparameter, columns `COLUMNS`; `share` at most 1, NaN with the reason where undefined.

    Intervals: percentile bootstrap over the sample's rows, 95 %.
    """
    given = [factor for factor in factors(sample.frame) if factor.name != TRAINED]
    if sample.n == 0 or not sample.measured or not given:
        return pd.DataFrame(columns=COLUMNS)
    metrics = sample.frame[list(sample.measured)].to_numpy(dtype=np.float64)
    usable = [factor for factor in given if not _why_undefined(factor, sample.n)]
    count, whole = metrics.shape[1], np.ones((1, sample.n))
    columns = np.column_stack([metrics, *(column for factor in usable for column in factor.columns.values())])
    shares = _shares(usable, columns, count, whole)[0]
    drawn = in_chunks(columns, bootstrap_counts(sample.n, resamples, seed))
    draws = np.concatenate([_shares(usable, columns, count, counts) for counts in drawn])
    rows = []
    for i, metric in enumerate(sample.measured):
        for factor in given:
            j = usable.index(factor) if factor in usable else None
            own = math.nan if j is None else float(shares[j, i])
            low, high = (math.nan, math.nan) if j is None or not math.isfinite(own) else interval(draws[:, j, i])
            rows.append(_row(sample, metric, factor, own) | {"ci_low": low, "ci_high": high})
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(sample: Sample, metric: str, factor: Factor, share: float) -> dict[str, Any]:
    reason = _why_undefined(factor, sample.n)
    return {
        "metric": metric, "hyperparameter": factor.name, "n": sample.n, "share": share, "terms": _terms(factor),
        "method": METHOD_TEXT if factor.levels else METHOD, "epoch_rule": sample.rule.name,
        "reason": reason or ("" if math.isfinite(share) else f"constant: {metric}"),
    }  # fmt: skip


def _why_undefined(factor: Factor, n: int) -> str:
    if not factor.columns:
        return factor.why_not
    if all(np.ptp(column) == 0 for column in factor.columns.values()):
        return f"constant: {factor.name}"
    return "" if n - _terms(factor) - 1 >= 2 else "fewer values than the regression needs"


def _terms(factor: Factor) -> int:
    """How many terms the regression has beside its intercept."""
    if factor.levels:
        return max(1, len(factor.levels) - 1)
    values = next(iter(factor.columns.values()), np.array([]))
    return min(2, max(1, len(np.unique(values)) - 1))


def _shares(usable: list[Factor], columns: Floats, metrics: int, counts: Floats) -> Floats:
    """Shares (B, factors, metrics) where row i of `columns`, metrics first, is present `counts[b, i]` times."""
    n = len(columns)
    ranks = weighted_ranks(columns, counts) / n
    weight = counts[:, :, None]
    y = ranks[:, :, :metrics]
    total = (y * y * weight).sum(axis=1)
    shares, start = np.empty((len(counts), len(usable), metrics)), metrics
    for j, factor in enumerate(usable):
        stop = start + len(factor.columns)
        x = ranks[:, :, start:stop]
        if not factor.levels and _terms(factor) == 2:
            x = np.concatenate([x, x * x - (x * x * weight).sum(axis=1, keepdims=True) / n], axis=2)
        start = stop
        across = np.swapaxes(x * weight, 1, 2) @ y
        within = np.swapaxes(x * weight, 1, 2) @ x
        explained = (across * (np.linalg.pinv(within, rcond=1e-10, hermitian=True) @ across)).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = np.clip(1 - explained / total, 0.0, 1.0)
        shares[:, j] = 1 - left * (n - 1) / (n - _terms(factor) - 1)
    return np.where(total[:, None, :] > 1e-12, shares, np.nan)
