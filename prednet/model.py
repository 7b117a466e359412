"""PredNet (Lotter, Kreiman & Cox 2017), exactly as the original Keras code computes it.

One step: the representations R are updated from the top layer down, before the frame is seen; then each
layer predicts its input (Ahat), and the rectified prediction errors E travel upwards. `forward` is the readable
path, differentiable and complete; training uses `prednet.recurrence`, which computes the same loss faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prednet.config import Convention, PredNetConfig
from prednet.errors import ModelError


class SameConv2d(nn.Module):
    """A convolution whose output has the size of its input, for odd and even filters.

    `blocks` convolutions of the same input are fused by stacking their kernels: one call instead of four for the
    gates. Kernels start Glorot uniform with the fans of one block (fan_out = channels of one gate * k * k), biases
    at zero.
    """

    def __init__(
        self, inputs: int, outputs: int, k: int, convention: Convention, generator: torch.Generator, blocks: int = 1
    ) -> None:
        super().__init__()
        limit = math.sqrt(6 / ((inputs + outputs) * k * k))
        kernel = torch.empty(blocks * outputs, inputs, k, k).uniform_(-limit, limit, generator=generator)
        self.weight = nn.Parameter(kernel)
        self.bias = nn.Parameter(torch.zeros(blocks * outputs))
        self.even = k % 2 == 0
        self.padding = k // 2
        self.first = 1 if convention == "tensorflow" else 0

    def crop(self, full: Tensor) -> Tensor:
        """The "same" part of a convolution padded with k // 2 on every side.

        For an even filter that is one row and one column too many: TensorFlow pads less before, so the first goes.
        """
        if not self.even:
            return full
        height, width = full.shape[-2] - 1, full.shape[-1] - 1
        return full[..., self.first : self.first + height, self.first : self.first + width]

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) -> (B, blocks * outputs, H, W)."""
        return self.crop(F.conv2d(x, self.weight, self.bias, padding=self.padding))


class State(NamedTuple):
    """What the network carries from step to step: for each layer R and C (B, R_l, h, w) and E (B, 2 A_l, h, w)."""

    r: list[Tensor]
    c: list[Tensor]
    e: list[Tensor]


class Activations(NamedTuple):
    """Units of one step, one tensor a layer: input A, prediction Ahat (B, A_l, h, w), representation R, error E."""

    a: list[Tensor]
    ahat: list[Tensor]
    r: list[Tensor]
    e: list[Tensor]


@dataclass(frozen=True)
class PredNetOutput:
    """What `PredNet.forward` returns.

    Attributes:
        predictions: (B, T, C, H, W), the prediction of each frame made before it was seen.
        errors: (B, T, L), mean over the units of E_l: 0 is a perfect prediction.
        activations: one `Activations` a step when asked for, otherwise None. At t = 0, R and Ahat have a
            batch of 1: they are the same for every sequence.
    """

    predictions: Tensor
    errors: Tensor
    activations: list[Activations] | None


def hard_sigmoid(x: Tensor) -> Tensor:
    """clip(0.2 x + 0.5, 0, 1) as in Keras 2; `F.hardsigmoid` and Keras 3 have another slope (1/6)."""
    return (0.2 * x + 0.5).clamp(0, 1)


