"""Bootstrap intervals of HMS: over stimuli, over people, over both.

A resample of stimuli draws n of n with replacement; a pair of a stimulus with itself is no pair and is left out
(otherwise its distance of 0 in both RDMs counts as agreement: the mean HMS of pixels would rise from 0.106 to 0.135).
What is left repeats pair (i, j) count_i x count_j times, so that a resample is a vector of weights over the pairs, and
all resamples are computed together without sorting again. People, not sessions, are resampled.
Efron & Tibshirani (1993), "An Introduction to the Bootstrap"; Schuett et al. (2023), eLife 12:e82566.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.comparators import COMPARATORS, comparator, ranks
from metrics.errors import MetricError
from metrics.rdm import FloatArray

Counts = npt.NDArray[np.int64]

# Resamples computed together: 64 x 4,186 weights in float64 are 2 MiB, which stays in the cache.
_BLOCK = 64
_PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % percentile interval.

    `value`: of the whole data. `mean`: of the resamples. `undefined`: resamples without a value, left out.
    """

    value: float | None
    low: float | None
    high: float | None
    mean: float | None
    resamples: int
    undefined: int


def draw(n: int, resamples: int, seed: int) -> Counts:
    """(resamples, n) int64: how often each of `n` stimuli, or people, is drawn; each row sums to n."""
    if n < 2 or resamples < 1:
        raise MetricError(f"{resamples} resamples of {n}: a bootstrap needs at least 1 resample of at least 2.")
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)


def resampled_similarity(
    models: npt.ArrayLike, references: npt.ArrayLike, counts: Counts, name: str = "spearman"
) -> FloatArray:
    """Similarity in every resample of stimuli: (B, k, r) for models (k, m), references (r, m), counts (B, n).

    NaN where it is undefined, as when all pairs of a resample are tied. The comparator `tau-a` takes about 1 ms a
    resample and pair of RDMs, the others a tenth.
    """
    left, right = np.atleast_2d(np.asarray(models, float)), np.atleast_2d(np.asarray(references, float))
    i, j = np.triu_indices(counts.shape[1], 1)
    if left.shape[1] != i.size or right.shape[1] != i.size:
        raise MetricError(
            f"{left.shape[1]} and {right.shape[1]} pairs do not fit {counts.shape[1]} stimuli, which have {i.size}."
        )
    result = np.empty((len(counts), len(left), len(right)))
    forms = _repeated if name == "tau-a" else _weighted
    prepared = [_Sorted(row) for row in left], [_Sorted(row) for row in right]
    for start in range(0, len(counts), _BLOCK):
        block = counts[start : start + _BLOCK]
        weights = (block[:, i] * block[:, j]).astype(np.float64)
        result[start : start + _BLOCK] = forms(*prepared, weights, comparator(name).name)
    return result


def resampled_hms(
    models: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    stimuli: Counts | None = None,
    subjects: Counts | None = None,
    name: str = "spearman",
) -> FloatArray:
    """HMS (B, k) of models (k, m) with the mean RDM of `people` (p, m), resampled over stimuli, people, or both.

    `stimuli` (B, n) and `subjects` (B, p) are from `draw`, of different seeds; None: not resampled.
    """
    everyone, models = np.asarray(people, float), np.atleast_2d(np.asarray(models, float))
    if stimuli is None and subjects is None:
        raise MetricError("Nothing to resample: give counts of stimuli, of subjects, or of both.")
    if subjects is None:
        assert stimuli is not None
        return resampled_similarity(models, everyone.mean(axis=0), stimuli, name)[:, :, 0]
    # Four people have only 35 different resamples: one reference for each.
    drawn, place = np.unique(subjects, axis=0, return_inverse=True)
    result = np.empty((len(subjects), len(models)))
    for index, row in enumerate(drawn):
        chosen = np.flatnonzero(place.ravel() == index)
        reference = row @ everyone / row.sum()
        if stimuli is None:
            values = [comparator(name).similarity(model, reference) for model in models]
            result[chosen] = [np.nan if value is None else value for value in values]
        else:
            result[chosen] = resampled_similarity(models, reference, stimuli[chosen], name)[:, :, 0]
    return result


def interval(value: float | None, samples: FloatArray) -> Interval:
    """The percentile interval of `samples` (B,); None where no resample has a value."""
    defined = samples[np.isfinite(samples)]
    undefined = samples.size - defined.size
    if value is None or defined.size == 0:
        return Interval(value, None, None, None, samples.size, undefined)
    low, high = (float(bound) for bound in np.percentile(defined, _PERCENTILES))
    return Interval(value, low, high, float(defined.mean()), samples.size, undefined)


class _Sorted:
    """Pairs (m,) with their order and ties, found once for all resamples."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        self.ranks = ranks(values)
        distinct, self.group = np.unique(self.ranks, return_inverse=True)
        self.order = np.argsort(self.ranks, kind="stable")
        self.starts = None if distinct.size == values.size else np.searchsorted(self.ranks[self.order], distinct)

    def weighted_ranks(self, weights: FloatArray) -> FloatArray:
        """Mean ranks (B, m) when each pair is there `weights` (B, m) times."""
        ordered = weights[:, self.order]
        if self.starts is not None:
            ordered = np.add.reduceat(ordered, self.starts, axis=1)
        return (ordered.cumsum(axis=1) - (ordered - 1) / 2)[:, self.group]


def _weighted(left: list[_Sorted], right: list[_Sorted], weights: FloatArray, name: str) -> FloatArray:
    total = weights.sum(axis=1, keepdims=True)

    def centred(pairs: _Sorted) -> FloatArray:
        if name in ("spearman", "rho-a"):
            return pairs.weighted_ranks(weights) - (total + 1) / 2
        if name == "cosine":
            return np.broadcast_to(pairs.values, weights.shape)
        return pairs.values - (weights @ pairs.values)[:, None] / total

    models = [centred(pairs) for pairs in left]
    norms = [np.einsum("bm,bm,bm->b", a, a, weights) for a in models]
    result = np.empty((len(weights), len(left), len(right)))
    for r, pairs in enumerate(right):
        reference = centred(pairs)
        shared = reference * weights
        own = np.einsum("bm,bm->b", reference, shared)
        for k, (model, norm) in enumerate(zip(models, norms, strict=True)):
            size = (total[:, 0] ** 3 - total[:, 0]) / 12 if name == "rho-a" else np.sqrt(norm * own)
            product = np.einsum("bm,bm->b", model, shared)
            result[:, k, r] = np.divide(product, size, out=np.full(len(weights), np.nan), where=size > 0)
    return np.clip(result, -1.0, 1.0)


def _repeated(left: list[_Sorted], right: list[_Sorted], weights: FloatArray, name: str) -> FloatArray:
    similarity, times = COMPARATORS[name].similarity, weights.astype(np.intp)
    result = np.empty((len(weights), len(left), len(right)))
    for b, repeats in enumerate(times):
        models = [np.repeat(pairs.ranks, repeats) for pairs in left]
        references = [np.repeat(pairs.ranks, repeats) for pairs in right]
        for k, model in enumerate(models):
            for r, reference in enumerate(references):
                value = similarity(model, reference)
                result[b, k, r] = np.nan if value is None else value
    return result
