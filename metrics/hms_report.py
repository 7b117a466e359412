"""HMS in full: everything that says whether the one number means anything, as one value with a JSON form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from metrics.bootstrap import Interval, draw, interval, resampled_hms, resampled_similarity
from metrics.comparators import COMPARATORS
from metrics.decomposition import CategoryHms, GramGrid, hms_by_category
from metrics.hms import HmsResult, clipped, hms_from_gram
from metrics.network_comparison import Beaten, beat_baselines
from metrics.noise_ceiling import Ceiling, SubjectSimilarity, ceiling, subject_similarity
from metrics.partial import partial_spearman
from metrics.permutation import PermutationTest, mantel
from metrics.rdm import FloatArray, rescaled, upper
from metrics.references import Reference


@dataclass(frozen=True, eq=False)
class HmsTarget:
    """What a network is compared with, all in the order of `reference.labels`.

    `categories` (n,): of the stimuli, or None. `images`: RDMs (n, n) made of the images alone, the trivial models to
    beat; `models`: RDMs that know more, such as monkey IT. `controls`: names in `images` whose RDMs are partialled out.
    """

    reference: Reference
    categories: tuple[str, ...] | None
    images: Mapping[str, FloatArray]
    models: Mapping[str, FloatArray]
    controls: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """By one comparator: `value` is that with the mean RDM of the people, `subject_mean` the mean over people.

    `ceiling` bounds `subject_mean`, not `value`; None with fewer than two people.
    """

    value: float | None
    subject_mean: float | None
    ceiling: Ceiling | None


@dataclass(frozen=True)
class Part:
    """HMS of one layer, one time step, or one layer at one step; None stands for all."""

    layer: str | None
    step: int | None
    result: HmsResult


@dataclass(frozen=True)
class HmsReport:
    """All about one network's similarity to one reference; values in [-1, 1], higher = more similar, None = undefined.

    `intervals`: "stimuli", "subjects", "both" of HMS; "subject_mean" over stimuli of the mean over people.
    `controlled`: partial Spearman by what was controlled for. `baselines`: HMS of the trivial and other models.
    `against_baseline`: the difference from the best image baseline. `reference`: name, source, people, RDMs, digest.
    """

    name: str
    reference: dict[str, Any]
    hms: HmsResult
    n_features: int
    comparators: dict[str, Compared]
    parts: tuple[Part, ...]
    subjects: SubjectSimilarity
    categories: tuple[CategoryHms, ...]
    controlled: dict[str, float | None]
    intervals: dict[str, Interval]
    permutation: PermutationTest
    baselines: dict[str, float | None]
    against_baseline: Beaten | None
    resamples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def hms_report(
    name: str,
    grid: GramGrid,
    target: HmsTarget,
    *,
    resamples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
) -> HmsReport:
    """Compare the streamed features in `grid`, their stimuli in the order of the target, with the target.

    A network whose HMS is undefined has a report whose other values are undefined too. About a second for 92 stimuli.
    """
    whole, reference = grid.gram(), target.reference
    rdm, rdms = whole.rdm(), rescaled(reference.rdms)
    own = np.array(reference.subjects)
    people = np.stack([upper(rdms[own == person].mean(axis=0)) for person in reference.people])
    truth = _mean_rdm(target, rdms)
    result = hms_from_gram(whole, truth)
    if result.value is None:
        rdm = np.full_like(rdm, np.nan)
    shown = {**target.images, **target.models}
    return HmsReport(
        name=name,
        reference=_facts(reference),
        hms=result,
        n_features=whole.n_features,
        comparators=_compared(rdm, people),
        parts=tuple(hms_parts(grid, truth)),
        subjects=subject_similarity(rdm, rdms, reference.subjects),
        categories=tuple(hms_by_category(rdm, truth, target.categories) if target.categories else ()),
        controlled=_controlled(rdm, truth, target),
        intervals=_intervals(rdm, people, resamples, seed),
        permutation=mantel(rdm, truth, permutations=permutations, seed=seed),
        baselines={key: COMPARATORS["spearman"].similarity(upper(model), upper(truth)) for key, model in shown.items()},
        against_baseline=beat_baselines({name: rdm}, target.images, truth, resamples=resamples, seed=seed)
        if target.images
        else None,
        resamples=resamples,
        seed=seed,
    )


def _mean_rdm(target: HmsTarget, rdms: FloatArray) -> FloatArray:
    own = np.array(target.reference.subjects)
    return np.mean([rdms[own == person].mean(axis=0) for person in target.reference.people], axis=0)


def _facts(reference: Reference) -> dict[str, Any]:
    return {
        "name": reference.name,
        "source": reference.source,
        "digest": reference.digest,
        "stimuli": len(reference.labels),
        "people": len(reference.people),
        "rdms": len(reference.rdms),
    }


def _compared(rdm: FloatArray, people: FloatArray) -> dict[str, Compared]:
    pairs = upper(rdm)
    defined = bool(np.isfinite(pairs).all())
    found = {}
    for name, chosen in COMPARATORS.items():
        bounds = ceiling(people, name) if len(people) > 1 else None
        if not defined:
            found[name] = Compared(None, None, bounds)
            continue
        single = [chosen.similarity(clipped(pairs), person) for person in people]
        numbers = [value for value in single if value is not None]
        mean = float(np.mean(numbers)) if len(numbers) == len(single) else None
        found[name] = Compared(chosen.similarity(clipped(pairs), people.mean(axis=0)), mean, bounds)
    return found


def hms_parts(grid: GramGrid, truth: FloatArray) -> list[Part]:
    """HMS of each layer, each step, and each layer at each step, against the RDM `truth` (n, n)."""
    keys: list[tuple[str | None, int | None]] = [(layer, None) for layer in grid.layers]
    keys += [(None, step) for step in grid.steps]
    keys += [(layer, step) for layer in grid.layers for step in grid.steps]
    return [Part(layer, step, hms_from_gram(grid.gram(layer=layer, step=step), truth)) for layer, step in keys]


def _controlled(rdm: FloatArray, truth: FloatArray, target: HmsTarget) -> dict[str, float | None]:
    chosen = [(name,) for name in target.controls]
    groups = [*chosen, target.controls] if len(chosen) > 1 else chosen
    if not np.isfinite(rdm).all():
        return {" and ".join(names): None for names in groups}
    return {
        " and ".join(names): partial_spearman(upper(rdm), upper(truth), [upper(target.images[name]) for name in names])
        for names in groups
    }


def _intervals(rdm: FloatArray, people: FloatArray, resamples: int, seed: int) -> dict[str, Interval]:
    pairs, n = upper(rdm), len(rdm)
    if not np.isfinite(pairs).all():
        return {}
    stimuli = draw(n, resamples, seed)
    similarity = COMPARATORS["spearman"].similarity
    value = similarity(pairs, people.mean(axis=0))
    single = [own for person in people if (own := similarity(pairs, person)) is not None]
    mean = float(np.mean(single)) if len(single) == len(people) else None
    over_stimuli = resampled_similarity(pairs, people, stimuli)[:, 0].mean(axis=1)
    found = {
        "stimuli": interval(value, resampled_hms(pairs, people, stimuli=stimuli)[:, 0]),
        "subject_mean": interval(mean, over_stimuli),
    }
    if len(people) > 1:
        # Another stream of random numbers than that of the stimuli: the two must be independent.
        subjects = draw(len(people), resamples, seed + 1)
        found["subjects"] = interval(value, resampled_hms(pairs, people, subjects=subjects)[:, 0])
        found["both"] = interval(value, resampled_hms(pairs, people, stimuli=stimuli, subjects=subjects)[:, 0])
    return found