class PredNet(nn.Module):
    """A PredNet with the sizes of `config`; the same seed gives the same weights on every device.

    Args:
        config: sizes, filters and padding convention.
        seed: of the initial weights; the global random state is neither read nor changed.
        generator: a CPU generator to use in place of `seed`.
    """

    def __init__(self, config: PredNetConfig, *, seed: int = 0, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        rng = generator if generator is not None else torch.Generator().manual_seed(seed)
        a, r, padding = config.stack_sizes, config.r_stack_sizes, config.convention
        layers = range(config.n_layers)
        # The rows of a gate kernel are i, f, o, g; its input channels are R_l, E_l, up(R_{l+1}).
        self.gates = nn.ModuleList(
            SameConv2d(config.gate_inputs(n), r[n], config.r_filter_sizes[n], padding, rng, blocks=4) for n in layers
        )
        self.ahat = nn.ModuleList(SameConv2d(r[n], a[n], config.ahat_filter_sizes[n], padding, rng) for n in layers)
        self.a = nn.ModuleList(
            SameConv2d(2 * a[n], a[n + 1], config.a_filter_sizes[n], padding, rng) for n in layers[:-1]
        )

    def initial_state(self, height: int, width: int) -> State:
        """The zero state before the first frame, for a batch of 1: `top_down` widens it to any batch.

        Until a frame is seen all sequences are alike, so that the first top-down pass costs one sequence.
        """
        like = next(self.parameters())

        def zeros(channels: int, layer: int) -> Tensor:
            empty = like.new_zeros(1, channels, height >> layer, width >> layer)
            return empty.contiguous(memory_format=torch.channels_last)

        a, r = self.config.stack_sizes, self.config.r_stack_sizes
        layers = range(self.config.n_layers)
        blank = [zeros(r[n], n) for n in layers]
        return State(blank, blank, [zeros(2 * a[n], n) for n in layers])

    def top_down(self, state: State, *, lowest: int = 0) -> tuple[list[Tensor], list[Tensor]]:
        """New R and C, from the top layer down to `lowest`; nothing of the current frame enters."""
        batch = state.e[0].shape[0]
        r, c = list(state.r), list(state.c)
        for n in reversed(range(lowest, self.config.n_layers)):
            inputs = [state.r[n].expand(batch, -1, -1, -1), state.e[n]]
            if n + 1 < self.config.n_layers:
                inputs.append(F.interpolate(r[n + 1], scale_factor=2, mode="nearest"))
            i, f, o, g = self.gates[n](torch.cat(inputs, dim=1)).chunk(4, dim=1)
            c[n] = hard_sigmoid(f) * state.c[n] + hard_sigmoid(i) * torch.tanh(g)
            r[n] = hard_sigmoid(o) * torch.tanh(c[n])
        return r, c

    def predict(self, r: Tensor, layer: int) -> Tensor:
        """Ahat_l (B, A_l, h, w) from R_l; at the bottom it is the predicted frame, in [0, pixel_max]."""
        ahat = F.relu(self.ahat[layer](r))
        return ahat.clamp(max=self.config.pixel_max) if layer == 0 else ahat

    def bottom_up(self, r: list[Tensor], frame: Tensor, ahat0: Tensor | None = None) -> Activations:
        """Predictions and errors of every layer for a frame (B, C, H, W); `ahat0` when it is known already."""
        a, ahat, e = [frame], [], []
        for n in range(self.config.n_layers):
            ahat.append(ahat0 if n == 0 and ahat0 is not None else self.predict(r[n], n))
            e.append(torch.cat([F.relu(ahat[n] - a[n]), F.relu(a[n] - ahat[n])], dim=1))
            if n + 1 < self.config.n_layers:
                # Rectifying after pooling gives the same values for a quarter of the work.
                a.append(F.relu(F.max_pool2d(self.a[n](e[n]), 2)))
        return Activations(a, ahat, r, e)

    def forward(
        self, frames: Tensor, *, extrap_start_time: int | None = None, activations: bool = False
    ) -> PredNetOutput:
        """Run sequences through the network.

        Args:
            frames: (B, T, C, H, W) floats in [0, pixel_max].
            extrap_start_time: from this step on the network sees its own previous prediction instead of a frame.
            activations: keep all units of all steps (memory grows with T).

        Raises:
            ModelError: for a wrong shape, channel count, frame size or dtype, or values outside [0, pixel_max].
        """
        check_shape(frames, self.config)
        if frames.dtype != (dtype := next(self.parameters()).dtype):
            scaled = "" if frames.is_floating_point() else " / 255"
            raise ModelError(f"frames are {frames.dtype}, the network is {dtype}: give frames.to({dtype}){scaled}")
        check_range(frames, self.config)
        if extrap_start_time is not None and extrap_start_time < 1:
            raise ModelError(
                f"extrap_start_time is {extrap_start_time}: give 1 or more, since the network must see a frame first"
            )
        state = self.initial_state(*frames.shape[-2:])
        predictions: list[Tensor] = []
        errors: list[Tensor] = []
        kept: list[Activations] = []
        for t in range(frames.shape[1]):
            r, c = self.top_down(state)
            prediction = self.predict(r[0], 0)
            extrapolates = extrap_start_time is not None and t >= extrap_start_time
            units = self.bottom_up(r, predictions[-1] if extrapolates else frames[:, t], prediction)
            predictions.append(prediction.expand_as(frames[:, t]))
            errors.append(torch.stack([e.mean(dim=(1, 2, 3)) for e in units.e], dim=1))
            if activations:
                kept.append(units)
            state = State(r, c, units.e)
        return PredNetOutput(torch.stack(predictions, 1), torch.stack(errors, 1), kept if activations else None)


def check_shape(frames: Tensor, config: PredNetConfig) -> None:
    """Refuse frames (B, T, C, H, W) of a shape that the network cannot read.

    Raises:
        ModelError: for a wrong number of dimensions, no frames at all, a wrong channel count or frame size.
    """
    if frames.ndim != 5 or 0 in frames.shape[:2]:
        raise ModelError(
            f"frames have shape {tuple(frames.shape)}: give (batch, time, channels, height, width), "
            "one sequence of one frame or more"
        )
    if frames.shape[2] != config.stack_sizes[0]:
        raise ModelError(
            f"frames have {frames.shape[2]} channels (shape {tuple(frames.shape)}), the network reads "
            f"{config.stack_sizes[0]}: give (batch, time, channels, height, width)"
        )
    config.check_frames(frames.shape[3], frames.shape[4])


def check_range(frames: Tensor, config: PredNetConfig) -> None:
    """Refuse pixel values that no PredNet predicts.

    Raises:
        ModelError: for values outside [0, pixel_max] or NaN; the message names the likely cause, such as 0..255.
    """
    low, high = (float(bound) for bound in torch.aminmax(frames.detach()))
    if low >= 0 and high <= config.pixel_max:
        return
    if math.isnan(low):  # aminmax passes NaN on
        raise ModelError("frames hold NaN: a division by zero or missing data before the network; look for it there")
    if high > config.pixel_max:
        cause = (
            "0..255 images must be divided by 255 (frames / 255) first, since a network fed with 0..255 doesn't learn"
        )
    else:
        cause = "undo a normalisation to -1..1 ((frames + 1) / 2) or to zero mean first"
    raise ModelError(f"frames go from {low:g} to {high:g}, outside [0, {config.pixel_max:g}]: {cause}")
