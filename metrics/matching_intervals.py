"""Intervals of object-matching accuracy, and the paired comparison of two networks, by resampling objects.

Trials share objects, so that they are no independent draws: resampling trials gives intervals that are too narrow. Here
whole objects are drawn again with replacement, each with all trials whose probe it is, and with the answers of
both networks where two are compared. Percentile intervals: Efron & Tibshirani, "An Introduction to the Bootstrap"
(1993), chapters 13 and 16; clusters: Davison & Hinkley, "Bootstrap Methods and their Application" (1997), 3.8.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet
from metrics.matching import MatchingResult
from metrics.matching_trials import MatchingTrials

OVERALL = "overall"
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """A number with its percentile interval.

    `trials` and `objects`: how many it rests on. No width where all answers are alike: the bootstrap then says nothing.
    """

    value: float
    low: float
    high: float
    trials: int
    objects: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Difference(Interval):
    """First network less second, in accuracy, from -1 to 1; positive: the first is better.

    p: two-sided, of no difference: twice the smaller share of resamples on one side of zero (ties on both), at least
    2 / (resamples + 1) and at most 1.
    """

    p: float


@dataclass(frozen=True)
class _Groups:
    """Trials by object and kind: `counts` (objects, kinds + 1) with all trials in column 0; `member` (n, kinds + 1)."""

    names: tuple[str, ...]
    row: NDArray[np.intp]  # (n,) object of each trial
    member: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, objects: NDArray[np.str_], kinds: NDArray[np.str_]) -> "_Groups":
        if objects.ndim != 1 or objects.shape != kinds.shape or not len(objects):
            raise MetricError(
                f"objects have the shape {objects.shape}, kinds {kinds.shape}: one of each for each trial."
            )
        found = tuple(str(kind) for kind in np.unique(kinds))
        member = np.column_stack([np.ones(len(kinds)), *(kinds == kind for kind in found)])
        _, row = np.unique(objects, return_inverse=True)
        return cls((OVERALL, *found), row, member, _summed(row, member))

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of `values` (n,) over the trials of each object and kind, as `counts`."""
        return _summed(self.row, self.member * values[:, None])

    def means(self, values: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Means (resamples, kinds + 1) with `weights` (resamples, objects); NaN where a kind was not drawn."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (weights @ self.sums(values)) / (weights @ self.counts)


def trial_objects(objects: ObjectSet, trials: MatchingTrials) -> NDArray[np.str_]:
    """The object (n,) of each trial, by name: that of its probe."""
    names = np.array([row.object for row in objects.rows])
    return names[trials.probe]


def accuracy_intervals(
    correct: NDArray[np.bool_],
    objects: NDArray[np.str_],
    kinds: NDArray[np.str_],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Accuracy with its interval, `overall` first, then by kind of trial.

    correct (n,) bool, the answers; objects (n,), the object of each trial; kinds (n,). `level`: share of the resamples
    within an interval. The same seed gives the same interval. Raises `MetricError` for shapes that do not fit.
    """
    groups = _Groups.of(objects, kinds)
    values = _checked(correct, groups)
    means = groups.means(values, _weights(groups, resamples, seed))
    exact = groups.means(values, np.ones((1, len(groups.counts)), np.int64))[0]
    return {
        name: Interval(float(exact[k]), *_ends(means[:, k], level), *_rests_on(groups, k))
        for k, name in enumerate(groups.names)
    }


def compare_networks(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    objects: NDArray[np.str_],
    kinds: NDArray[np.str_],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Difference]:
    """Difference of two networks that saw the same trials, `overall` first, then by kind; arguments as above."""
    groups = _Groups.of(objects, kinds)
    values = _checked(first, groups) - _checked(second, groups)
    means = groups.means(values, _weights(groups, resamples, seed))
    exact = groups.means(values, np.ones((1, len(groups.counts)), np.int64))[0]
    return {
        name: Difference(float(exact[k]), *_ends(means[:, k], level), *_rests_on(groups, k), p=_two_sided(means[:, k]))
        for k, name in enumerate(groups.names)
    }


def intervals_of(
    result: MatchingResult, objects: ObjectSet, trials: MatchingTrials, *, resamples: int = RESAMPLES, seed: int = 0
) -> Mapping[str, Interval]:
    """`accuracy_intervals` of a result; none where it is undefined."""
    if result.correct is None:
        return {}
    return accuracy_intervals(
        result.correct, trial_objects(objects, trials), trials.kind, resamples=resamples, seed=seed
    )


def _summed(row: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros((int(row.max()) + 1, values.shape[1]))
    np.add.at(total, row, values)
    return total


def _checked(correct: NDArray[np.bool_], groups: _Groups) -> NDArray[np.float64]:
    if correct.shape != groups.row.shape or correct.dtype != np.bool_:
        raise MetricError(
            f"The answers have the shape {correct.shape} and type {correct.dtype}; these trials need "
            f"{groups.row.shape} and bool. An undefined result has no answers."
        )
    return correct.astype(np.float64)


def _weights(groups: _Groups, resamples: int, seed: int) -> NDArray[np.int64]:
    """How often each object is drawn: (resamples, objects), rows sum to the number of objects."""
    if resamples < 1:
        raise MetricError(f"{resamples} resamples: give at least 1.")
    count = len(groups.counts)
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1.0 / count), size=resamples)


def _ends(means: NDArray[np.float64], level: float) -> tuple[float, float]:
    if not 0.0 < level < 1.0:
        raise MetricError(f"The level of an interval is {level}; give a share between 0 and 1, such as 0.95.")
    low, high = np.nanquantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def _rests_on(groups: _Groups, kind: int) -> tuple[int, int]:
    return int(groups.counts[:, kind].sum()), int(np.count_nonzero(groups.counts[:, kind]))


def _two_sided(means: NDArray[np.float64]) -> float:
    drawn = means[~np.isnan(means)]
    tail = min(np.count_nonzero(drawn <= 0.0), np.count_nonzero(drawn >= 0.0))
    return float(min(1.0, 2.0 * (tail + 1) / (len(drawn) + 1)))
