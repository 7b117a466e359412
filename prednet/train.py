"""Training: one object that owns the network, the optimiser and the device, and takes uint8 batches."""

from __future__ import annotations

import math
import os
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prednet.errors import CheckpointError, DataError, Diverged, ModelError
from prednet.graph import StepRunner
from prednet.model import PredNet
from prednet.recurrence import Recurrence, layer_weights

EXPLODED_LOSS = 1e3
EXPLODED_WEIGHT = 1e4
# Settings that change rounding at most: training may continue with other values of them.
FREE_SETTINGS = frozenset({"recompute_every"})


@dataclass(frozen=True)
class TrainConfig:
    """How a network is trained (defaults: Lotter et al. 2017 with a constant rate, as in the search's paper).

    Attributes:
        loss: `L0`, the error of the lowest layer, or `Lall`, all layers with weights [1, 0.1, ...].
        adam: `torch`, or `keras`, which places epsilon (1e-7) outside of the bias correction.
        learning_rate: of Adam; above 0.
        lr_drop_epoch: first epoch, counted from 0, that uses `learning_rate * lr_drop_factor`; None: never.
        lr_drop_factor: see above; Lotter et al. drop to a tenth at epoch 75 of 150.
        precision: `fp32`, or `bf16`, convolutions in bfloat16 with everything else in float32.
        grad_clip: largest L2 norm of all gradients together; None: no clipping.
        recompute_every: keep the units of this many steps at a time and compute them a second time on the way back:
            less memory, for long sequences or large batches, and the same loss and gradients up to the rounding of
            sums over steps. None: keep all.
        deterministic: on CUDA, only kernels that give the same bits each time (slower); see `be_deterministic`. On a
            CPU it changes nothing.

    Raises:
        ModelError: for a value outside its range; the message quotes it.
    """

    loss: Literal["L0", "Lall"] = "L0"
    adam: Literal["torch", "keras"] = "torch"
    learning_rate: float = 1e-3
    lr_drop_epoch: int | None = None
    lr_drop_factor: float = 0.1
    precision: Literal["fp32", "bf16"] = "fp32"
    grad_clip: float | None = None
    recompute_every: int | None = None
    deterministic: bool = False

    def __post_init__(self) -> None:
        for name, choices in (("loss", ("L0", "Lall")), ("adam", ("torch", "keras")), ("precision", ("fp32", "bf16"))):
            if getattr(self, name) not in choices:
                raise ModelError(f"{name} is {getattr(self, name)!r}: choose {' or '.join(map(repr, choices))}")
        for name in ("learning_rate", "lr_drop_factor", "grad_clip"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ModelError(f"{name} is {value}: give a number above 0")
        if self.lr_drop_epoch is not None and self.lr_drop_epoch < 0:
            raise ModelError(f"lr_drop_epoch is {self.lr_drop_epoch}: epochs are counted from 0")
        if self.recompute_every is not None and self.recompute_every < 1:
            raise ModelError(f"recompute_every is {self.recompute_every}: give a number of steps, 1 or more")


class Trainer:
    """Trains one network on one device.

    Args:
        model: moved to the device, and changed in place by every `step`.
        config: loss, optimiser, precision.
        device: as torch names it: "cpu", "cuda", "cuda:1".

    Raises:
        ModelError: when the device is not there.
    """

    def __init__(self, model: PredNet, config: TrainConfig, device: str = "cpu") -> None:
        self.config = config
        if config.deterministic and device.startswith("cuda"):
            be_deterministic()
        self.device = find_device(device)
        self.model = model.to(self.device)
        self.epoch = 0
        self.steps = 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, foreach=True)
        weights, bf16 = layer_weights(config.loss, model.config.n_layers), config.precision == "bf16"
        every = config.recompute_every
        self._runner = StepRunner(lambda: Recurrence(model, weights, bf16=bf16, recompute_every=every), self.device)

    @property
    def learning_rate(self) -> float:
        """The rate that the current epoch uses."""
        config = self.config
        dropped = config.lr_drop_epoch is not None and self.epoch >= config.lr_drop_epoch
        return config.learning_rate * (config.lr_drop_factor if dropped else 1.0)

    def start_epoch(self, epoch: int) -> None:
        """Set the learning rate of an epoch, counted from 0."""
        self.epoch = epoch

    def step(self, frames: NDArray[np.uint8]) -> float:
        """One update of the weights.

        Args:
            frames: (B, T, H, W, C) uint8.

        Returns:
            The loss before the update.

        Raises:
            Diverged: see `check`; the weights are left as they were.
            DataError, ModelError: frames of another type, shape or size.
        """
        measured = self._runner.step(self._pixels(frames))
        loss, norm, largest = measured.tolist()  # the only wait for the device in a step
        self.check(loss, "loss", EXPLODED_LOSS * self.model.config.pixel_max)
        self.check(norm, "gradient norm")
        self.check(largest, "largest weight", EXPLODED_WEIGHT)
        if self.config.grad_clip is not None:
            torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.grad_clip, measured[1])
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
            if self.config.adam == "keras":
                group["eps"] = 1e-7 / math.sqrt(1 - 0.999 ** (self.steps + 1))
        self.optimizer.step()
        self.steps += 1
        return loss

    def loss(self, frames: NDArray[np.uint8]) -> float:
        """The loss of a batch, (B, T, H, W, C) uint8, without learning from it.

        Raises:
            Diverged: see `check`.
        """
        loss = float(self._runner.loss(self._pixels(frames)))
        self.check(loss, "validation loss", EXPLODED_LOSS * self.model.config.pixel_max)
        return loss

    def check(self, value: float, what: str, bound: float = math.inf) -> None:
        """Refuse a value that no healthy network reaches.

        With `L0` a loss is at most pixel_max / 2, and healthy networks stay below pixel_max with `Lall` too: above
        1,000 pixel_max it has exploded (`EXPLODED_LOSS`). With `L0` the prediction saturates and hides an explosion; a
        weight above 10,000 shows it (`EXPLODED_WEIGHT`), where healthy ones are below 10.

        Raises:
            Diverged: the value is NaN, infinite or above the bound.
        """
        if not (math.isfinite(value) and value <= bound):
            raise Diverged(
                f"the {what} became {value:.6g} at step {self.steps} (epoch {self.epoch}, learning rate "
                f"{self.learning_rate:g}): lower learning_rate or set grad_clip, such as 1.0"
            )

    def _pixels(self, frames: NDArray[np.uint8]) -> Tensor:
        """uint8 (B, T, H, W, C) -> (T, B, H, W, C), in pinned memory for a GPU, from where copies run alongside.

        The allocator of pinned memory gives a block out again only when the copies from it are done.
        """
        if frames.dtype != np.uint8 or frames.ndim != 5:
            raise DataError(
                f"frames are {frames.dtype} of shape {frames.shape}: give uint8 (batch, time, height, width, channels)"
            )
        by_time = frames.swapaxes(0, 1)
        pixels = torch.empty(by_time.shape, dtype=torch.uint8, pin_memory=self.device.type == "cuda")
        np.copyto(pixels.numpy(), by_time)
        return pixels

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next step depends on, but the data: weights, optimiser, counters, settings."""
        return {
            "config": self.model.config.to_dict(),
            "train_config": asdict(self.config),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "steps": self.steps,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a `state_dict`, exactly.

        Raises:
            CheckpointError: when it belongs to another architecture or other training settings.
        """
        for name, ours in (("config", self.model.config.to_dict()), ("train_config", asdict(self.config))):
            stored = state[name]
            compared = [key for key in ours if key in stored and key not in FREE_SETTINGS]
            if changed := [key for key in compared if stored[key] != ours[key]]:
                listed = ", ".join(f"{key}: {stored[key]} -> {ours[key]}" for key in changed)
                raise CheckpointError(f"the checkpoint was trained with other settings ({listed}): restore them")
        self.model.load_state_dict(state["model"])
        # torch would share the moments of Adam with `state`.
        self.optimizer.load_state_dict(deepcopy(state["optimizer"]))
        self.epoch, self.steps = int(state["epoch"]), int(state["steps"])


def be_deterministic() -> None:
    """Make this process use only kernels that give the same bits each time; an operation without one raises.

    Call it before CUDA starts: cuBLAS reads its workspace setting once. A search does so in the trial's own process.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)
    # It would write NaN into every fresh buffer, to expose reads of what was never written: a check, not a need.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def find_device(name: str) -> torch.device:
    """The torch device of that name.

    Raises:
        ModelError: when torch doesn't know it or the machine doesn't have it.
    """
    try:
        device = torch.device(name)
        if device.type == "cuda":
            # By default convolutions would run in TF32, with 10 bits of mantissa, and `fp32` would not mean float32.
            torch.backends.cudnn.allow_tf32 = False
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"device {name!r} can't be used here ({reason}): name another device, such as cpu") from error
    return device
