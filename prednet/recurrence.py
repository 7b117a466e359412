"""The training loss of a PredNet and its gradients: the numbers of autograd, faster.

`PredNet.forward` says what is computed. This file runs a whole sequence and walks back through it by hand
(back-propagation through time), which exploits what a general autograd cannot know:

- Before the first frame all sequences are alike: the first top-down pass runs at batch 1.
- What only later steps would read is left out: at the last step, every layer above the highest one in the loss.
- R, E and the upsampled R are written straight into the buffer that the gate convolution reads, with all steps in one
  buffer, so that a kernel gradient is one convolution over all steps in place of one a step (`prednet.tape`).
- The affine part of the hard sigmoid, 0.2 x + 0.5, is folded into the kernels; tanh(x) = 2 sigmoid(2x) - 1, since
  the vectorised sigmoid of a CPU is several times faster than its tanh.
- Masks of ReLU, SatLU and hard sigmoid are read off the values that they produced; pooling comes before ReLU.

With `bf16` the operands of convolutions are bfloat16; element-wise mathematics stays in the dtype of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prednet.errors import ModelError
from prednet.model import PredNet, SameConv2d, check_shape
from prednet.tape import Folding, Tape

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
    """

    def __init__(self, model: PredNet, weights: Sequence[float], *, bf16: bool = False) -> None:
        self.model, self.weights, self.bf16 = model, list(weights), bf16
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
        """As `loss`; also replaces the `grad` of every parameter by its gradient."""
        unrolled = self._prepare(frames)
        loss = unrolled.forward(frames)
        unrolled.backward()
        return loss

    def _prepare(self, frames: Tensor) -> _Unrolled:
        check_shape(frames, self.model.config)
        if frames.shape[1] < 2:
            raise ModelError("sequences of 1 frame have no loss, which starts at the second: give nt of 2 or more")
        if self._unrolled is None or not self._unrolled.fits(frames):
            self._unrolled = None  # frees the old buffers before the new ones are made
            self._unrolled = _Unrolled(self.model, frames, self.weights, self.bf16)
        return self._unrolled


