"""Which of two networks is more human-like, and how many beat the best trivial baseline: paired over stimuli.

Both are resampled with the same stimuli, so that what is common to them cancels (Schuett et al. 2023, eLife 12:e82566).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.bootstrap import Interval, draw, interval, resampled_similarity
from metrics.comparators import comparator
from metrics.errors import MetricError
from metrics.rdm import FloatArray, upper


@dataclass(frozen=True)
class Beaten:
    """How many networks beat the best baseline by more than the interval of the difference.

    `baseline`: the one with the highest HMS of those given. `beating`: networks of whose difference the whole 95 %
    interval is above 0. `differences`: by network, HMS of the network minus that of the baseline.
    """

    baseline: str
    baseline_hms: float
    beating: tuple[str, ...]
    differences: dict[str, Interval]


def compare_networks(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
    name: str = "spearman",
) -> Interval:
    """HMS of `first` minus HMS of `second`, RDMs (n, n) in the order of `reference`, with its interval over stimuli.

    Positive: the first is more human-like. An interval without 0: by more than the choice of stimuli explains.
    """
    return _differences({"first": first}, second, reference, draw(len(np.asarray(reference)), resamples, seed), name)[
        "first"
    ]


def beat_baselines(
    networks: Mapping[str, npt.ArrayLike],
    baselines: Mapping[str, npt.ArrayLike],
    reference: npt.ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Beaten:
    """Compare the RDM (n, n) of each network with the best of `baselines` by Spearman; undefined networks never beat.

    MetricError without a baseline.
    """
    truth = upper(reference)
    scores = {name: comparator("spearman").similarity(upper(rdm), truth) for name, rdm in baselines.items()}
    defined = {name: score for name, score in scores.items() if score is not None}
    if not defined:
        raise MetricError("There is no baseline to compare with; pass metrics.baselines.IMAGE_BASELINES.")
    best = max(defined, key=lambda name: defined[name])
    counts = draw(len(np.asarray(reference)), resamples, seed)
    found = _differences(networks, baselines[best], reference, counts, "spearman")
    beating = tuple(name for name, difference in found.items() if difference.low is not None and difference.low > 0)
    return Beaten(best, defined[best], beating, found)


def _differences(
    networks: Mapping[str, npt.ArrayLike],
    rival: npt.ArrayLike,
    reference: npt.ArrayLike,
    counts: npt.NDArray[np.int64],
    name: str,
) -> dict[str, Interval]:
    similarity = comparator(name).similarity
    truth, other = upper(reference), upper(rival)
    other_value = similarity(other, truth)
    other_samples = resampled_similarity(other, truth, counts, name)[:, 0, 0]
    found: dict[str, Interval] = {}
    for network, rdm in networks.items():
        pairs = upper(rdm)
        value = similarity(pairs, truth) if np.isfinite(pairs).all() else None
        if value is None or other_value is None:
            found[network] = interval(None, np.full(len(counts), np.nan))
            continue
        samples: FloatArray = resampled_similarity(pairs, truth, counts, name)[:, 0, 0] - other_samples
        found[network] = interval(value - other_value, samples)
    return found
