"""The architecture of one PredNet: stack sizes and filter sizes, checked once, on entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal

from prednet.errors import ModelError

Convention = Literal["tensorflow", "theano"]

MIN_FILTER, MAX_FILTER = 1, 8


@dataclass(frozen=True)
class PredNetConfig:
    """Sizes of a PredNet with L layers (Lotter, Kreiman & Cox 2017; names as in the original code).

    Attributes:
        stack_sizes: channels of A_l and Ahat_l, L numbers; the first is the number of image channels.
        r_stack_sizes: channels of R_l, L numbers; empty or None: the same as `stack_sizes`.
        a_filter_sizes: L - 1 square filter sizes (1..8) of the convolutions E_l -> A_{l+1}; empty: 3.
        ahat_filter_sizes: L filter sizes of R_l -> Ahat_l; empty: 3.
        r_filter_sizes: L filter sizes of the ConvLSTM gates of R_l; empty: 3.
        pixel_max: upper bound of Ahat_0 (SatLU); frames are floats in [0, pixel_max].
        convention: where an even filter puts its extra column of "same" padding: after (`tensorflow`)
            or before (`theano`). Odd filters don't care.

    Raises:
        ModelError: when the numbers don't fit together; the message quotes them.
    """

    stack_sizes: tuple[int, ...] = (3, 48, 96, 192)
    r_stack_sizes: tuple[int, ...] = ()
    a_filter_sizes: tuple[int, ...] = ()
    ahat_filter_sizes: tuple[int, ...] = ()
    r_filter_sizes: tuple[int, ...] = ()
    pixel_max: float = 1.0
    convention: Convention = "tensorflow"

    def __post_init__(self) -> None:
        layers = len(self.stack_sizes)
        if layers < 1:
            raise ModelError("stack_sizes is empty: give the channels of each layer, such as [3, 48, 96, 192]")
        threes = (3,) * layers
        self._set("stack_sizes", self.stack_sizes, layers)
        self._set("r_stack_sizes", self.r_stack_sizes or self.stack_sizes, layers)
        self._set("a_filter_sizes", self.a_filter_sizes or threes[1:], layers - 1)
        self._set("ahat_filter_sizes", self.ahat_filter_sizes or threes, layers)
        self._set("r_filter_sizes", self.r_filter_sizes or threes, layers)
        for name in ("a_filter_sizes", "ahat_filter_sizes", "r_filter_sizes"):
            if bad := [k for k in getattr(self, name) if not MIN_FILTER <= k <= MAX_FILTER]:
                raise ModelError(f"{name} holds {bad}: filter sizes go from {MIN_FILTER} to {MAX_FILTER}")
        if not self.pixel_max > 0:
            raise ModelError(f"pixel_max is {self.pixel_max}: it must be above 0 (frames go from 0 to pixel_max)")
        if self.convention not in ("tensorflow", "theano"):
            raise ModelError(f"convention is {self.convention!r}: choose 'tensorflow' or 'theano'")

    def _set(self, name: str, sizes: Sequence[int], expected: int) -> None:
        if len(sizes) != expected:
            raise ModelError(
                f"{name} has {len(sizes)} numbers {list(sizes)}, but stack_sizes {list(self.stack_sizes)} "
                f"make {len(self.stack_sizes)} layers: give {expected}"
            )
        if bad := [size for size in sizes if int(size) != size or size < 1]:
            raise ModelError(f"{name} holds {bad}: sizes are whole numbers of 1 or more")
        object.__setattr__(self, name, tuple(int(size) for size in sizes))

    @property
    def n_layers(self) -> int:
        """L, the number of layers."""
        return len(self.stack_sizes)

    def gate_inputs(self, layer: int) -> int:
        """Channels that the gates of a layer read: R_l and E_l of the step before, and R_{l+1} from above."""
        above = self.r_stack_sizes[layer + 1] if layer + 1 < self.n_layers else 0
        return self.r_stack_sizes[layer] + 2 * self.stack_sizes[layer] + above

    def check_frames(self, height: int, width: int) -> None:
        """Refuse a frame size that L - 1 halvings don't divide.

        Raises:
            ModelError: with the size, the divisor and the nearest size that fits.
        """
        divisor = 2 ** (self.n_layers - 1)
        if height % divisor or width % divisor or height < 1 or width < 1:
            fit = [max(divisor, round(size / divisor) * divisor) for size in (height, width)]
            raise ModelError(
                f"frames of {height}x{width} don't fit a PredNet of {self.n_layers} layers: height and width "
                f"must be multiples of {divisor} (2^(layers - 1)); prepare them at {fit[0]}x{fit[1]}, say"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` reads them back to an equal configuration."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PredNetConfig:
        """The inverse of `to_dict`; missing keys and nulls take their defaults.

        Raises:
            ModelError: for an unknown key (names the nearest one) or sizes that don't fit together.
        """
        names = [field.name for field in fields(cls)]
        for key in values:
            if key not in names:
                near = get_close_matches(key, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(names)}"
                raise ModelError(f"unknown PredNet setting {key!r}: {hint}")
        given: dict[str, Any] = {}
        for key, value in values.items():
            if value is not None:
                given[key] = tuple(value) if isinstance(value, list) else value
        return cls(**given)
