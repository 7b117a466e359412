"""One step's loss, gradients and norms from a uint8 batch; on a GPU replayed as one CUDA graph.

The recurrence launches thousands of small kernels a step, which a GPU finishes faster than Python starts them. A graph
starts them all at once. It is tied to the addresses that it was captured with: parameters and gradients must be changed
in place (the recurrence and Adam do), and the model must not move to another device or dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from prednet.recurrence import Recurrence

KEPT = 2
WARM_UPS = 3


class StepRunner:
    """Runs a `Recurrence` on uint8 batches.

    On CUDA the first two shapes that come a second time each get a graph with buffers of its own: in an epoch these are
    the full batch and the smaller last one. Everything else runs kernel by kernel.

    Args:
        new_recurrence: makes a recurrence of the network that is trained, without buffers.
        device: of the network.
    """

    def __init__(self, new_recurrence: Callable[[], Recurrence], device: torch.device) -> None:
        self.device = device
        self._new = new_recurrence
        self._eager = new_recurrence()
        self._seen: set[torch.Size] = set()
        self._graphs: dict[torch.Size, _Graph] = {}

    def loss(self, pixels: Tensor) -> Tensor:
        """The loss, a scalar on the device, of (T, B, H, W, C) uint8 in (pinned) memory of the host."""
        return self._eager.loss(frames_of(pixels.to(self.device, non_blocking=True), self._eager))

    def step(self, pixels: Tensor) -> Tensor:
        """Sets all gradients; (3,): the loss, the L2 norm of all gradients, and the largest absolute weight.

        What is returned is overwritten by the next step.
        """
        shape = pixels.shape
        if shape in self._graphs:
            return self._graphs[shape].replay(pixels)
        if self.device.type == "cuda" and shape in self._seen and len(self._graphs) < KEPT:
            self._graphs[shape] = _Graph(self._new(), pixels, self.device)
            return self._graphs[shape].replay(pixels)
        self._seen.add(shape)
        return loss_and_norms(self._eager, pixels.to(self.device, non_blocking=True))


class _Graph:
    """`loss_and_norms` for batches of one shape, captured once. It keeps the recurrence, whose buffers it points to."""

    def __init__(self, recurrence: Recurrence, pixels: Tensor, device: torch.device) -> None:
        self.recurrence = recurrence
        # The current device matters: streams and graphs are made on it.
        with torch.cuda.device(device):
            self.input = torch.empty_like(pixels, device=device)
            self.input.copy_(pixels, non_blocking=True)
            stream = torch.cuda.Stream(device)
            stream.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(stream):
                # Libraries choose and initialise here what they must not during the capture.
                for _ in range(WARM_UPS):
                    loss_and_norms(recurrence, self.input)
            torch.cuda.current_stream(device).wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            # "thread_local": threads of the caller's (a data loader that pins memory) may go on using CUDA.
            with torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local"):
                self.output = loss_and_norms(recurrence, self.input)

    def replay(self, pixels: Tensor) -> Tensor:
        """As `StepRunner.step`; capturing alone has computed nothing."""
        with torch.cuda.device(self.input.device):
            self.input.copy_(pixels, non_blocking=True)
            self.graph.replay()
        return self.output


def frames_of(pixels: Tensor, recurrence: Recurrence) -> Tensor:
    """(T, B, H, W, C) uint8 -> (B, T, C, H, W) floats in [0, pixel_max], in the dtype of the weights.

    Time lies outermost in memory, so that each step's frame is one dense channels-last block.
    """
    model = recurrence.model
    dtype = next(model.parameters()).dtype
    return pixels.to(dtype).mul_(model.config.pixel_max / 255).permute(1, 0, 4, 2, 3)


def loss_and_norms(recurrence: Recurrence, pixels: Tensor) -> Tensor:
    """See `StepRunner.step`; nothing in it waits for the device."""
    loss = recurrence.loss_and_gradients(frames_of(pixels, recurrence))
    parameters = [parameter.detach() for parameter in recurrence.model.parameters()]
    gradients = [p.grad for p in recurrence.model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    largest = torch.nn.utils.get_total_norm(parameters, norm_type=float("inf"))
    return torch.stack([loss, norm, largest])
