"""How well any model could do: the noise ceiling of the human RDMs, and how alike the people are.

Nili et al. (2014), "A toolbox for representational similarity analysis", PLoS Comput Biol 10:e1003553. The ceiling
bounds the mean correlation with single people (`subject_similarity`), not the HMS with the average RDM.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metrics.errors import MetricError
from metrics.hms import hms, ranks, rho_a, spearman
from metrics.rdm import FloatArray, upper


@dataclass(frozen=True)
class NoiseCeiling:
    """Bounds of the mean correlation of a model with the people, in [-1, 1].

    `lower`: mean correlation of each person with the average of the others; `upper`: with the average of all.
    The first pair is Spearman with averages of ranks (rsatoolbox's convention), then rho-a with the same averages,
    then Spearman with averages of the distances themselves. `subjects`: people, not sessions.
    """

    lower: float
    upper: float
    lower_rho_a: float
    upper_rho_a: float
    lower_raw_average: float
    upper_raw_average: float
    subjects: int


@dataclass(frozen=True)
class SelfSimilarity:
    """Mean and SD (ddof 1) of the correlations between all `pairs` of single RDMs (subject x session), in [-1, 1]."""

    pearson_mean: float
    pearson_sd: float
    spearman_mean: float
    spearman_sd: float
    pairs: int


@dataclass(frozen=True)
class SubjectSimilarity:
    """Spearman correlations of one model RDM with the people, in [-1, 1]; None where undefined.

    `sessions` (subjects, sessions): with each single RDM; `subjects`: with each person's average over sessions;
    `mean`: their mean, the only value of a network that the noise ceiling bounds.
    """

    sessions: tuple[tuple[float | None, ...], ...]
    subjects: tuple[float | None, ...]
    mean: float | None


def noise_ceiling(human_rdms: npt.ArrayLike) -> NoiseCeiling:
    """Noise ceiling of `human_rdms` (subjects, sessions, n, n): average each person's sessions, leave one person out.

    MetricError for fewer than two people, however many sessions there are, and for a person whose RDM is constant.
    """
    people = _person_pairs(human_rdms)
    ranked = np.stack([ranks(person) for person in people])
    rank_average = _bounds(people, ranked, _defined_spearman)
    rank_average_rho_a = _bounds(people, ranked, rho_a)
    raw_average = _bounds(people, people, _defined_spearman)
    return NoiseCeiling(*rank_average, *rank_average_rho_a, *raw_average, subjects=len(people))


def self_similarity(human_rdms: npt.ArrayLike) -> SelfSimilarity:
    """Correlations between all pairs of the single RDMs in `human_rdms` (subjects, sessions, n, n), at least three."""
    array = _check(human_rdms)
    pairs = [upper(rdm) for rdm in array.reshape(-1, *array.shape[2:])]
    if len(pairs) < 3:
        raise MetricError(f"A spread of self-similarity needs at least 3 RDMs, got {len(pairs)}.")
    pearson = [_pearson(a, b) for a, b in combinations(pairs, 2)]
    rank = [_defined_spearman(a, b) for a, b in combinations(pairs, 2)]
    return SelfSimilarity(
        pearson_mean=float(np.mean(pearson)),
        pearson_sd=float(np.std(pearson, ddof=1)),
        spearman_mean=float(np.mean(rank)),
        spearman_sd=float(np.std(rank, ddof=1)),
        pairs=len(rank),
    )


def subject_similarity(model_rdm: npt.ArrayLike, human_rdms: npt.ArrayLike) -> SubjectSimilarity:
    """Spearman correlation of `model_rdm` (n, n) with each of `human_rdms` (subjects, sessions, n, n)."""
    array = _check(human_rdms)
    sessions = tuple(tuple(hms(model_rdm, rdm).value for rdm in person) for person in array)
    subjects = tuple(hms(model_rdm, person.mean(axis=0)).value for person in array)
    defined = [value for value in subjects if value is not None]
    mean = float(np.mean(defined)) if len(defined) == len(subjects) else None
    return SubjectSimilarity(sessions, subjects, mean)


def _check(human_rdms: npt.ArrayLike) -> FloatArray:
    array = np.array(human_rdms, dtype=np.float64)
    if array.ndim != 4 or array.shape[2] != array.shape[3] or 0 in array.shape:
        raise MetricError(f"Human RDMs have shape {array.shape}; expected (subjects, sessions, n, n).")
    if not np.isfinite(array).all():
        raise MetricError("Human RDMs hold NaN or infinity; prepare them again: hms data stimuli92")
    return array


def _person_pairs(human_rdms: npt.ArrayLike) -> FloatArray:
    array = _check(human_rdms)
    if array.shape[0] < 2:
        raise MetricError(
            f"A noise ceiling needs at least 2 people, got {array.shape[0]} with {array.shape[1]} sessions: "
            "sessions of one person are not people. Add another person's RDMs."
        )
    return np.stack([upper(person.mean(axis=0)) for person in array])


def _bounds(
    people: FloatArray, pooled: FloatArray, compare: Callable[[FloatArray, FloatArray], float]
) -> tuple[float, float]:
    everyone = pooled.mean(axis=0)
    upper_bound = [compare(everyone, person) for person in people]
    lower_bound = [
        compare(np.delete(pooled, index, axis=0).mean(axis=0), person) for index, person in enumerate(people)
    ]
    return float(np.mean(lower_bound)), float(np.mean(upper_bound))


def _defined_spearman(first: FloatArray, second: FloatArray) -> float:
    value = spearman(first, second)
    if value is None:
        raise MetricError("A human RDM has the same distance for all pairs; its rank correlation is undefined.")
    return value


def _pearson(first: FloatArray, second: FloatArray) -> float:
    a, b = first - first.mean(), second - second.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    if norm == 0:
        raise MetricError("A human RDM has the same distance for all pairs; its correlation is undefined.")
    return float(a @ b) / norm
