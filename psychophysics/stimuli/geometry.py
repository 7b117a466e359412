"""Where patches can lie: their side and the lattices of the search, in pixels of a network's input."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychophysics.config import OcclusionSection

PUBLISHED_SIDE = 224  # pixels to which strides and the blur of the configuration refer
BLUR_SIGMA, BLUR_RADIUS = 3.5, 10  # a 21 x 21 kernel


@dataclass(frozen=True)
class Geometry:
    """Sizes in pixels; `strides` from coarse to fine, each a multiple of the next."""

    height: int
    width: int
    side: int
    strides: tuple[int, ...]
    blur_sigma: float
    blur_radius: int

    @classmethod
    def of(cls, height: int, width: int, section: OcclusionSection) -> "Geometry":
        """The patch is a share of the shorter side, rounded to an even number; strides and blur scale with it."""
        shorter = min(height, width)
        scale = shorter / PUBLISHED_SIDE
        finest = max(1, round(section.strides[-1] * scale))
        return cls(
            height=height,
            width=width,
            side=max(2, 2 * round(section.side * shorter / 2)),
            strides=tuple(finest * (stride // section.strides[-1]) for stride in section.strides),
            blur_sigma=BLUR_SIGMA * scale,
            blur_radius=max(1, round(BLUR_RADIUS * scale)),
        )

    def rows(self, stride: int) -> NDArray[np.intp]:
        """Top edges of patches on the lattice of this stride."""
        return np.arange(0, self.height - self.side + 1, stride)

    def columns(self, stride: int) -> NDArray[np.intp]:
        """Left edges of patches."""
        return np.arange(0, self.width - self.side + 1, stride)

    def lattice(self, stride: int) -> list[tuple[int, int]]:
        """All (top, left) of patches."""
        return [(int(top), int(left)) for top in self.rows(stride) for left in self.columns(stride)]

    def around(self, place: tuple[int, int], stride: int) -> list[tuple[int, int]]:
        """The up to 8 neighbours of a place at this stride, inside the image."""
        top, left = place
        return [
            (top + down, left + right)
            for down in (-stride, 0, stride)
            for right in (-stride, 0, stride)
            if (down or right)
            and 0 <= top + down <= self.height - self.side
            and 0 <= left + right <= self.width - self.side
        ]
