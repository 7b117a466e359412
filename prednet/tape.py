"""The convolutions of a network over a stretch of steps: their inputs, and the gradients of their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from prednet.kernels import Kernel, UpsampledKernel
from prednet.model import PredNet

K = TypeVar("K", bound=Kernel)


class Tape(Generic[K]):
    """Runs a convolution step by step and returns its kernel gradient in one go.

    The steps lie one after the other in the buffers, with as many rows as `lay_out` says. Output gradients are kept
    with the border that the kernel crops off, at zero, so that every gradient is that of a symmetric padding.

    Args:
        kernel: what is convolved with.
        rows: the most that a stretch has.
        size: (height, width) of the map that is read.
        inputs: the buffer of another tape that reads the same; None: a new one.
    """

    def __init__(self, kernel: K, rows: int, size: tuple[int, int], inputs: Tensor | None = None) -> None:
        self.kernel = kernel
        outputs, channels = kernel.weight.shape[:2]
        self.inputs = self._buffer(rows, channels, size, 0) if inputs is None else inputs
        self.outputs = self._buffer(rows, outputs, size, kernel.border)
        self.first, self.starts = 0, [0]

    def _buffer(self, rows: int, channels: int, size: tuple[int, int], border: int) -> Tensor:
        new = torch.zeros if border else torch.empty
        shape = (rows, size[0] + border, size[1] + border, channels)
        return new(shape, dtype=self.kernel.dtype, device=self.kernel.weight.device).permute(0, 3, 1, 2)

    def lay_out(self, first: int, batches: Sequence[int]) -> None:
        """Begin a stretch at step `first` whose steps have these batches."""
        self.first, self.starts = first, list(accumulate(batches, initial=0))

    def _rows(self, buffer: Tensor, t: int) -> Tensor:
        return buffer[self.starts[t - self.first] : self.starts[t - self.first + 1]]

    def input(self, t: int) -> Tensor:
        """Where the input of step t is written: (batch, inputs, H, W), channels last."""
        return self._rows(self.inputs, t)

    def full_output(self, t: int) -> Tensor:
        """Room for the gradient of what the kernel returns at step t, border included."""
        return self._rows(self.outputs, t)

    def output(self, t: int) -> Tensor:
        """Room for what the way back needs of step t, then for the gradient of the output: (batch, outputs, H, W)."""
        return self.kernel.crop(self.full_output(t))

    def forward(self, t: int) -> Tensor:
        """What the kernel returns for `input(t)`, border included."""
        return self.kernel(self.input(t))

    def backward(self, t: int) -> Tensor:
        """Gradient of `input(t)`, once the gradient of the output was written."""
        return self.kernel.input_gradient(self.full_output(t), self.input(t))

    def add_gradients(self) -> None:
        """Add the gradients of the weights, summed over the stretch, to the parameters' `grad`."""
        if rows := self.starts[-1]:
            self.kernel.add_gradients(self.outputs[:rows], self.inputs[:rows])


class Tapes:
    """The tapes of all convolutions of a network, for stretches of a sequence of `steps` steps.

    `gates[n]` reads R_n and E_n of the step before, `from_above[n]` is the part of the gates of layer n that reads
    R_{n+1}, `ahat[n]` reads R_n (in the same buffer), and `a[n]` reads E_n. At t = 0 all sequences are alike, and what
    is computed from R has a batch of 1. At the last step nothing is computed above layer `top` that is not read.

    Args:
        model: the network.
        shape: of the batch: (B, T, C, H, W).
        dtype: of the operands of convolutions.
        top: the highest layer in the loss.
        stretches: the steps of each stretch.
    """

    def __init__(
        self, model: PredNet, shape: torch.Size, dtype: torch.dtype, top: int, stretches: Sequence[range]
    ) -> None:
        self.batch, self.steps, self.top = shape[0], shape[1], top
        layers = range(model.config.n_layers)
        size = [(shape[3] >> n, shape[4] >> n) for n in layers]
        own = [model.config.r_stack_sizes[n] + 2 * model.config.stack_sizes[n] for n in layers]
        self._all: list[tuple[Tape[Any], bool, int]] = []

        def tape(kernel: K, n: int, *, alike: bool = True, reaches: int = 0, inputs: Tensor | None = None) -> Tape[K]:
            rows = max(sum(self._batches(steps, alike, reaches)) for steps in stretches)
            made = Tape(kernel, rows, size[n], inputs)
            self._all.append((made, alike, reaches))
            return made

        def kernel(conv: torch.nn.Module, **kwargs: Any) -> Kernel:
            return Kernel(conv, dtype, **kwargs)

        self.gates = [tape(kernel(conv, columns=slice(own[n]), gates=True), n) for n, conv in enumerate(model.gates)]
        self.from_above = [
            tape(UpsampledKernel(model.gates[n], dtype, slice(own[n], None)), n + 1) for n in layers[:-1]
        ]
        shared = [None, *(above.inputs for above in self.from_above)]
        self.ahat = [tape(kernel(conv), n, reaches=n, inputs=shared[n]) for n, conv in enumerate(model.ahat)]
        self.a = [tape(kernel(conv), n, alike=False, reaches=n + 1) for n, conv in enumerate(model.a)]

    def _batches(self, steps: range, alike: bool, reaches: int) -> list[int]:
        """Batch of each step of a convolution; `reaches` is the layer whose error it serves."""
        read = [t for t in steps if t + 1 < self.steps or reaches <= self.top]
        return [1 if alike and t == 0 else self.batch for t in read]

    def r(self, n: int, t: int) -> Tensor:
        """Where R_n(t) is kept: (batch, R_n, h, w)."""
        return self.from_above[n - 1].input(t) if n else self.ahat[0].input(t)

    def load_weights(self) -> None:
        """Read the current weights."""
        for tape, _, _ in self._all:
            tape.kernel.load()

    def lay_out(self, steps: range) -> None:
        """Begin a stretch of these steps."""
        for tape, alike, reaches in self._all:
            tape.lay_out(steps.start, self._batches(steps, alike, reaches))

    def add_gradients(self) -> None:
        """Add what the stretch contributes to the gradients of all parameters."""
        for tape, _, _ in self._all:
            tape.add_gradients()
