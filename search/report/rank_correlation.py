"""Spearman correlation, partial Spearman, intervals and p-values; pure functions of arrays.

Partial Spearman is the Pearson correlation of what is left of two rank vectors after linear regression on the
ranks of the controls (Kendall & Stuart, vol. 2, ch. 27). Values lie in [-1, 1]; NaN where undefined.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

EXACT_UP_TO = 8  # networks; 8! = 40,320 orders are enumerated, 9! would cost ten times that for every pair
_NO_VARIANCE = 1e-10
_CHUNK_VALUES = 4_000_000


def correlation_matrix(columns: Floats) -> Floats:
    """Spearman matrix (V, V) of `columns` (n, V); a constant column gives NaN."""
    return _weighted(columns, np.ones((1, len(columns)), dtype=np.float64))[0]


def bootstrap_matrices(columns: Floats, *, resamples: int, seed: int) -> Floats:
    """Spearman matrices (resamples, V, V) of rows drawn with replacement; the same seed gives the same draws."""
    return resampled_matrices(columns, bootstrap_counts(len(columns), resamples, seed))


def bootstrap_counts(n: int, resamples: int, seed: int) -> Floats:
    """How often each of n rows is drawn, (resamples, n), whole numbers whose rows sum to n."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=resamples).astype(np.float64)


def resampled_matrices(columns: Floats, counts: Floats) -> Floats:
    """Spearman matrices (B, V, V) of resamples in which row i of `columns` (n, V) is present `counts[b, i]` times."""
    return np.concatenate([_weighted(columns, part) for part in in_chunks(columns, counts)])


def in_chunks(columns: Floats, counts: Floats) -> Iterator[Floats]:
    """Resamples `counts` (B, n) a few at a time, so that the ranks of `columns` (n, V) in all of them fit in memory."""
    step = max(1, _CHUNK_VALUES // max(1, columns.size))
    return (counts[start : start + step] for start in range(0, len(counts), step))


def weighted_ranks(columns: Floats, counts: Floats) -> Floats:
    """Centred ranks (B, n, V) where row i of `columns` (n, V) is present `counts[b, i]` times; rows sum to n.

    Ranks with multiplicities come from cumulated counts along the sorted column, so no resample is sorted anew.
    """
    n, variables = columns.shape
    centred = np.empty((len(counts), n, variables))
    for v in range(variables):
        order = np.argsort(columns[:, v], kind="stable")
        values = columns[order, v]
        starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        sizes = np.add.reduceat(counts[:, order], starts, axis=1)
        ranks = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
        group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, n]))
        centred[:, order, v] = ranks[:, group] - (n + 1) / 2
    return centred


def _weighted(columns: Floats, counts: Floats) -> Floats:
    """Spearman matrices (B, V, V) where row i of `columns` (n, V) is present `counts[b, i]` times."""
    centred = weighted_ranks(columns, counts)
    covariance = np.swapaxes(centred, 1, 2) @ (centred * counts[:, :, None])
    spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    with np.errstate(invalid="ignore", divide="ignore"):
        matrices = covariance / (spread[:, :, None] * spread[:, None, :])
    return np.clip(matrices, -1.0, 1.0)


def partial(matrices: Floats, x: int, y: int, controls: list[int]) -> Floats:
    """Partial correlations (...,) of variables x and y of correlation `matrices` (..., V, V), given `controls`.

    NaN where x or y is constant or is a linear function of the controls' ranks.
    """
    if not controls:
        return matrices[..., x, y]
    used = [x, y, *controls]
    chosen = matrices[..., used, :][..., used]
    finite = np.asarray(np.isfinite(chosen).all(axis=(-2, -1)))
    safe = np.where(finite[..., None, None], chosen, np.eye(len(used)))
    within, across = safe[..., 2:, 2:], safe[..., 2:, :2]
    solved = np.linalg.pinv(within, rcond=_NO_VARIANCE, hermitian=True) @ across
    left = safe[..., :2, :2] - np.swapaxes(across, -1, -2) @ solved
    variance_x, variance_y = left[..., 0, 0], left[..., 1, 1]
    defined = finite & (variance_x > _NO_VARIANCE) & (variance_y > _NO_VARIANCE)
    scale = np.sqrt(np.where(defined, variance_x * variance_y, 1.0))
    return np.where(defined, np.clip(left[..., 0, 1] / scale, -1.0, 1.0), np.nan)


def controls_rank(matrix: Floats, controls: list[int]) -> int:
    """How many linearly independent controls there are: the degrees of freedom that they take."""
    if not controls:
        return 0
    return int(np.linalg.matrix_rank(matrix[np.ix_(controls, controls)], tol=_NO_VARIANCE, hermitian=True))


def interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of bootstrap `values` (B,); NaNs when more than a tenth of them are undefined."""
    defined = values[np.isfinite(values)]
    if len(defined) < 0.9 * len(values) or len(defined) == 0:
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def t_p_value(rho: float, degrees: int, n: int) -> float:
    """Two-sided p of a rank correlation by Student's t; never below 2 / n!, the least that n ranks can give."""
    if degrees < 1 or not math.isfinite(rho):
        return math.nan
    least = math.exp(math.log(2) - math.lgamma(n + 1))
    if abs(rho) >= 1.0:
        return least
    t = abs(rho) * math.sqrt(degrees / (1 - rho * rho))
    return float(max(2 * stats.t.sf(t, degrees), least))


def exact_p_value(x: Floats, y: Floats) -> float:
    """Two-sided p of Spearman's rho by enumerating all orders of y; x and y (n,) with n <= `EXACT_UP_TO`."""
    ranks_x, ranks_y = stats.rankdata(x), stats.rankdata(y)
    centred_x, centred_y = ranks_x - ranks_x.mean(), ranks_y - ranks_y.mean()
    return float(np.mean(null_sums(centred_x, centred_y) >= abs(centred_x @ centred_y) - 1e-9))


def null_sums(centred_x: Floats, centred_y: Floats) -> Floats:
    """|sum of x * y| for all orders of y, rising, (n!,); x and y are centred ranks (n,) with n <= `EXACT_UP_TO`."""
    return np.sort(np.abs(centred_y[_orders(len(centred_x))] @ centred_x))


@lru_cache(maxsize=2)
def _orders(n: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def cohen(rho: float) -> str:
    """Cohen's (1988) label of |rho|: `large` >= 0.5, `medium` >= 0.3, `small` >= 0.1, `negligible`, `undefined`."""
    if not math.isfinite(rho):
        return "undefined"
    bounds = (("large", 0.5), ("medium", 0.3), ("small", 0.1))
    return next((label for label, bound in bounds if abs(rho) >= bound), "negligible")
