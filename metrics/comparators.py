"""How two RDMs are compared: Spearman, rho-a, Kendall's tau-a, Pearson and cosine, behind one table.

All take two vectors of pairs (m,) in the order of `metrics.rdm.upper` and lie in [-1, 1], higher = more similar. Names
and meanings are those of rsatoolbox (its `corr` is `pearson`). Which to use when: Schuett et al. (2023), eLife
12:e82566; Nili et al. (2014), PLoS Comput Biol 10:e1003553.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from metrics.errors import MetricError
from metrics.rdm import FloatArray

SNAP = 1e-10


@dataclass(frozen=True)
class Comparator:
    """One way to compare pairs.

    `similarity`: two (m,) vectors -> number, None where it is undefined. `standardise`: what is done to each person's
    pairs before they are averaged into the RDM that all people agree with best (rsatoolbox's convention).
    """

    name: str
    label: str
    similarity: Callable[[npt.ArrayLike, npt.ArrayLike], float | None]
    standardise: Callable[[FloatArray], FloatArray]


def ranks(values: npt.ArrayLike, snap: float = SNAP) -> FloatArray:
    """Mean ranks from 1 of finite values (m,), m >= 1; values closer than `snap` to the lowest of their group are tied.

    A group never spans more than `snap`, so a dense run of distinct values does not melt into one tie.
    """
    array = np.asarray(values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    ordered = array[order]
    gaps = np.diff(ordered)
    starts = np.flatnonzero(np.append(True, (gaps >= snap) & (gaps > 0)))
    stops = np.append(starts[1:], array.size)
    # A chain of close values that spans more than `snap` is cut greedily, from its lowest value up.
    spans = ordered[stops - 1] - ordered[starts]
    cuts = [cut for run in np.flatnonzero(spans >= snap) for cut in _cuts(ordered, starts[run], stops[run], snap)]
    starts = np.sort(np.concatenate([starts, np.array(cuts, dtype=np.intp)]))
    stops = np.append(starts[1:], array.size)
    result = np.empty(array.size)
    result[order] = np.repeat((starts + 1 + stops) / 2, stops - starts)
    return result


def _cuts(ordered: FloatArray, start: int, stop: int, snap: float) -> list[int]:
    cuts: list[int] = []
    low = start
    while snap > 0 and ordered[stop - 1] - ordered[low] >= snap:
        ahead = int(np.searchsorted(ordered[low:stop], ordered[low] + snap, side="left"))
        low = min(low + max(ahead, 1), stop - 1)
        cuts.append(low)
    return cuts


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Spearman's rank correlation of two (m,) vectors; None when either is constant after snapping."""
    return _cosine_of(_centred_ranks(first), _centred_ranks(second))


def rho_a(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's correlation of two (m,) vectors, m >= 2, averaged over all ways to break ties, as in rsatoolbox."""
    a, b = _centred_ranks(first), _centred_ranks(second)
    return float(12 * (a @ b) / (a.size**3 - a.size))


def tau_a(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Kendall's tau-a of two (m,) vectors, m >= 2: concordant minus discordant over all m*(m-1)/2; O(m log m).

    Kendall (1938), Biometrika 30:81-93. scipy counts by merge sort and gives tau-b; the two differ by their
    denominators only.
    """
    a, b = ranks(first), ranks(second)
    possible = a.size * (a.size - 1) / 2
    untied = np.array([possible - _ties(values) for values in (a, b)])
    if not untied.all():
        return 0.0
    tau_b = float(scipy.stats.kendalltau(a, b, method="asymptotic").statistic)
    return float(tau_b * np.sqrt(untied[0]) * np.sqrt(untied[1]) / possible)


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Pearson's correlation of two (m,) vectors; None when either spans less than `SNAP`."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if min(np.ptp(a), np.ptp(b)) < SNAP:
        return None
    return _cosine_of(a - a.mean(), b - b.mean())


def cosine(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Cosine of the angle between two (m,) vectors of distances; None when either is 0 throughout.

    RDMs of 1 - correlation are far from 0, so that this is near 1 for any model: compare it with its ceiling only.
    """
    return _cosine_of(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))


def _centred_ranks(values: npt.ArrayLike) -> FloatArray:
    result = ranks(values)
    return result - (result.size + 1) / 2


def _cosine_of(a: FloatArray, b: FloatArray) -> float | None:
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip(a @ b / norm, -1.0, 1.0)) if norm > 0 else None


def _ties(values: FloatArray) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def _z_scores(values: FloatArray) -> FloatArray:
    return (values - values.mean()) / values.std()


def _unit_length(values: FloatArray) -> FloatArray:
    return values / np.sqrt((values**2).mean())


COMPARATORS: dict[str, Comparator] = {
    comparator.name: comparator
    for comparator in (
        Comparator("spearman", "Spearman ρ", spearman, ranks),
        Comparator("rho-a", "Spearman ρ-a", rho_a, ranks),
        Comparator("tau-a", "Kendall τ-a", tau_a, ranks),
        Comparator("pearson", "Pearson r", pearson, _z_scores),
        Comparator("cosine", "cosine", cosine, _unit_length),
    )
}
"""Name -> comparator; the first is the paper's."""


def comparator(name: str) -> Comparator:
    """The comparator of that name; MetricError with the choices when there is none."""
    if name not in COMPARATORS:
        raise MetricError(f"There is no comparator {name!r}; choose one of: {', '.join(COMPARATORS)}.")
    return COMPARATORS[name]
