"""HMS of models that are no networks: what a trained network must beat before its score means anything."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from metrics.hms import hms
from metrics.rdm import FloatArray, correlation_rdm
from metrics.stimuli92 import BACKGROUND, Stimuli92

_BLUR_SIGMA = 8.0
_TILES = 7


class Stimuli(Protocol):
    """Images (n, H, W, 3) uint8 and the RDM (n, n) that networks are compared with, in one order."""

    @property
    def images(self) -> npt.NDArray[np.uint8]: ...  # noqa: D102

    @property
    def human_rdm(self) -> FloatArray: ...  # noqa: D102


def pixel_rdm(stimuli: Stimuli) -> FloatArray:
    """RDM (n, n) of the RGB values of the images."""
    return _image_rdm(stimuli.images)


def grey_rdm(stimuli: Stimuli) -> FloatArray:
    """RDM (n, n) of the unweighted mean of the three colour channels."""
    return _image_rdm(stimuli.images.mean(axis=-1))


def blurred_pixel_rdm(stimuli: Stimuli) -> FloatArray:
    """RDM (n, n) of the RGB values after a Gaussian blur of sigma 8 pixels."""
    return _image_rdm(gaussian_filter(stimuli.images.astype(np.float64), (0, _BLUR_SIGMA, _BLUR_SIGMA, 0)))


def pooled_pixel_rdm(stimuli: Stimuli) -> FloatArray:
    """RDM (n, n) of the mean RGB values of 7 x 7 tiles (of the 92 stimuli, 25 x 25 pixels each)."""
    n, height, width, channels = stimuli.images.shape
    tall, wide = height // _TILES, width // _TILES
    tiles = stimuli.images[:, : tall * _TILES, : wide * _TILES].reshape(n, _TILES, tall, _TILES, wide, channels)
    return _image_rdm(tiles.mean(axis=(2, 4)))


def silhouette_rdm(stimuli: Stimuli) -> FloatArray:
    """RDM (n, n) of the outlines: which pixels differ from the gray background."""
    return _image_rdm((stimuli.images != BACKGROUND).any(axis=-1))


def animacy_rdm(stimuli: Stimuli92) -> FloatArray:
    """RDM (92, 92) that is 0 within and 1 between animate and inanimate stimuli."""
    return _group_rdm([not category.endswith("object") for category in stimuli.categories])


def category_rdm(stimuli: Stimuli92) -> FloatArray:
    """RDM (92, 92) that is 0 within and 1 between faces, bodies, natural and artificial objects."""
    return _group_rdm([category.removeprefix("nonhuman_").removeprefix("human_") for category in stimuli.categories])


def monkey_it_rdm(stimuli: Stimuli92) -> FloatArray:
    """RDM (92, 92) of 674 neurons in monkey inferior temporal cortex; Kriegeskorte et al. (2008), Neuron 60."""
    return stimuli.monkey_rdm


IMAGE_BASELINES: dict[str, Callable[[Stimuli], FloatArray]] = {
    "pixels": pixel_rdm,
    "grey": grey_rdm,
    "blurred pixels": blurred_pixel_rdm,
    "pooled pixels": pooled_pixel_rdm,
    "silhouette": silhouette_rdm,
}
"""Baselines computed from the images alone: these are the trivial models to beat."""

REFERENCE_MODELS: dict[str, Callable[[Stimuli92], FloatArray]] = {
    "animacy": animacy_rdm,
    "four categories": category_rdm,
    "monkey IT": monkey_it_rdm,
}
"""Models that know the categories, or are a brain; no image model is expected to reach them."""


def image_rdms(stimuli: Stimuli) -> dict[str, FloatArray]:
    """Name -> RDM (n, n) of every image baseline. Takes about 2 s for the 92 stimuli."""
    return {name: model(stimuli) for name, model in IMAGE_BASELINES.items()}


def baselines(stimuli: Stimuli, images: Mapping[str, FloatArray]) -> dict[str, float]:
    """Name -> HMS in [-1, 1] of every baseline that the stimuli allow: `images` (`image_rdms`), then the others.

    Only of the 92 stimuli are the categories known.
    """
    rdms = dict(images)
    if isinstance(stimuli, Stimuli92):
        rdms |= {name: model(stimuli) for name, model in REFERENCE_MODELS.items()}
    return similarities(rdms, stimuli.human_rdm)


def similarities(rdms: Mapping[str, FloatArray], reference: FloatArray) -> dict[str, float]:
    """Name -> HMS in [-1, 1] of every RDM (n, n) with a reference (n, n); without those for which it is undefined."""
    scores: dict[str, float] = {}
    for name, rdm in rdms.items():
        value = hms(rdm, reference).value
        if value is not None:
            scores[name] = value
    return scores


def _image_rdm(features: np.ndarray) -> FloatArray:
    return correlation_rdm(features.reshape(len(features), -1))


def _group_rdm(groups: list[str] | list[bool]) -> FloatArray:
    group = np.array(groups)
    return (group[:, None] != group[None, :]).astype(np.float64)
