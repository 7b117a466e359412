"""The convolutions of a PredNet as the fast paths run them: kernels cut, folded and cast, all algebraically exact.

- Gates: 0.2 x + 0.5 of the hard sigmoid is folded into the rows of i, f, o. The rows of g become 2 x, since
  tanh(x) = u / (u + 2) with u = exp(2 x) - 1, and the vectorised expm1 of a CPU is several times faster than its tanh.
  As exact near 0 as elsewhere: of a network that is almost dead, the pattern of tiny units is still right.
- The part of the gates that reads the upsampled R of the layer above runs on R itself, before upsampling: each of the
  four pixels (2i + p, 2j + q) that one pixel of R becomes has a small kernel of its own, in which taps that read the
  same pixel are summed. The four are one convolution with four times the outputs on a quarter of the pixels: 4/9 of the
  multiplications for a 3x3 filter, 9/25 for a 5x5 filter, and never more.
- A "same" convolution with an even filter is a symmetric one whose first or last row and column are cropped.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prednet.model import SameConv2d


class _Rows(NamedTuple):
    """Factors of the rows i, f, o, g on the way forward and on the way back, and what is added to the bias.

    The two factors of g differ: the way back computes the derivative of tanh itself.
    """

    forward: Tensor
    backward: Tensor
    shift: Tensor


class Kernel:
    """A convolution, or the input channels `columns` of one, with a copy of its weights ready to run.

    Args:
        conv: the `SameConv2d` that owns the parameters.
        dtype: of the operands.
        columns: the input channels that are read.
        gates: the rows are i, f, o, g, and are folded as the module says.
        bias: add the bias; of several kernels cut from one convolution only one does.
    """

    def __init__(
        self,
        conv: nn.Module,
        dtype: torch.dtype,
        *,
        columns: slice = slice(None),
        gates: bool = False,
        bias: bool = True,
    ) -> None:
        assert isinstance(conv, SameConv2d)
        self.conv, self.dtype, self.columns, self.has_bias = conv, dtype, columns, bias
        self.padding, self.border = conv.padding, int(conv.even)
        self.rows = _gate_rows(conv) if gates else None
        self.load()

    def load(self) -> None:
        """Fold and cast the current weights; call it again whenever they have changed."""
        weight = self.fold(self.conv.weight.detach()[:, self.columns])
        bias = self.conv.bias.detach()
        forward, backward = weight, weight
        if self.rows is not None:
            repeats = len(weight) // len(bias)
            forward = weight * self.rows.forward.repeat(repeats)[:, None, None, None]
            backward = weight * self.rows.backward.repeat(repeats)[:, None, None, None]
            bias = bias * self.rows.forward + self.rows.shift
        self.weight = forward.to(self.dtype, memory_format=torch.channels_last)
        self.weight_back = backward.to(self.dtype, memory_format=torch.channels_last)
        self.bias = bias.to(self.dtype) if self.has_bias else None

    def fold(self, weight: Tensor) -> Tensor:
        """(outputs, inputs, k, k) of the convolution -> what is convolved with."""
        return weight

    def unfold(self, gradient: Tensor) -> Tensor:
        """The transpose of `fold`."""
        return gradient

    def __call__(self, x: Tensor) -> Tensor:
        """(B, inputs, h, w) -> (B, outputs, h + border, w + border)."""
        return F.conv2d(x, self.weight, self.bias, padding=self.padding)

    def crop(self, full: Tensor) -> Tensor:
        """The "same" part of what `__call__` returns: (B, outputs, h, w)."""
        return self.conv.crop(full)

    def input_gradient(self, gradient: Tensor, x: Tensor) -> Tensor:
        """Gradient of `x` from that of the output (`crop` of it filled, its border zero)."""
        return self._gradients(gradient, x, [True, False, False])[0]

    def add_gradients(self, gradient: Tensor, x: Tensor) -> None:
        """Add the gradients of the weights, summed over the batch, to the parameters' `grad`, which must be there."""
        _, weight, bias = self._gradients(gradient, x, [False, True, self.has_bias])
        into_weight, into_bias = self.conv.weight.grad, self.conv.bias.grad
        assert into_weight is not None and into_bias is not None
        weight = self.unfold(weight.to(into_weight.dtype))
        if self.rows is not None:
            weight = weight * self.rows.backward[:, None, None, None]
        into_weight[:, self.columns] += weight
        if self.has_bias:
            bias = bias.to(into_bias.dtype)
            into_bias += bias if self.rows is None else bias * self.rows.backward

    def _gradients(self, gradient: Tensor, x: Tensor, wanted: list[bool]) -> tuple[Tensor, Tensor, Tensor]:
        outputs, padding = [gradient.shape[1]], [self.padding] * 2
        return torch.ops.aten.convolution_backward(
            gradient, x, self.weight_back, outputs, [1, 1], padding, [1, 1], False, [0, 0], 1, wanted
        )


