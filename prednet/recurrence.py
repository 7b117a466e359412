"""The training loss of a PredNet and its gradients: the numbers of autograd, faster.

`PredNet.forward` says what is computed. This file runs a whole sequence and walks back through it by hand
(back-propagation through time), which exploits what a general autograd cannot know:

- Before the first frame all sequences are alike: the first top-down pass runs at batch 1.
- What only later steps would read is left out: at the last step, every layer above the highest one in the loss.
- Kernels are folded, and R is convolved before it is upsampled (`prednet.kernels`).
- The inputs of a convolution lie in one buffer for all steps, so that a kernel gradient is one convolution over all
  steps in place of one a step (`prednet.tape`).
- Masks of ReLU, SatLU and hard sigmoid are read off the values that they produced; pooling comes before ReLU.

With `bf16` convolutions and errors are bfloat16; the ConvLSTM's mathematics stays in the dtype of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from prednet.errors import ModelError
from prednet.kernels import tanh_from
from prednet.model import PredNet, check_shape
from prednet.tape import Tapes

aten = torch.ops.aten


def layer_weights(loss: str, n_layers: int) -> list[float]:
    """Weights of the layer errors in the loss: `L0` is [1, 0, ...], `Lall` is [1, 0.1, ...] (Lotter et al. 2017)."""
    return [1.0] + [0.1 if loss == "Lall" else 0.0] * (n_layers - 1)


class Recurrence:
    """Computes losses and gradients of one network; buffers stay for the next batch of the same shape.

    Args:
        model: its weights are read anew at every call.
        weights: of the layer errors in the loss, see `layer_weights`. The steps t >= 1 weigh 1 / (T - 1) each.
        bf16: convolve in bfloat16.
        recompute_every: keep only the state before every so many steps, and compute the units of those steps a second
            time on the way back: the same gradients for about a third more time, with memory for so many steps and
            T / `recompute_every` states (activation checkpointing over time). None: keep the units of all steps.

    Raises:
        ModelError: `recompute_every` below 1.
    """

    def __init__(
        self, model: PredNet, weights: Sequence[float], *, bf16: bool = False, recompute_every: int | None = None
    ) -> None:
        if recompute_every is not None and recompute_every < 1:
            raise ModelError(f"recompute_every is {recompute_every}: give a number of steps, 1 or more")
        self.model, self.weights, self.bf16, self.recompute_every = model, list(weights), bf16, recompute_every
        self._unrolled: _Unrolled | None = None

    @torch.no_grad()
    def loss(self, frames: Tensor) -> Tensor:
        """The loss, a scalar: batch mean of the weighted layer errors of all steps after the first.

        Args:
            frames: (B, T, C, H, W) floats in [0, pixel_max], of the dtype and device of the weights.

        Raises:
            ModelError: for frames of a size that the network can't read, or fewer than two of them.
        """
        unrolled = self._prepare(frames)
        loss = unrolled.forward(frames)
        unrolled.clear()
        return loss

    @torch.no_grad()
    def loss_and_gradients(self, frames: Tensor) -> Tensor:
        """As `loss`; also writes the gradient of every parameter into its `grad`, in place where there is one."""
        unrolled = self._prepare(frames)
        loss = unrolled.forward(frames)
        for parameter in self.model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            parameter.grad.zero_()
        unrolled.backward(frames)
        return loss

    def _prepare(self, frames: Tensor) -> _Unrolled:
        check_shape(frames, self.model.config)
        if frames.shape[1] < 2:
            raise ModelError("sequences of 1 frame have no loss, which starts at the second: give nt of 2 or more")
        if self._unrolled is None or not self._unrolled.fits(frames):
            self._unrolled = None  # frees the old buffers before the new ones are made
            self._unrolled = _Unrolled(self.model, frames, self.weights, self.bf16, self.recompute_every)
        return self._unrolled


class _State(NamedTuple):
    """What a step reads of the one before, by layer: R and E in the dtype of convolutions, C in that of the weights."""

    r: list[Tensor]
    e: list[Tensor]
    c: list[Tensor]


class _Unrolled:
    """A batch of sequences of one shape, unrolled in time, one stretch of steps after the other.

    The tapes keep what convolutions need on the way back; lists indexed [layer][step of the stretch] keep the rest.
    """

    def __init__(
        self, model: PredNet, frames: Tensor, weights: Sequence[float], bf16: bool, recompute_every: int | None
    ) -> None:
        self.config, self.weights = model.config, list(weights)
        self.shape, self.device, self.work = frames.shape, frames.device, frames.dtype
        self.batch, self.steps = frames.shape[:2]
        self.layers = range(self.config.n_layers)
        self.top = max((n for n in self.layers if weights[n]), default=0)
        self.dtype = torch.bfloat16 if bf16 else self.work
        length = recompute_every or self.steps
        self.stretches = [range(t, min(t + length, self.steps)) for t in range(0, self.steps, length)]
        self.tapes = Tapes(model, frames.shape, self.dtype, self.top, self.stretches)
        self.states: list[_State] = []
        self.clear()

    def clear(self) -> None:
        """Free what is not in a buffer."""

        def lists() -> list[list[Tensor]]:
            return [[] for _ in self.layers]

        self.c, self.tanh_c, self.a, self.ahat, self.errors, self.winners = (lists() for _ in range(6))
        self.r: list[Tensor] = []
        self.e: list[Tensor] = []

    def fits(self, frames: Tensor) -> bool:
        """Whether the buffers are right for these frames."""
        return (self.shape, self.device, self.work) == (frames.shape, frames.device, frames.dtype)

    def _depth(self, t: int) -> int:
        """How many layers run bottom-up at step t: at the last step, only those that the loss reads."""
        return self.top + 1 if t == self.steps - 1 else len(self.layers)

    def _share(self, n: int, t: int) -> float:
        """Weight in the loss of one unit of E_n of one sequence at step t."""
        height, width = self.shape[3] >> n, self.shape[4] >> n
        units = 2 * self.config.stack_sizes[n] * height * width
        return self.weights[n] / (units * self.batch * (self.steps - 1)) if t else 0.0

    def _error_dtype(self, n: int) -> torch.dtype:
        """Of A, Ahat and E while they are computed: frames and predictions are not rounded, the layers above are."""
        return self.work if n == 0 else self.dtype

    def forward(self, frames: Tensor) -> Tensor:
        """The loss of a batch of sequences."""
        self.tapes.load_weights()
        loss, self.states = frames.new_zeros(()), [self._before_the_first_frame()]
        for steps in self.stretches:
            loss += self._run(steps, self.states[-1], frames)
            if steps.stop < self.steps:
                kept = [[tensor.clone() for tensor in layers] for layers in (self.r, self.e)]
                self.states.append(_State(kept[0], kept[1], [c[-1] for c in self.c]))
        return loss

    def _before_the_first_frame(self) -> _State:
        def zeros(channels: Sequence[int], dtype: torch.dtype) -> list[Tensor]:
            size = [(self.shape[3] >> n, self.shape[4] >> n) for n in self.layers]
            return [torch.zeros(1, channels[n], *size[n], dtype=dtype, device=self.device) for n in self.layers]

        r, a = self.config.r_stack_sizes, self.config.stack_sizes
        return _State(zeros(r, self.dtype), zeros([2 * n for n in a], self.dtype), zeros(r, self.work))

    def _run(self, steps: range, state: _State, frames: Tensor) -> Tensor:
        """What the steps of a stretch add to the loss."""
        self.clear()
        self.tapes.lay_out(steps)
        self.r, self.e, self.c = list(state.r), list(state.e), [[c] for c in state.c]
        loss = frames.new_zeros(())
        for t in steps:
            self._top_down(t)
            loss += self._bottom_up(t, frames[:, t])
        return loss

    def _top_down(self, t: int) -> None:
        for n in reversed(self.layers):
            r, gates = self.config.r_stack_sizes[n], self.tapes.gates[n]
            x = gates.input(t)
            x[:, :r], x[:, r:] = self.r[n], self.e[n]
            y = gates.kernel.crop(gates.forward(t)).to(self.work)
            if n + 1 < len(self.layers):
                above = self.tapes.from_above[n]
                above.kernel.add_to(y, above.forward(t))
            i, f, o = y[:, : 3 * r].clamp_(0, 1).split(r, dim=1)
            g = tanh_from(y[:, 3 * r :].contiguous(memory_format=torch.channels_last))
            c = (i * g).addcmul_(f, self.c[n][-1])
            tanh_c = tanh_from(2 * c)
            kept = gates.output(t)
            kept[:, : 3 * r], kept[:, 3 * r :] = y[:, : 3 * r], g
            self.r[n] = self.tapes.r(n, t).copy_(o * tanh_c)
            self.c[n].append(c)
            self.tanh_c[n].append(tanh_c)

    def _bottom_up(self, t: int, frame: Tensor) -> Tensor:
        loss, a = frame.new_zeros(()), frame
        for n in range(self._depth(t)):
            predict = self.tapes.ahat[n]
            ahat = predict.kernel.crop(predict.forward(t)).to(self._error_dtype(n))
            ahat = ahat.clamp_(0, self.config.pixel_max) if n == 0 else ahat.relu_()
            difference = ahat - a
            if share := self._share(n, t):
                loss += share * difference.abs().sum(dtype=self.work)
            goes_up = n + 1 < self._depth(t)
            rounded = difference.to(self.dtype)
            e = self.tapes.a[n].input(t) if goes_up else torch.cat([rounded, rounded], dim=1)
            positive, negative = e.chunk(2, dim=1)
            torch.clamp(rounded, min=0, out=positive)
            torch.sub(positive, rounded, out=negative)
            self.e[n] = e
            self.ahat[n].append(ahat)
            self.errors[n].append(e)
            if goes_up:
                convolved = self.tapes.a[n].kernel.crop(self.tapes.a[n].forward(t))
                pooled, winners = F.max_pool2d(convolved, 2, return_indices=True)
                a = pooled.relu_()
                self.a[n + 1].append(a)
                self.winners[n].append(winners)
        return loss

    def backward(self, frames: Tensor) -> None:
        """Walk back from the last step to the first, and add to the gradients of all parameters."""
        none: list[Tensor | None] = [None] * len(self.layers)
        dr, de, dc = list(none), list(none), list(none)
        for steps in reversed(self.stretches):
            state = self.states.pop()
            if steps.stop < self.steps:
                self._run(steps, state, frames)
            for t in reversed(steps):
                self._back_bottom_up(t, dr, de)
                for n in self.layers:
                    self._back_gates(n, t, dr, de, dc)
            self.tapes.add_gradients()
        self.clear()

    def _back_bottom_up(self, t: int, dr: list[Tensor | None], de: list[Tensor | None]) -> None:
        """From gradients of E_l(t) to those of R_l(t), which are added to `dr`."""
        da: Tensor | None = None
        for n in reversed(range(self._depth(t))):
            dtype = self._error_dtype(n)
            ahat, e = self.ahat[n].pop(), self.errors[n].pop().to(dtype)
            grad = de[n] if da is None else _sum(self._back_a(n, t, da), de[n])
            share = self._share(n, t)
            if grad is None:
                grad = torch.full_like(e, share)
            elif share:
                grad = grad.to(dtype) + share
            positive, negative = aten.threshold_backward(grad.to(dtype), e, 0).chunk(2, dim=1)
            da = negative - positive
            down = -da if t else da.sum(0, keepdim=True).neg_()
            bounds = (0.0, self.config.pixel_max if n == 0 else float("inf"))
            self.tapes.ahat[n].output(t).copy_(aten.hardtanh_backward(down, ahat, *bounds))
            dr[n] = _sum(self.tapes.ahat[n].backward(t), dr[n])

    def _back_a(self, n: int, t: int, da: Tensor) -> Tensor:
        """Gradient of E_n(t) through A_{n+1}(t) = relu(maxpool(conv(E_n)))."""
        pooled = aten.threshold_backward(da, self.a[n + 1].pop(), 0)
        out = self.tapes.a[n].output(t)
        window = [2, 2], [2, 2], [0, 0], [1, 1], False
        out.copy_(aten.max_pool2d_with_indices_backward(pooled, torch.empty_like(out), *window, self.winners[n].pop()))
        return self.tapes.a[n].backward(t)

    def _back_gates(
        self, n: int, t: int, dr: list[Tensor | None], de: list[Tensor | None], dc: list[Tensor | None]
    ) -> None:
        """Through the ConvLSTM of one layer: sets the gradients that reach step t - 1, adds to that of R_{n+1}(t)."""
        r, gates, into_r = self.config.r_stack_sizes[n], self.tapes.gates[n], dr[n]
        assert into_r is not None
        into_r, tanh_c = into_r.to(self.work), self.tanh_c[n].pop()
        self.c[n].pop()
        out = gates.output(t)
        i, f, o, g = out.to(self.work).split(r, dim=1)
        into_c = _sum(aten.tanh_backward(into_r * o, tanh_c), dc[n])
        into_f, into_candidate, carried = into_c * self.c[n][-1], into_c * i, into_c * f
        di, df, do, dg = out.split(r, dim=1)  # these may be the memory of i, f, o, g
        di.copy_(aten.hardtanh_backward(into_c * g, i, 0, 1))
        df.copy_(aten.hardtanh_backward(into_f, f, 0, 1))
        do.copy_(aten.hardtanh_backward(into_r * tanh_c, o, 0, 1))
        dg.copy_(aten.tanh_backward(into_candidate, g))
        if n + 1 < len(self.layers):
            above = self.tapes.from_above[n]
            above.kernel.collect(out, above.full_output(t))
            dr[n + 1] = _sum(above.backward(t), dr[n + 1])
        if t:
            dx = gates.backward(t)
            dr[n], de[n], dc[n] = _sum_if_shared(dx[:, :r], t), dx[:, r:], _sum_if_shared(carried, t)


def _sum(new: Tensor, old: Tensor | None) -> Tensor:
    return new if old is None else new.add_(old)


def _sum_if_shared(grad: Tensor, t: int) -> Tensor:
    """Gradient with respect to the state of step t - 1, which at step 0 is one row for all sequences."""
    return grad.sum(0, keepdim=True) if t == 1 else grad
