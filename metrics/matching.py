"""Object-matching accuracy: how often a network's nearest gallery image is the probe's own object.

Accuracy is in [0, 1], higher is better, chance 1 / gallery. The similarity is the cosine of two images' features,
averaged over time steps; the answer is its largest value, and a tie is a wrong answer.
Task: Blanchard et al. 2019, after Tenenbaum et al. 2011. Unlike the published code, no score is given to features
that cannot tell images apart: an all-zero network would score 1.0 there, and does with trials of the mode `legacy`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet
from metrics.matching_legacy import legacy_correct
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
IMAGES_AT_ONCE = 64  # met by the probes at a time; each time the probes are widened anew


@dataclass(frozen=True)
class MatchingResult:
    """Accuracy over all trials and by kind of trial; numbers only where the status is ok.

    undefined_zero: some image has all-zero features at some time step, so that its cosine does not exist;
    undefined_constant: in every trial all gallery images are equally similar to the probe;
    diverged: a feature is NaN or infinite. correct (n,) bool, in the order of the trials. With legacy trials features
    that are zero or alike have an accuracy all the same: that of the published code.
    """

    accuracy: float | None
    status: Status
    by_kind: dict[str, float]
    correct: NDArray[np.bool_] | None


class StreamedMatching:
    """Accuracy from features that arrive a few images at a time, so that they are never all in memory.

    Images come in the order of `images`, those that are probes first. Only they are kept: any other image meets all of
    them as it comes and is forgotten. At the paper's scale that keeps about 200 of 1,200 images.
    """

    def __init__(self, trials: MatchingTrials) -> None:
        self._trials = trials
        self._probes = np.unique(trials.probe)
        self.images: NDArray[np.int64] = np.concatenate([self._probes, np.setdiff1d(trials.gallery, self._probes)])
        self._seen = 0
        self._zero = self._diverged = False
        self._kept: NDArray[np.floating] | None = None  # (T, probes, d)
        self._cosines = np.zeros((len(self._probes), len(self.images)))  # summed over time steps

    def update(self, features: NDArray[np.floating]) -> None:
        """Add the features (T, m, d) of the next m of `images` at all T time steps; unchanged by this.

        Raises `MetricError` for features of another shape than those before, or of more images than are left.
        """
        steps, width = (features.shape[0], features.shape[2]) if features.ndim == 3 else (0, 0)
        expected = (steps, width) if self._kept is None else (self._kept.shape[0], self._kept.shape[2])
        left = len(self.images) - self._seen
        if not steps or not width or (steps, width) != expected or features.shape[1] > left:
            raise MetricError(
                f"Features have the shape {features.shape}; give (time steps, images, features): at least one step and "
                f"one feature, always the same, and in all {len(self.images)} images ({left} are left)."
            )
        if self._kept is None:
            self._kept = np.empty((steps, len(self._probes), width), features.dtype)
        unmet = features
        if self._seen < len(self._probes):
            probes = features[:, : len(self._probes) - self._seen]
            self._kept[:, self._seen : self._seen + probes.shape[1]] = probes
            self._seen += probes.shape[1]
            unmet = features[:, probes.shape[1] :]
            if self._seen == len(self._probes):
                self._meet(self._kept, 0)
        if unmet.shape[1]:
            self._meet(unmet, self._seen)
            self._seen += unmet.shape[1]

    def result(self) -> MatchingResult:
        """The accuracy over all trials. Raises `MetricError` before all images were given."""
        if self._seen < len(self.images):
            raise MetricError(
                f"Features of {self._seen} of {len(self.images)} images were given: pass all of `images`."
            )
        if self._diverged:
            return MatchingResult(None, "diverged", {}, None)
        legacy = self._trials.mode == "legacy"
        if self._zero and not legacy:
            return MatchingResult(None, "undefined_zero", {}, None)
        trials, column = self._trials, np.argsort(self.images)
        row = np.searchsorted(self._probes, trials.probe)
        column = column[np.searchsorted(self.images, trials.gallery, sorter=column)]
        assert self._kept is not None
        cosines = self._cosines[row[:, None], column] / len(self._kept)  # (n, gallery)
        if not legacy and np.all(np.ptp(cosines, axis=1) <= TIE):
            return MatchingResult(None, "undefined_constant", {}, None)
        correct = (legacy_correct if legacy else _strictly_largest)(cosines, trials.target)
        kinds = {str(kind): float(correct[trials.kind == kind].mean()) for kind in np.unique(trials.kind)}
        return MatchingResult(float(correct.mean()), "ok", kinds, correct)

    def _meet(self, features: NDArray[np.floating], column: int) -> None:
        """Cosines of all probes with the images (T, m, d), which are `images[column:]`, in float64."""
        assert self._kept is not None
        for probes, images in zip(self._kept, features, strict=True):
            products = np.zeros((len(probes), len(images)))
            squares = [np.zeros(len(probes)), np.zeros(len(images))]
            for low in range(0, probes.shape[1], FEATURES_AT_ONCE):
                left, right = (part[:, low : low + FEATURES_AT_ONCE].astype(np.float64) for part in (probes, images))
                with np.errstate(over="ignore", invalid="ignore"):
                    products += left @ right.T
                    squares[0] += np.einsum("ij,ij->i", left, left)
                    squares[1] += np.einsum("ij,ij->i", right, right)
            norms = np.sqrt(squares[0])[:, None] * np.sqrt(squares[1])
            if not np.isfinite(norms).all():
                self._diverged = True
                continue
            self._zero = self._zero or not norms.all()
            cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0.0)
            self._cosines[:, column : column + len(images)] += cosines


def _strictly_largest(cosines: NDArray[np.float64], target: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Trials (n,) in which the target's cosine is larger than all others of (n, gallery); ties are wrong."""
    rows = np.arange(len(cosines))
    others = cosines.copy()
    others[rows, target] = -np.inf
    return cosines[rows, target] > others.max(axis=1) + TIE


def matching_accuracy(
    features: NDArray[np.floating] | Sequence[NDArray[np.floating]], trials: MatchingTrials
) -> MatchingResult:
    """Accuracy of features (T, N, d), or T arrays (N, d): a row for each image of the object set.

    Raises `MetricError` for shapes that do not fit the trials.
    """
    steps = [np.asarray(step) for step in features]
    streamed = StreamedMatching(trials)
    needed = int(streamed.images.max()) + 1
    for step in steps:
        if step.ndim != 2 or len(step) < needed or step.shape[1] == 0:
            raise MetricError(
                f"Features have the shape {step.shape}; these trials need (images, features) with at least {needed} "
                "images and one feature."
            )
    if not steps:
        raise MetricError("No features were given: pass those of one time step or more.")
    for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
        rows = streamed.images[start : start + IMAGES_AT_ONCE]
        streamed.update(np.stack([step[rows] for step in steps]))
    return streamed.result()


def pixel_accuracy(objects: ObjectSet, trials: MatchingTrials) -> MatchingResult:
    """What the images' own pixels score, as the baseline of every network.

    Features: RGB from 0 to 1, flattened, less the mean image of the set, so that the common background says nothing.
    """
    pixels = objects.images.reshape(len(objects.images), -1).astype(np.float32) / 255.0
    return matching_accuracy((pixels - pixels.mean(axis=0, dtype=np.float64).astype(np.float32))[None], trials)
