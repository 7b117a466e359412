"""The networks that a study can examine, behind one interface: images in, activations of units out.

A `StudyNetwork` is a PredNet (`prednet_network.py`) or a torch CNN (`cnn_network.py`). Images are (n, height, width,
3) uint8 RGB.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from psychophysics.config import NetworkSource
from psychophysics.errors import StimuliError
from psychophysics.units import Unit

EFFICIENTNET = "efficientnet-lite0"


class StudyNetwork(Protocol):
    """What the stimuli need of a network."""

    name: str
    height: int
    width: int
    device: torch.device
    identity: str
    """Hash of the weights: what was made with other weights is not reused."""

    @property
    def layers(self) -> Mapping[str, int]:
        """Channels of each layer that has units, from the input up."""

    def activation(self, images: NDArray[np.uint8], units: Sequence[Unit]) -> NDArray[np.float32]:
        """(n_images, n_units): each unit's spatial mean. All units come from one pass, to the deepest layer needed."""

    def maps(self, images: Tensor, layers: Sequence[str]) -> dict[str, Tensor]:
        """Differentiable maps (n, channels, h, w) of layers for float32 images (n, 3, height, width) in [0, 1]."""

    def class_scores(self, images: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """(n_images, n_classes), higher is more likely; None: the network has no classes."""

    def layer_activation(self, images: NDArray[np.uint8], layer: str) -> NDArray[np.float32]:
        """All units of a layer at all places, (n_images, channels * h * w); the mean over steps of a PredNet."""


def usual_device() -> torch.device:
    """CUDA where there is some."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def open_network(section: NetworkSource) -> StudyNetwork:
    """The network that a section of the configuration names.

    Raises:
        StimuliError, UsageError, PredNetError: no such network, or it doesn't read images of the size given.
    """
    source = section.source
    if source == EFFICIENTNET:
        from psychophysics.cnn_network import efficientnet_lite0

        return efficientnet_lite0(section)
    path = Path(source).expanduser()
    if path.is_file():
        from psychophysics.prednet_network import PredNetUnits

        return PredNetUnits(section, path)
    if ":" in source:
        from psychophysics.cnn_network import function_network

        return function_network(section)
    raise StimuliError(
        f"{section.name}: there is no network at {source}: give the network.pt of a trial, Keras weights (.hdf5), "
        f"{EFFICIENTNET}, or module:function"
    )
