"""The units of a PredNet: channels of R, for static clips, averaged over space and over steps 1..steps-1."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from prednet.features import fitting_batch, static_clip_features
from prednet.model import State
from psychophysics.config import NetworkSource
from psychophysics.errors import StimuliError
from psychophysics.networks import usual_device
from psychophysics.stimuli.files import file_sha256
from psychophysics.units import Unit
from search.score import read_network


class PredNetUnits:
    """A PredNet as a `StudyNetwork`; its layers are R0, R1, ... from the pixels up."""

    def __init__(self, section: NetworkSource, path: Path) -> None:
        self.name, self.steps = section.name, section.steps
        self.height, self.width = section.height or 128, section.width or 160
        self.model = read_network(path, None)
        if self.model.config.stack_sizes[0] != 3:
            raise StimuliError(
                f"{path} reads frames of {self.model.config.stack_sizes[0]} channels: give an RGB network"
            )
        self.model.config.check_frames(self.height, self.width)
        self.device = usual_device()
        self.model.requires_grad_(False).to(self.device)
        self.identity = file_sha256(path)
        self._batch = 4 * fitting_batch(self.model, self.height, self.width)

    @property
    def layers(self) -> Mapping[str, int]:
        """R0, R1, ... and their channels."""
        return {f"R{n}": channels for n, channels in enumerate(self.model.config.r_stack_sizes)}

    def activation(self, images: NDArray[np.uint8], units: Sequence[Unit]) -> NDArray[np.float32]:
        """(n_images, n_units): mean of R over space and over steps 1..steps-1."""
        columns: dict[str, list[int]] = {}
        for column, unit in enumerate(units):
            columns.setdefault(unit.layer, []).append(column)
        result = np.empty((len(images), len(units)), np.float32)
        for start in range(0, len(images), self._batch):
            part = slice(start, min(start + self._batch, len(images)))
            for layer, total in self._sums(images[part], columns, over_space=True).items():
                wanted = columns[layer]
                result[part, wanted] = total[:, [units[column].channel for column in wanted]]
        return result

    def layer_activation(self, images: NDArray[np.uint8], layer: str) -> NDArray[np.float32]:
        """R of one layer, mean over steps: (n_images, R_l * h * w)."""
        return self._sums(images, [layer], over_space=False)[layer]

    def maps(self, images: Tensor, layers: Sequence[str]) -> dict[str, Tensor]:
        """Mean of R over steps 1..steps-1, with gradients, for images (n, 3, H, W) in [0, 1]."""
        numbers = [int(layer[1:]) for layer in layers]
        frame = images * self.model.config.pixel_max
        r, c = self.model.top_down(self.model.initial_state(self.height, self.width))
        sums: dict[int, Tensor] = {}
        for step in range(1, self.steps):
            e = self.model.bottom_up(r, frame).e
            r, c = self.model.top_down(State(r, c, e), lowest=min(numbers) if step == self.steps - 1 else 0)
            sums = {n: sums[n] + r[n] if n in sums else r[n] for n in numbers}
        return {layer: sums[n] / (self.steps - 1) for layer, n in zip(layers, numbers, strict=True)}

    def class_scores(self, images: NDArray[np.uint8]) -> None:
        """A PredNet has no classes."""
        return None

    def _sums(
        self, images: NDArray[np.uint8], layers: Sequence[str] | Mapping[str, list[int]], *, over_space: bool
    ) -> dict[str, NDArray[np.float32]]:
        numbers = [int(layer[1:]) for layer in layers]
        sums: dict[str, NDArray[np.float32]] = {}
        for _, layer, features in static_clip_features(self.model, images, nt=self.steps, layers=numbers):
            name = f"R{layer}"
            channels = self.model.config.r_stack_sizes[layer]
            values = features.reshape(len(images), channels, -1).mean(axis=2) if over_space else features
            sums[name] = sums[name] + values if name in sums else values
        return {name: total / np.float32(self.steps - 1) for name, total in sums.items()}
