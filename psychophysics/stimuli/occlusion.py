"""The search for the patch that lowers or raises a unit's activation most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.patches import Place

Render = Callable[[Sequence[Place]], NDArray[np.uint8]]
Evaluate = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        lowest: (top, left) of the patch with the least activation.
        highest: that with the most.
        activations: of every place that was tried.
    """

    lowest: Place
    highest: Place
    activations: dict[Place, float]

    @property
    def span(self) -> tuple[float, float]:
        """The least and the most activation found."""
        return self.activations[self.lowest], self.activations[self.highest]


class PatchSearch:
    """Tries patches on a lattice, each place once.

    Args:
        render: images with a patch at each of some places.
        evaluate: activation (n,) of images (n, h, w, 3) uint8.
        geometry: lattices and side of the patch.
        batch: images in memory at a time.
    """

    def __init__(self, render: Render, evaluate: Evaluate, geometry: Geometry, batch: int) -> None:
        self.render, self.evaluate, self.geometry, self.batch = render, evaluate, geometry, batch
        self.activations: dict[Place, float] = {}

    def exhaustive(self) -> Found:
        """Every place of the finest lattice."""
        self._try(self.geometry.lattice(self.geometry.strides[-1]))
        return self._found()

    def coarse_to_fine(self, top: int, *, lowest: bool = True) -> Found:
        """The coarsest lattice; then, stride by stride, the neighbours of the `top` best places so far.

        `lowest=False` refines around the highest activations only.
        """
        coarsest, *finer = self.geometry.strides
        self._try(self.geometry.lattice(coarsest))
        for stride in finer:
            ordered = sorted(self.activations, key=self.activations.__getitem__)
            best = ordered[-top:] + (ordered[:top] if lowest else [])
            self._try([near for place in best for near in self.geometry.around(place, stride)])
        return self._found()

    def _try(self, places: Sequence[Place]) -> None:
        new = [place for place in dict.fromkeys(places) if place not in self.activations]
        for start in range(0, len(new), self.batch):
            part = new[start : start + self.batch]
            values = self.evaluate(self.render(part))
            self.activations.update(zip(part, map(float, values), strict=True))

    def _found(self) -> Found:
        tried = self.activations
        return Found(min(tried, key=tried.__getitem__), max(tried, key=tried.__getitem__), dict(tried))


def regret(found: Found, exhaustive: Found) -> float:
    """Share of the range (max - min of `exhaustive`) that is missed at the worse of the two ends; 0: none."""
    low, high = exhaustive.span
    missed = max(found.span[0] - low, high - found.span[1], 0.0)
    return missed / (high - low) if high > low else 0.0
