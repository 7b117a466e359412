"""The steps of a trained network without gradients: the numbers of `PredNet`, faster, or with bfloat16 convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from prednet.kernels import Kernel, UpsampledKernel, tanh_from
from prednet.model import Activations, PredNet, State


class Inference:
    """Runs a network step by step; a drop-in for `PredNet` where no gradient is asked for.

    `initial_state`, `top_down`, `predict` and `bottom_up` take and return what those of `PredNet` do, to rounding in
    the dtype of the weights; what makes them faster is in `prednet.kernels`.

    Args:
        model: on any device; its weights are read once, here.
        bf16: convolve in bfloat16, and keep E in it; A, Ahat, R and C stay in the dtype of the weights.
    """

    def __init__(self, model: PredNet, *, bf16: bool = False) -> None:
        self.model, self.config = model, model.config
        self.work = next(model.parameters()).dtype
        self.dtype = torch.bfloat16 if bf16 else self.work
        own = [r + 2 * a for r, a in zip(self.config.r_stack_sizes, self.config.stack_sizes, strict=True)]
        self._gates = [
            Kernel(conv, self.dtype, columns=slice(own[n]), gates=True) for n, conv in enumerate(model.gates)
        ]
        self._from_above = [
            UpsampledKernel(model.gates[n], self.dtype, slice(own[n], None)) for n in range(self.config.n_layers - 1)
        ]
        self._ahat = [Kernel(conv, self.dtype) for conv in model.ahat]
        self._a = [Kernel(conv, self.dtype) for conv in model.a]

    def initial_state(self, height: int, width: int) -> State:
        """The zero state before the first frame, for a batch of 1."""
        return self.model.initial_state(height, width)

    @torch.inference_mode()
    def top_down(self, state: State, *, lowest: int = 0) -> tuple[list[Tensor], list[Tensor]]:
        """New R and C, from the top layer down to `lowest`; nothing of the current frame enters."""
        batch = state.e[0].shape[0]
        r_new, c_new = list(state.r), list(state.c)
        for n in reversed(range(lowest, self.config.n_layers)):
            r, e = state.r[n], state.e[n]
            channels = r.shape[1]
            x = _channels_last((batch, channels + e.shape[1], *r.shape[2:]), r, self.dtype)
            x[:, :channels], x[:, channels:] = r, e
            y = self._gates[n].crop(self._gates[n](x)).to(self.work)
            if n + 1 < self.config.n_layers:
                above = self._from_above[n]
                above.add_to(y, above(r_new[n + 1].to(self.dtype)))
            i, f, o = y[:, : 3 * channels].clamp_(0, 1).split(channels, dim=1)
            g = tanh_from(y[:, 3 * channels :].contiguous(memory_format=torch.channels_last))
            c_new[n] = g.mul_(i).addcmul_(f, state.c[n])
            r_new[n] = tanh_from(2 * c_new[n]).mul_(o)
        return r_new, c_new

    @torch.inference_mode()
    def predict(self, r: Tensor, layer: int) -> Tensor:
        """Ahat_l (B, A_l, h, w) from R_l; at the bottom it is the predicted frame, in [0, pixel_max]."""
        ahat = self._ahat[layer].crop(self._ahat[layer](r.to(self.dtype))).to(self.work)
        return ahat.clamp_(0, self.config.pixel_max) if layer == 0 else ahat.relu_()

    @torch.inference_mode()
    def bottom_up(self, r: list[Tensor], frame: Tensor, ahat0: Tensor | None = None) -> Activations:
        """Predictions and errors of every layer for a frame (B, C, H, W); `ahat0` when it is known already."""
        a, ahat, e = [frame], [], []
        for n in range(self.config.n_layers):
            ahat.append(ahat0 if n == 0 and ahat0 is not None else self.predict(r[n], n))
            difference = (ahat[n] - a[n]).to(self.dtype)
            batch, channels, height, width = difference.shape
            both = _channels_last((batch, 2 * channels, height, width), difference, self.dtype)
            torch.clamp(difference, min=0, out=both[:, :channels])
            torch.sub(both[:, :channels], difference, out=both[:, channels:])
            e.append(both)
            if n + 1 < self.config.n_layers:
                convolved = self._a[n].crop(self._a[n](both))
                a.append(F.max_pool2d(convolved, 2).relu_().to(self.work))
        return Activations(a, ahat, r, e)


def _channels_last(shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=like.device, memory_format=torch.channels_last)
