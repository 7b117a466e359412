"""Centre, variance and saliency: what each weighs, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from psychophysics.baselines.saliency import SaliencyModel, covered_saliency, spectral_residual
from psychophysics.errors import StudyError

Image = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Patch:
    """A square that covers rows top..top+side-1 and columns left..left+side-1, pixels."""

    top: int
    left: int
    side: int

    def of(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What it covers of an image (height, width, ...); StudyError where it reaches beyond."""
        height, width = image.shape[:2]
        inside = 0 <= self.top <= height - self.side and 0 <= self.left <= width - self.side and self.side > 0
        if not inside:
            raise StudyError(f"{self} reaches beyond an image of {height} x {width} pixels.")
        return image[self.top : self.top + self.side, self.left : self.left + self.side]


Strategy = Callable[[Image, Patch], float]
"""(base image (height, width, 3) in [0, 1], patch) -> weight of what the patch covers; higher = more is hidden."""


def centrality(image: Image, patch: Patch) -> float:
    """Minus the distance (pixels) of the patch's centre from the image's: the middle is where things are."""
    patch.of(image)
    height, width = image.shape[:2]
    half = (patch.side - 1) / 2
    return -float(np.hypot(patch.top + half - (height - 1) / 2, patch.left + half - (width - 1) / 2))


def variance(image: Image, patch: Patch) -> float:
    """Standard deviation of the covered pixels around each channel's mean: uniform parts hide nothing."""
    covered = patch.of(image).astype(np.float64)
    return float(np.sqrt(covered.var(axis=(0, 1)).mean()))


def saliency(model: SaliencyModel = spectral_residual) -> Strategy:
    """The share of the image's saliency that the patch covers, by `model`."""

    def weigh(image: Image, patch: Patch) -> float:
        patch.of(image)
        return covered_saliency(model(image), patch.top, patch.left, patch.side)

    return weigh


STRATEGIES: Mapping[str, Strategy] = {"centre": centrality, "variance": variance, "saliency": saliency()}


def expected_correct(strategy: Strategy, image: Image, patch_max: Patch, patch_min: Patch) -> float:
    """1: the strategy picks the image with the higher activation; 0: the other; 0.5: both weigh the same."""
    hidden_max, hidden_min = strategy(image, patch_max), strategy(image, patch_min)
    if np.isclose(hidden_max, hidden_min, rtol=1e-9, atol=1e-12):
        return 0.5
    return float(hidden_max < hidden_min)


def predictions(
    queries: pd.DataFrame, images: Callable[[pd.Series], Image], strategies: Mapping[str, Strategy] = STRATEGIES
) -> pd.DataFrame:
    """The table `BASELINES` for query pairs with columns top_max, left_max, top_min, left_min, side and their names.

    `images`: row of `queries` -> its base image. Saliency is computed once a row.
    """
    rows = []
    for _, query in queries.iterrows():
        image = images(query)
        of_max = Patch(int(query["top_max"]), int(query["left_max"]), int(query["side"]))
        of_min = Patch(int(query["top_min"]), int(query["left_min"]), int(query["side"]))
        named = {name: query[name] for name in ("network", "layer", "unit", "image_set")}
        for name, strategy in strategies.items():
            rows.append({"baseline": name} | named | {"correct": expected_correct(strategy, image, of_max, of_min)})
    return pd.DataFrame(rows, columns=["baseline", "network", "layer", "unit", "image_set", "correct"])
