"""Saliency maps: the built-in spectral residual, and any model that a user supplies, such as DeepGaze."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import fft, ndimage

from psychophysics.errors import StudyError

Map = npt.NDArray[np.floating[Any]]
SaliencyModel = Callable[[Map], Map]
"""image (height, width, 3) in [0, 1] -> density (height, width), not negative; its sum is arbitrary but above 0."""

_WIDTH = 64  # pixels: the scale at which the method sees objects
_LUMA = np.array([0.299, 0.587, 0.114])


def spectral_residual(image: Map) -> Map:
    """Density (height, width) that sums to 1: what is left of the log amplitude spectrum without its local mean.

    Hou & Zhang (2007), CVPR. A uniform image has a uniform density.
    """
    height, width = image.shape[:2]
    factor = _WIDTH / min(height, width)
    small = _resized(image.astype(np.float64) @ _LUMA, round(height * factor), round(width * factor))
    if np.ptp(small) < 1e-6:
        return np.full((height, width), 1 / (height * width))
    spectrum = fft.fft2(small)
    log_amplitude = np.log(np.abs(spectrum) + 1e-12)
    residual = log_amplitude - ndimage.uniform_filter(log_amplitude, 3, mode="wrap")
    back = np.abs(fft.ifft2(np.exp(residual + 1j * np.angle(spectrum)))) ** 2
    density = _resized(ndimage.gaussian_filter(back, 2.5), height, width)
    return density / density.sum()


def _resized(values: Map, height: int, width: int) -> Map:
    """Bilinear, over all pixels that a smaller one stands for."""
    picture = Image.fromarray(values.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, dtype=np.float64)


def covered_saliency(density: Map, top: int, left: int, side: int) -> float:
    """Share (0..1) of the whole density under a square patch; StudyError for a map that is no density."""
    density = np.asarray(density, dtype=np.float64)
    total = float(density.sum())
    if density.ndim != 2 or not np.isfinite(total) or density.min() < 0 or total <= 0:
        raise StudyError(
            f"The saliency map has shape {density.shape} and sum {total:g}; it must be (height, width), not negative, "
            "with a sum above 0 (a log-density such as DeepGaze's first needs exp)."
        )
    return float(density[top : top + side, left : left + side].sum() / total)
