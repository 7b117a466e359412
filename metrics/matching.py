"""Object-matching accuracy: how often a network's nearest gallery image is the probe's own object.

Accuracy is in [0, 1], higher is better, chance 1 / gallery. The similarity is the cosine of two images' features,
averaged over time steps; the answer is its largest value, and a tie is a wrong answer.
Task: Blanchard et al. 2019, after Tenenbaum et al. 2011. Unlike the published code, no score is given to features
that cannot tell images apart: an all-zero network would score 1.0 there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet
from metrics.matching_trials import MatchingTrials, TooFewObjects, draw_trials, write_trials

__all__ = [
    "MatchingResult",
    "MatchingTrials",
    "StreamedMatching",
    "TooFewObjects",
    "draw_trials",
    "matching_accuracy",
    "pixel_accuracy",
    "write_trials",
]

Status = Literal["ok", "undefined_constant", "undefined_zero", "diverged"]
TIE = 1e-12  # cosines closer than this are equal; float32 features that differ in one last bit are about as close
FEATURES_AT_ONCE = 4096  # columns widened to float64 at a time


@dataclass(frozen=True)
class MatchingResult:
    """Accuracy over all trials and by kind of trial; numbers only where the status is ok.

    undefined_zero: some image has all-zero features at some time step, so that its cosine does not exist;
    undefined_constant: in every trial all gallery images are equally similar to the probe;
    diverged: a feature is NaN or infinite. correct (n,) bool, in the order of the trials.
    """

    accuracy: float | None
    status: Status
    by_kind: dict[str, float]
    correct: NDArray[np.bool_] | None


class StreamedMatching:
    """Accuracy from features that arrive one time step at a time; only cosines are kept."""

    def __init__(self, trials: MatchingTrials) -> None:
        self._trials = trials
        self._steps = 0
        self._zero = self._diverged = False
        self._sums = np.zeros(trials.gallery.shape)

    def update(self, features: NDArray[np.floating]) -> None:
        """Add the features (N, d) of one time step, a row for each image of the object set; unchanged by this."""
        images = int(self._trials.gallery.max(initial=0)), int(self._trials.probe.max(initial=0))
        if features.ndim != 2 or features.shape[0] <= max(images) or features.shape[1] == 0:
            raise MetricError(
                f"Features have the shape {features.shape}; these trials need (images, features) with at least "
                f"{max(images) + 1} images and one feature."
            )
        self._steps += 1
        for kind in np.unique(self._trials.kind):
            chosen = self._trials.kind == kind
            self._sums[chosen] += self._cosines(features, self._trials.probe[chosen], self._trials.gallery[chosen])

    def result(self) -> MatchingResult:
        """The accuracy over all steps so far. Raises `MetricError` before the first."""
        if not self._steps:
            raise MetricError("No features were given: pass those of one time step or more.")
        if self._diverged:
            return MatchingResult(None, "diverged", {}, None)
        if self._zero:
            return MatchingResult(None, "undefined_zero", {}, None)
        cosines = self._sums / self._steps  # (n, gallery)
        if np.all(np.ptp(cosines, axis=1) <= TIE):
            return MatchingResult(None, "undefined_constant", {}, None)
        rows = np.arange(len(cosines))
        own = cosines[rows, self._trials.target]
        others = cosines.copy()
        others[rows, self._trials.target] = -np.inf
        correct = own > others.max(axis=1) + TIE
        kinds = {str(kind): float(correct[self._trials.kind == kind].mean()) for kind in np.unique(self._trials.kind)}
        return MatchingResult(float(correct.mean()), "ok", kinds, correct)

    def _cosines(
        self, features: NDArray[np.floating], probe: NDArray[np.int64], gallery: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Cosines (trials, gallery) by one matrix product of the probes and gallery images that occur."""
        probes, row = np.unique(probe, return_inverse=True)
        images, column = np.unique(gallery, return_inverse=True)
        products = np.zeros((len(probes), len(images)))
        squares = [np.zeros(len(probes)), np.zeros(len(images))]
        for low in range(0, features.shape[1], FEATURES_AT_ONCE):
            part = features[:, low : low + FEATURES_AT_ONCE]
            left, right = part[probes].astype(np.float64), part[images].astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                products += left @ right.T
                squares[0] += np.einsum("ij,ij->i", left, left)
                squares[1] += np.einsum("ij,ij->i", right, right)
        if not all(np.isfinite(square).all() for square in squares):
            self._diverged = True
            return np.zeros(gallery.shape)
        norms = np.sqrt(squares[0])[:, None] * np.sqrt(squares[1])
        if not norms.all():
            self._zero = True
            return np.zeros(gallery.shape)
        return (products / norms)[row[:, None], column.reshape(gallery.shape)]


def matching_accuracy(
    features: NDArray[np.floating] | Sequence[NDArray[np.floating]], trials: MatchingTrials
) -> MatchingResult:
    """Accuracy of features (T, N, d), or T arrays (N, d): a row for each image of the object set.

    Raises `MetricError` for shapes that do not fit the trials.
    """
    streamed = StreamedMatching(trials)
    for step in features:
        streamed.update(np.asarray(step))
    return streamed.result()


def pixel_accuracy(objects: ObjectSet, trials: MatchingTrials) -> MatchingResult:
    """What the images' own pixels score, as the baseline of every network.

    Features: RGB from 0 to 1, flattened, less the mean image of the set, so that the common background says nothing.
    """
    pixels = objects.images.reshape(len(objects.images), -1).astype(np.float32) / 255.0
    return matching_accuracy((pixels - pixels.mean(axis=0, dtype=np.float64).astype(np.float32))[None], trials)
