"""Images with a patch: a square filled with its mean colour, or the only square that stays sharp."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from psychophysics.stimuli.geometry import Geometry

Place = tuple[int, int]  # (top, left) in pixels


class Occluded:
    """Copies of an image with a patch of the mean RGB of the pixels that it covers; means by integral image.

    Args:
        image: (h, w, 3) uint8.
        geometry: side of the patch.
    """

    def __init__(self, image: NDArray[np.uint8], geometry: Geometry) -> None:
        self.image, self.side = image, geometry.side
        self._integral = np.zeros((image.shape[0] + 1, image.shape[1] + 1, 3), np.int64)
        self._integral[1:, 1:] = image.astype(np.int64).cumsum(axis=0).cumsum(axis=1)

    def mean(self, place: Place) -> NDArray[np.uint8]:
        """(3,) uint8: mean colour under the patch, rounded, as an 8-bit PNG holds it."""
        (top, left), side, sums = place, self.side, self._integral
        total = sums[top + side, left + side] - sums[top, left + side] - sums[top + side, left] + sums[top, left]
        return ((2 * total + side * side) // (2 * side * side)).astype(np.uint8)

    def __call__(self, places: Sequence[Place]) -> NDArray[np.uint8]:
        """(n, h, w, 3) uint8, a patch at each place."""
        images = np.repeat(self.image[None], len(places), axis=0)
        for row, (top, left) in enumerate(places):
            images[row, top : top + self.side, left : left + self.side] = self.mean((top, left))
        return images


class SharpOnly:
    """Blurred copies of an image in which one square stays sharp; arguments as `Occluded`."""

    def __init__(self, image: NDArray[np.uint8], geometry: Geometry) -> None:
        self.image, self.side = image, geometry.side
        self.blurred = blurred(image, geometry)

    def __call__(self, places: Sequence[Place]) -> NDArray[np.uint8]:
        """(n, h, w, 3) uint8, sharp at each place."""
        images = np.repeat(self.blurred[None], len(places), axis=0)
        for row, (top, left) in enumerate(places):
            window = (slice(top, top + self.side), slice(left, left + self.side))
            images[row][window] = self.image[window]
        return images


def blurred(image: NDArray[np.uint8], geometry: Geometry) -> NDArray[np.uint8]:
    """Gaussian blur, 21 x 21 with sigma 3.5 at 224 pixels, edges mirrored."""
    radius = (geometry.blur_radius, geometry.blur_radius, 0)
    sigma = (geometry.blur_sigma, geometry.blur_sigma, 0)
    smooth = gaussian_filter(image.astype(np.float64), sigma, radius=radius, mode="mirror")
    return np.round(smooth).clip(0, 255).astype(np.uint8)
