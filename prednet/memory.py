"""How much memory a training step takes, before any is taken: the step itself, run on tensors that have no contents.

PyTorch's `meta` device runs every operation on shapes alone. Counting the tensors that live at each moment therefore
measures what the training code really keeps, whatever it keeps.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from prednet.config import PredNetConfig
from prednet.cost import count_parameters
from prednet.model import PredNet
from prednet.train import TrainConfig, Trainer


@dataclass(frozen=True)
class StepMemory:
    """Bytes of tensors on the device: `peak` within a training step, `kept` between two steps."""

    peak: int
    kept: int


def training_memory(
    config: PredNetConfig,
    training: TrainConfig,
    height: int,
    width: int,
    nt: int,
    batch: int,
    graphs: Sequence[int] = (),
) -> StepMemory:
    """What a trainer holds: weights, gradients, Adam's two moments, and what the sequences leave on the way.

    Left out: what the framework itself takes (a process with torch, a CUDA context) and the workspaces of its
    convolutions. All filters count as even, which need one more row and column.

    Args:
        graphs: batch sizes of the CUDA graphs that are kept beside (`prednet.graph`), each with memory of its own.

    Raises:
        ModelError: when the frame size doesn't fit the network.
    """
    config.check_frames(height, width)
    plain = replace(
        config,
        a_filter_sizes=(2,) * (config.n_layers - 1),
        ahat_filter_sizes=(2,) * config.n_layers,
        r_filter_sizes=(2,) * config.n_layers,
    )
    # Of the settings only these decide what is kept: fewer different ones, fewer runs.
    settings = TrainConfig(loss=training.loss, precision=training.precision, recompute_every=training.recompute_every)
    eager = _without_weights(plain, settings, height, width, nt, batch)
    copy = 4 * count_parameters(config)
    for_convolutions = 2 * (copy // 2 if training.precision == "bf16" else copy)
    kept = eager.kept + 4 * copy + for_convolutions  # weights, gradients, two moments
    kept += sum(_without_weights(plain, settings, height, width, nt, size).peak + for_convolutions for size in graphs)
    # Adam makes two more copies of the weights while it steps.
    return StepMemory(max(eager.peak - eager.kept, 2 * copy) + kept, kept)


@lru_cache(maxsize=256)
def _without_weights(
    config: PredNetConfig, training: TrainConfig, height: int, width: int, nt: int, batch: int
) -> StepMemory:
    """The memory of a step of a network with small filters, whose weights hardly count."""
    trainer = Trainer(PredNet(config), training, "meta")
    with _LiveTensors() as live:
        pixels = torch.empty((nt, batch, height, width, config.stack_sizes[0]), dtype=torch.uint8, device="meta")
        trainer._runner.step(pixels)
    return StepMemory(live.peak, live.now)


class _LiveTensors(TorchDispatchMode):
    """Bytes of the storages that operations have made and that still exist, and the most of them at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = operation(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                self._see(leaf.untyped_storage())
        return made

    def _see(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return
        self._known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._drop, key, size)

    def _drop(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size