class _Unrolled:
    """A batch of sequences of one shape, unrolled in time.

    The tapes keep what convolutions need on the way back; lists indexed [layer][step] keep the rest.
    """

    def __init__(self, model: PredNet, frames: Tensor, weights: Sequence[float], bf16: bool) -> None:
        self.config, self.weights = model.config, list(weights)
        self.shape, self.device, self.work = frames.shape, frames.device, frames.dtype
        self.batch, self.steps = frames.shape[:2]
        self.layers = range(self.config.n_layers)
        self.top = max((n for n in self.layers if weights[n]), default=0)
        size = [(frames.shape[3] >> n, frames.shape[4] >> n) for n in self.layers]
        self.dtype = torch.bfloat16 if bf16 else self.work
        alike, apart = [1] + [self.batch] * (self.steps - 1), [self.batch] * self.steps

        def tape(conv: nn.Module, n: int, batches: list[int], reaches: int, folding: Folding | None = None) -> Tape:
            assert isinstance(conv, SameConv2d)
            return Tape(conv, batches if reaches <= self.top else batches[:-1], size[n], self.dtype, folding)

        self.gates = [tape(conv, n, alike, 0, self._folding(n)) for n, conv in enumerate(model.gates)]
        self.ahat_conv = [tape(conv, n, alike, n) for n, conv in enumerate(model.ahat)]
        self.a_conv = [tape(conv, n, apart, n + 1) for n, conv in enumerate(model.a)]
        self.tapes = [*self.gates, *self.ahat_conv, *self.a_conv]
        for n in self.layers:
            self.gates[n].input(0).zero_()  # before the first frame R and E are zero
        self.clear()

    def clear(self) -> None:
        def lists() -> list[list[Tensor]]:
            return [[] for _ in self.layers]

        self.c, self.tanh_c, self.a, self.ahat, self.e, self.winners = (lists() for _ in range(6))

    def fits(self, frames: Tensor) -> bool:
        """Whether the buffers are right for these frames."""
        return (self.shape, self.device, self.work) == (frames.shape, frames.device, frames.dtype)

    def _folding(self, n: int) -> Folding:
        """Rows i, f, o become 0.2 x + 0.5, and row g becomes 2 x, ready for a clamp and a sigmoid."""
        r = self.config.r_stack_sizes[n]

        def rows(gate: float, candidate: float) -> Tensor:
            values = [gate] * (3 * r) + [candidate] * r
            return torch.tensor(values, dtype=self.work, device=self.device)

        return Folding(scale=rows(0.2, 2.0), shift=rows(0.5, 0.0), scale_back=rows(0.2, 1.0))

    def _depth(self, t: int) -> int:
        """How many layers run bottom-up at step t: at the last step, only those that the loss reads."""
        return self.top + 1 if t == self.steps - 1 else len(self.layers)

    def _share(self, n: int, t: int) -> float:
        """Weight in the loss of one unit of E_n of one sequence at step t."""
        height, width = self.shape[3] >> n, self.shape[4] >> n
        units = 2 * self.config.stack_sizes[n] * height * width
        return self.weights[n] / (units * self.batch * (self.steps - 1)) if t else 0.0

    def forward(self, frames: Tensor) -> Tensor:
        """The loss of a batch of sequences."""
        self.clear()
        for tape in self.tapes:
            tape.load_weights()
        loss = frames.new_zeros(())
        for t in range(self.steps):
            loss += self._bottom_up(t, self._top_down(t), frames[:, t])
        return loss

    def _top_down(self, t: int) -> list[Tensor]:
        above: Tensor | None = None
        r_new: list[Tensor] = []
        for n in reversed(self.layers):
            r, a = self.config.r_stack_sizes[n], self.config.stack_sizes[n]
            x = self.gates[n].input(t)
            if above is not None:
                x[:, r + 2 * a :] = F.interpolate(above, scale_factor=2, mode="nearest")
            y = self.gates[n].forward(t).to(self.work)
            i, f, o = y[:, : 3 * r].clamp_(0, 1).split(r, dim=1)
            g = _tanh_of_half(y[:, 3 * r :].contiguous(memory_format=torch.channels_last))
            c = i * g
            if t:
                c = c.addcmul_(f, self.c[n][-1])
            tanh_c = _tanh_of_half(2 * c)
            above = (o * tanh_c).to(self.dtype)
            y[:, 3 * r :] = g
            self.gates[n].output(t).copy_(y)
            self.c[n].append(c)
            self.tanh_c[n].append(tanh_c)
            if t + 1 < self.steps:
                self.gates[n].input(t + 1)[:, :r] = above
            r_new.insert(0, above)
        return r_new

    def _bottom_up(self, t: int, r_new: list[Tensor], frame: Tensor) -> Tensor:
        loss, a = frame.new_zeros(()), frame
        for n in range(self._depth(t)):
            r, channels = self.config.r_stack_sizes[n], self.config.stack_sizes[n]
            self.ahat_conv[n].input(t).copy_(r_new[n])
            ahat = self.ahat_conv[n].forward(t).to(self.work)
            ahat = ahat.clamp_(0, self.config.pixel_max) if n == 0 else ahat.relu_()
            difference = ahat - a
            goes_up = n + 1 < self._depth(t)
            rounded = difference.to(self.dtype)
            e = self.a_conv[n].input(t) if goes_up else torch.cat([rounded, rounded], dim=1)
            e[:, :channels] = rounded.clamp(min=0)
            e[:, channels:] = rounded.neg().clamp_(min=0)
            if share := self._share(n, t):
                loss += share * difference.abs().sum()
            if t + 1 < self.steps:
                self.gates[n].input(t + 1)[:, r : r + 2 * channels] = e
            self.ahat[n].append(ahat)
            self.e[n].append(e)
            if goes_up:
                pooled, winners = F.max_pool2d(self.a_conv[n].forward(t), 2, return_indices=True)
                a = pooled.relu_().to(self.work)
                self.a[n + 1].append(a)
                self.winners[n].append(winners)
        return loss

    def backward(self) -> None:
        """Walk back from the last step to the first, then store the gradients of all kernels."""
        none: list[Tensor | None] = [None] * len(self.layers)
        dr, de, dc = list(none), list(none), list(none)
        for t in reversed(range(self.steps)):
            self._back_bottom_up(t, dr, de)
            for n in self.layers:
                self._back_gates(n, t, dr, de, dc)
        for tape in self.tapes:
            tape.store_gradients()
        self.clear()

    def _back_bottom_up(self, t: int, dr: list[Tensor | None], de: list[Tensor | None]) -> None:
        """From gradients of E_l(t) to those of R_l(t), which are added to `dr`."""
        da: Tensor | None = None
        for n in reversed(range(self._depth(t))):
            channels = self.config.stack_sizes[n]
            ahat, e = self.ahat[n][t], self.e[n][t].to(self.work)
            grad = de[n]
            if da is not None:
                upward = self._back_a(n, t, da)
                grad = upward if grad is None else grad + upward
            share = self._share(n, t)
            grad = torch.full_like(e, share) if grad is None else grad + share
            grad = aten.threshold_backward(grad, e, 0)
            da = grad[:, channels:] - grad[:, :channels]
            down = -da
            if t == 0:
                down = down.sum(0, keepdim=True)
            bounds = (0.0, self.config.pixel_max if n == 0 else float("inf"))
            self.ahat_conv[n].output(t).copy_(aten.hardtanh_backward(down, ahat, *bounds))
            into_r = self.ahat_conv[n].backward(t).to(self.work)
            previous = dr[n]
            dr[n] = into_r if previous is None else into_r + previous

    def _back_a(self, n: int, t: int, da: Tensor) -> Tensor:
        """Gradient of E_n(t) through A_{n+1}(t) = relu(maxpool(conv(E_n)))."""
        pooled = aten.threshold_backward(da, self.a[n + 1][t], 0)
        out = self.a_conv[n].output(t)
        like = out.to(self.work)
        out.copy_(
            aten.max_pool2d_with_indices_backward(
                pooled, like, [2, 2], [2, 2], [0, 0], [1, 1], False, self.winners[n][t]
            )
        )
        return self.a_conv[n].backward(t).to(self.work)

    def _back_gates(
        self, n: int, t: int, dr: list[Tensor | None], de: list[Tensor | None], dc: list[Tensor | None]
    ) -> None:
        """Through the ConvLSTM of one layer: sets the gradients that reach step t - 1, adds to that of R_{n+1}(t)."""
        r, channels = self.config.r_stack_sizes[n], self.config.stack_sizes[n]
        grad = dr[n]
        assert grad is not None
        out, tanh_c = self.gates[n].output(t), self.tanh_c[n][t]
        s = out.to(self.work)
        i, f, o, g = s.split(r, dim=1)
        into_c = aten.tanh_backward(grad * o, tanh_c)
        carried = dc[n]
        if carried is not None:
            into_c += carried
        d = torch.empty_like(s)
        torch.mul(into_c, g, out=d[:, :r])
        if t:
            torch.mul(into_c, self.c[n][t - 1], out=d[:, r : 2 * r])
            dc[n] = _sum_if_shared(into_c * f, t)
        else:
            d[:, r : 2 * r] = 0
        torch.mul(grad, tanh_c, out=d[:, 2 * r : 3 * r])
        candidate = aten.tanh_backward(into_c * i, g)
        d = aten.hardtanh_backward(d, s, 0, 1)
        d[:, 3 * r :] = candidate
        out.copy_(d)
        dx = self.gates[n].backward(t).to(self.work)
        if n + 1 < len(self.layers):
            up = F.avg_pool2d(dx[:, r + 2 * channels :], 2, divisor_override=1)
            above = dr[n + 1]
            dr[n + 1] = up if above is None else above + up
        if t:
            dr[n] = _sum_if_shared(dx[:, :r], t)
            de[n] = dx[:, r : r + 2 * channels]


def _tanh_of_half(twice: Tensor) -> Tensor:
    """tanh(x) in place of `twice` = 2 x."""
    return twice.sigmoid_().mul_(2).sub_(1)


def _sum_if_shared(grad: Tensor, t: int) -> Tensor:
    """Gradient with respect to the state of step t - 1, which at step 0 is one row for all sequences."""
    return grad.sum(0, keepdim=True) if t == 1 else grad
