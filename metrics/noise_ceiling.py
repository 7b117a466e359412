"""How well any model could do: the noise ceiling of the human RDMs, and how alike the people are.

Nili et al. (2014), "A toolbox for representational similarity analysis", PLoS Comput Biol 10:e1003553. The ceiling
bounds the mean correlation with single people (`subject_similarity`), not the HMS with the average RDM.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metrics.comparators import SNAP, Comparator, comparator
from metrics.errors import MetricError
from metrics.hms import hms
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
class Ceiling:
    """Noise ceiling by one comparator, in [-1, 1].

    `lower`, `upper`: averages over people of pairs standardised as the comparator needs (rsatoolbox's convention:
    ranks, z-scores or unit length); `..._raw_average`: averages of the distances themselves. The ceiling bounds the
    mean correlation with single people, never the one with their average.
    """

    lower: float
    upper: float
    lower_raw_average: float
    upper_raw_average: float


@dataclass(frozen=True)
class SelfSimilarity:
    """Mean and SD (ddof 1) of the correlations between all `pairs` of single RDMs (subject x session), in [-1, 1]."""

    pearson_mean: float
    pearson_sd: float
    spearman_mean: float
    spearman_sd: float
    pairs: int


@dataclass(frozen=True)
class SessionSimilarity:
    """Spearman correlation of one model RDM with one RDM of one person, in [-1, 1]; sessions count from 1."""

    subject: str
    session: int
    value: float | None


@dataclass(frozen=True)
class SubjectSimilarity:
    """Spearman correlations of one model RDM with the people, in [-1, 1]; None where undefined.

    `sessions`: with each single RDM; `subjects`: with each person's average over sessions; `mean`: their mean, the only
    value of a network that the noise ceiling bounds.
    """

    sessions: tuple[SessionSimilarity, ...]
    subjects: dict[str, float | None]
    mean: float | None


def noise_ceiling(human_rdms: npt.ArrayLike) -> NoiseCeiling:
    """Noise ceiling of `human_rdms` (subjects, sessions, n, n): average each person's sessions, leave one person out.

    MetricError for fewer than two people, however many sessions there are, and for a person whose RDM is constant.
    """
    people = person_pairs(human_rdms)
    spearman_bounds, rho_a_bounds = ceiling(people, "spearman"), ceiling(people, "rho-a")
    return NoiseCeiling(
        *(spearman_bounds.lower, spearman_bounds.upper),
        *(rho_a_bounds.lower, rho_a_bounds.upper),
        *(spearman_bounds.lower_raw_average, spearman_bounds.upper_raw_average),
        subjects=len(people),
    )


def ceiling(people: FloatArray, name: str) -> Ceiling:
    """Noise ceiling by the comparator `name` of `people` (subjects, m), the pairs that `person_pairs` gives."""
    chosen = comparator(name)
    standardised = np.stack([chosen.standardise(person) for person in people])
    return Ceiling(*_bounds(people, standardised, chosen), *_bounds(people, people, chosen))


def self_similarity(human_rdms: npt.ArrayLike) -> SelfSimilarity:
    """Correlations between all pairs of the single RDMs in `human_rdms` (subjects, sessions, n, n), at least three."""
    array = _check(human_rdms)
    pairs = [upper(rdm) for rdm in array.reshape(-1, *array.shape[2:])]
    if len(pairs) < 3:
        raise MetricError(f"A spread of self-similarity needs at least 3 RDMs, got {len(pairs)}.")
    linear = [_defined(comparator("pearson"), a, b) for a, b in combinations(pairs, 2)]
    rank = [_defined(comparator("spearman"), a, b) for a, b in combinations(pairs, 2)]
    return SelfSimilarity(
        pearson_mean=float(np.mean(linear)),
        pearson_sd=float(np.std(linear, ddof=1)),
        spearman_mean=float(np.mean(rank)),
        spearman_sd=float(np.std(rank, ddof=1)),
        pairs=len(rank),
    )


def subject_similarity(model_rdm: npt.ArrayLike, rdms: npt.ArrayLike, subjects: Sequence[str]) -> SubjectSimilarity:
    """Spearman correlation of `model_rdm` (n, n) with each of `rdms` (k, n, n); `subjects` (k,): who each is of."""
    array = np.asarray(rdms, dtype=np.float64)
    if array.ndim != 3 or len(array) != len(subjects):
        raise MetricError(f"RDMs of shape {array.shape} and {len(subjects)} subjects; expected (k, n, n) and k names.")
    own = {person: [rdm for rdm, who in zip(array, subjects, strict=True) if who == person] for person in subjects}
    sessions = tuple(
        SessionSimilarity(person, number, hms(model_rdm, rdm).value)
        for person, several in own.items()
        for number, rdm in enumerate(several, start=1)
    )
    people = {person: hms(model_rdm, np.mean(several, axis=0)).value for person, several in own.items()}
    defined = [value for value in people.values() if value is not None]
    return SubjectSimilarity(sessions, people, float(np.mean(defined)) if len(defined) == len(people) else None)


def _check(human_rdms: npt.ArrayLike) -> FloatArray:
    array = np.array(human_rdms, dtype=np.float64)
    if array.ndim != 4 or array.shape[2] != array.shape[3] or 0 in array.shape:
        raise MetricError(f"Human RDMs have shape {array.shape}; expected (subjects, sessions, n, n).")
    if not np.isfinite(array).all():
        raise MetricError("Human RDMs hold NaN or infinity; prepare them again: hms data stimuli92")
    return array


def person_pairs(human_rdms: npt.ArrayLike) -> FloatArray:
    """Each person's pairs, averaged over sessions: (subjects, m) from (subjects, sessions, n, n).

    MetricError for fewer than two people, and for a person whose RDM is constant.
    """
    array = _check(human_rdms)
    if array.shape[0] < 2:
        raise MetricError(
            f"A noise ceiling needs at least 2 people, got {array.shape[0]} with {array.shape[1]} sessions: "
            "sessions of one person are not people. Add another person's RDMs."
        )
    people = np.stack([upper(person.mean(axis=0)) for person in array])
    if np.ptp(people, axis=1).min() < SNAP:
        raise MetricError("A human RDM has the same distance for all pairs; its correlation is undefined.")
    return people


def _bounds(people: FloatArray, pooled: FloatArray, chosen: Comparator) -> tuple[float, float]:
    everyone = pooled.mean(axis=0)
    upper_bound = [_defined(chosen, everyone, person) for person in people]
    lower_bound = [
        _defined(chosen, np.delete(pooled, index, axis=0).mean(axis=0), person) for index, person in enumerate(people)
    ]
    return float(np.mean(lower_bound)), float(np.mean(upper_bound))


def _defined(chosen: Comparator, first: FloatArray, second: FloatArray) -> float:
    value = chosen.similarity(first, second)
    if value is None:
        raise MetricError("A human RDM has the same distance for all pairs; its correlation is undefined.")
    return value
