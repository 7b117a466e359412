"""Units: a channel of a layer of a named network; which ones a study examines."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from psychophysics.config import UnitsSection
from psychophysics.errors import StimuliError
from search.config_section import nearest


class Unit(NamedTuple):
    """A channel; its activation is the spatial mean (of a PredNet the mean over steps too)."""

    layer: str
    channel: int

    def __str__(self) -> str:
        return f"{self.layer}/{self.channel}"

    @property
    def folder(self) -> str:
        """A name for files."""
        return f"{self.layer}-{self.channel}"

    @classmethod
    def parse(cls, text: str) -> "Unit":
        """`layer/channel`, whose form the configuration has checked."""
        layer, _, channel = text.rpartition("/")
        return cls(layer, int(channel))


def choose_units(
    section: UnitsSection, layers: Mapping[str, int], *, seed: int, network: str, taken: Sequence[Unit] = ()
) -> list[Unit]:
    """The units that `section` asks for, in the order of the list or of the layers.

    Args:
        section: a list, or layers and how many channels of each.
        layers: channels of each layer of the network.
        seed: of the draw; the draw of one layer depends on no other layer.
        network: its name, for messages.
        taken: units that another part of the study uses: they are not drawn, and refused when listed.

    Raises:
        StimuliError: an unknown layer or channel, one in use, or fewer channels left in a layer than asked for.
    """
    listed = [_known(Unit.parse(text), layers, network) for text in section.listed]
    if used := [unit for unit in listed if unit in taken]:
        raise StimuliError(f"{network}: {_named(used)}: already in use by another part of the study; name other units")
    drawn: list[Unit] = []
    for layer in section.layers:
        if layer not in layers:
            raise StimuliError(f"{network} has no layer `{layer}`{nearest(layer, list(layers))}")
        excluded = {Unit.parse(text) for text in section.exclude} | set(taken)
        left = [unit for channel in range(layers[layer]) if (unit := Unit(layer, channel)) not in excluded]
        if len(left) < section.per_layer:
            raise StimuliError(
                f"{network}: layer `{layer}` has {layers[layer]} channels, {len(left)} of them free, "
                f"but per_layer is {section.per_layer}"
            )
        rng = np.random.default_rng([seed, *layer.encode()])
        drawn += [left[index] for index in sorted(rng.choice(len(left), section.per_layer, replace=False))]
    return listed or drawn


def refuse_silent(units: Sequence[Unit], activations: np.ndarray, network: str) -> None:
    """Refuse units that tell no images apart: silent, constant, or not finite over the pool.

    Args:
        units: of the columns.
        activations: (n_images, n_units) float32.
        network: its name, for the message.

    Raises:
        StimuliError: naming every such unit.
    """
    lowest, highest = activations.min(axis=0), activations.max(axis=0)
    faults = []
    for unit, low, high in zip(units, lowest, highest, strict=True):
        if not np.isfinite([low, high]).all():
            faults.append(f"{unit} is not finite")
        elif high - low <= 1e-6 * max(abs(float(low)), abs(float(high))):
            faults.append(f"{unit} is silent" if high == 0 else f"{unit} is constant at {high:.4g}")
    if faults:
        raise StimuliError(
            f"{network}: over the {len(activations)} images of the pool {'; '.join(faults)}: such units cannot be "
            "studied. Next: list others, or put them under units.exclude"
        )


def _known(unit: Unit, layers: Mapping[str, int], network: str) -> Unit:
    if unit.layer not in layers:
        raise StimuliError(f"{network} has no unit {unit}: no layer `{unit.layer}`{nearest(unit.layer, list(layers))}")
    if unit.channel >= layers[unit.layer]:
        raise StimuliError(
            f"{network} has no unit {unit}: layer `{unit.layer}` has channels 0 to {layers[unit.layer] - 1}"
        )
    return unit


def _named(units: Sequence[Unit]) -> str:
    return ", ".join(str(unit) for unit in units)
