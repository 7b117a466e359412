"""One convolution of the network over all steps of a sequence: operands, inputs, and gradients of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from prednet.model import SameConv2d


@dataclass(frozen=True)
class Folding:
    """Affine maps folded into a convolution, one number a row of the kernel.

    The forward pass computes `scale * conv(x) + shift`. The backward pass is given gradients with respect to
    `scale_back * conv(x)`; the two scales differ where that saves an element-wise operation.
    """

    scale: Tensor
    shift: Tensor
    scale_back: Tensor


class Tape:
    """Runs a convolution step by step and returns its kernel gradient in one go.

    The steps lie one after the other in the buffers; `batches[t]` is the batch of step t (the first step may have
    one row for all sequences). Output gradients are kept with the border that an even filter crops off, at
    zero, so that every gradient is that of a plain symmetric padding.
    """

    def __init__(
        self,
        conv: SameConv2d,
        batches: Sequence[int],
        size: tuple[int, int],
        dtype: torch.dtype,
        folding: Folding | None = None,
    ) -> None:
        self.conv, self.folding, self.dtype = conv, folding, dtype
        self.starts = [sum(batches[:t]) for t in range(len(batches) + 1)]
        border = 1 if conv.even else 0
        self.inputs = self._buffer(conv.weight.shape[1], size, border=0)
        self.outputs = self._buffer(conv.weight.shape[0], size, border)
        self.load_weights()

    def load_weights(self) -> None:
        """Fold and cast the current weights; call it again whenever they have changed."""
        weight, bias, folding = self.conv.weight.detach(), self.conv.bias.detach(), self.folding
        back = weight
        if folding is not None:
            back = weight * folding.scale_back[:, None, None, None]
            weight, bias = weight * folding.scale[:, None, None, None], bias * folding.scale + folding.shift
        self.weight = weight.to(self.dtype, memory_format=torch.channels_last)
        self.weight_back = back.to(self.dtype, memory_format=torch.channels_last)
        self.bias = bias.to(self.dtype)

    def _buffer(self, channels: int, size: tuple[int, int], border: int) -> Tensor:
        shape = (self.starts[-1], channels, size[0] + border, size[1] + border)
        new = torch.zeros if border else torch.empty
        flat = new((shape[0], shape[2], shape[3], channels), dtype=self.dtype, device=self.conv.weight.device)
        return flat.permute(0, 3, 1, 2)

    def input(self, t: int) -> Tensor:
        """Where the input of step t is written: (batches[t], inputs, H, W), channels last."""
        return self.inputs[self.starts[t] : self.starts[t + 1]]

    def output(self, t: int) -> Tensor:
        """Room for what the backward pass needs of step t, then for the gradient: (batches[t], outputs, H, W)."""
        return self.conv.crop(self.outputs[self.starts[t] : self.starts[t + 1]])

    def forward(self, t: int) -> Tensor:
        """The convolution of `input(t)`: (batches[t], outputs, H, W)."""
        return self.conv.crop(F.conv2d(self.input(t), self.weight, self.bias, padding=self.conv.padding))

    def backward(self, t: int) -> Tensor:
        """Gradient of `input(t)`, once the gradient of the output was written to `output(t)`."""
        full = self.outputs[self.starts[t] : self.starts[t + 1]]
        return self._gradients(full, self.input(t), [True, False, False])[0]

    def store_gradients(self) -> None:
        """Write the gradients of kernel and bias, summed over all steps, to the parameters' `grad`."""
        _, weight, bias = self._gradients(self.outputs, self.inputs, [False, True, True])
        like = self.conv.weight
        weight, bias = weight.to(like.dtype), bias.to(like.dtype)
        if self.folding is not None:
            weight = weight * self.folding.scale_back[:, None, None, None]
            bias = bias * self.folding.scale_back
        self.conv.weight.grad = weight
        self.conv.bias.grad = bias

    def _gradients(self, grad: Tensor, inputs: Tensor, wanted: list[bool]) -> tuple[Tensor, Tensor, Tensor]:
        padding = [self.conv.padding] * 2
        return torch.ops.aten.convolution_backward(
            grad, inputs, self.weight_back, [grad.shape[1]], [1, 1], padding, [1, 1], False, [0, 0], 1, wanted
        )