class UpsampledKernel(Kernel):
    """The input channels of gates that are an upsampled map (nearest neighbour, x2), read before the upsampling.

    Output channels are the four pixels (p, q) = (0, 0), (0, 1), (1, 0), (1, 1), each with all rows of the gates.
    """

    def __init__(self, conv: nn.Module, dtype: torch.dtype, columns: slice) -> None:
        assert isinstance(conv, SameConv2d)
        k = conv.weight.shape[-1]
        before = k // 2 - (1 if conv.even and conv.first else 0)
        # Pixel 2i + p reads, with tap u, pixel i + (p + u - before) // 2 of the map.
        reads = [[(p + u - before) // 2 for u in range(k)] for p in (0, 1)]
        size = max(row[-1] - row[0] + 1 for row in reads)
        together = max(reads[0][-1], reads[1][-1]) - reads[0][0] + 1 == size
        self.offsets = [reads[0][0], reads[0][0] if together else reads[1][0]]
        taps = [
            [[float(read - offset == j) for read in row] for j in range(size)]
            for row, offset in zip(reads, self.offsets, strict=True)
        ]
        self.taps = torch.tensor(taps, dtype=conv.weight.dtype, device=conv.weight.device)  # (p, small tap, tap)
        self.outputs = len(conv.bias)
        super().__init__(conv, dtype, columns=columns, gates=True, bias=False)
        self.padding = max(-self.offsets[0], self.offsets[1] + size - 1)
        self.border = 2 * self.padding - size + 1

    def fold(self, weight: Tensor) -> Tensor:
        """(4R, inputs, k, k) -> (4 pixels * 4R, inputs, small k, small k)."""
        return torch.einsum("pju,oiuv,qlv->pqoijl", self.taps, weight, self.taps).flatten(0, 2)

    def unfold(self, gradient: Tensor) -> Tensor:
        """The transpose of `fold`."""
        pixels = gradient.unflatten(0, (2, 2, self.outputs))
        return torch.einsum("pju,pqoijl,qlv->oiuv", self.taps, pixels, self.taps)

    def pixels(self, full: Tensor) -> list[tuple[int, int, Tensor]]:
        """Parts (p, q, (B, 4R, h, w)) of what `__call__` returns: the pixels (2i + p, 2j + q) of the gates."""
        height, width = full.shape[2] - self.border, full.shape[3] - self.border
        top, left = ([offset + self.padding for offset in self.offsets] for _ in range(2))
        pixels = full.unflatten(1, (2, 2, self.outputs))
        return [
            (p, q, pixels[:, p, q, :, top[p] : top[p] + height, left[q] : left[q] + width])
            for p in (0, 1)
            for q in (0, 1)
        ]

    def add_to(self, y: Tensor, full: Tensor) -> None:
        """Add what `__call__` returns to the gates `y` (B, 4R, 2h, 2w)."""
        for p, q, part in self.pixels(full.to(y.dtype)):
            y[:, :, p::2, q::2] += part

    def collect(self, dy: Tensor, full: Tensor) -> None:
        """The transpose of `add_to`: from gradients of the gates to those of what `__call__` returns."""
        for p, q, part in self.pixels(full):
            part.copy_(dy[:, :, p::2, q::2])


def _gate_rows(conv: SameConv2d) -> _Rows:
    r = len(conv.bias) // 4

    def rows(gate: float, candidate: float) -> Tensor:
        return torch.tensor([gate] * (3 * r) + [candidate] * r, dtype=conv.bias.dtype, device=conv.bias.device)

    return _Rows(forward=rows(0.2, 2.0), backward=rows(0.2, 1.0), shift=rows(0.5, 0.0))


def tanh_from(x: Tensor) -> Tensor:
    """tanh(y) from x = 2 y, whose memory is used."""
    u = x.clamp_(max=40).expm1_()  # beyond, tanh is 1 in float64 too, and the exponential would overflow
    return u.div_(u + 2)
