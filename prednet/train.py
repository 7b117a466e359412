"""Training: one object that owns the network, the optimiser and the device, and takes uint8 batches."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prednet.errors import CheckpointError, DataError, Diverged, ModelError
from prednet.model import PredNet
from prednet.recurrence import Recurrence, layer_weights


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
        self.device = find_device(device)
        self.model = model.to(self.device)
        self.epoch = 0
        self.steps = 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, foreach=True)
        weights = layer_weights(config.loss, model.config.n_layers)
        self._recurrence = Recurrence(model, weights, bf16=config.precision == "bf16")

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
            Diverged: the loss or a gradient is NaN or infinite; the weights are left as they were.
            DataError, ModelError: frames of another type, shape or size.
        """
        loss = float(self._recurrence.loss_and_gradients(self._to_device(frames)))
        self._check(loss, "loss")
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        self._check(float(norm), "gradient norm")
        if self.config.grad_clip is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.config.grad_clip, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
            if self.config.adam == "keras":
                group["eps"] = 1e-7 / math.sqrt(1 - 0.999 ** (self.steps + 1))
        self.optimizer.step()
        self.steps += 1
        return loss

    def loss(self, frames: NDArray[np.uint8]) -> float:
        """The loss of a batch, (B, T, H, W, C) uint8, without learning from it; NaN when the network is broken."""
        return float(self._recurrence.loss(self._to_device(frames)))

    def _check(self, value: float, what: str) -> None:
        if not math.isfinite(value):
            raise Diverged(
                f"the {what} became {value} at step {self.steps} (epoch {self.epoch}, learning rate "
                f"{self.learning_rate:g}): lower learning_rate or set grad_clip, such as 1.0"
            )

    def _to_device(self, frames: NDArray[np.uint8]) -> Tensor:
        """uint8 (B, T, H, W, C) -> float (B, T, C, H, W) in [0, pixel_max], converted on the device."""
        if frames.dtype != np.uint8 or frames.ndim != 5:
            raise DataError(
                f"frames are {frames.dtype} of shape {frames.shape}: give uint8 (batch, time, height, width, channels)"
            )
        pixels = torch.from_numpy(np.array(frames.swapaxes(0, 1), order="C"))
        if self.device.type == "cuda":
            pixels = pixels.pin_memory()
        moved = pixels.to(self.device, non_blocking=True)
        dtype = next(self.model.parameters()).dtype
        # Time lies outermost in memory, so that each step's frame is one dense channels-last block.
        return moved.to(dtype).mul_(self.model.config.pixel_max / 255).permute(1, 0, 4, 2, 3)

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
            if changed := {k: (state[name].get(k), v) for k, v in ours.items() if state[name].get(k) != v}:
                listed = ", ".join(f"{key}: {old} -> {new}" for key, (old, new) in changed.items())
                raise CheckpointError(f"the checkpoint was trained with other settings ({listed}): restore them")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.steps = int(state["epoch"]), int(state["steps"])


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
        raise ModelError(f"device {name!r} can't be used here ({reason}): try --devices cpu") from error
    return device
