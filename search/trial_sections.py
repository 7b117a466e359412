"""The parts of the configuration about one trial: its video, its network, its training."""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from search.config_section import NAME_PATTERN, PositiveInt, Section


class DataSection(Section):
    """The prepared video and the size of its frames."""

    dataset: str = "demo"
    """The video to train on: `demo`, a name that `hms data ... --name` prepared, or the path of a prepared cache."""
    height: PositiveInt = 128
    """Height of the frames in pixels; divides by 2 once for each layer above the lowest (by 8 with four layers)."""
    width: PositiveInt = 160
    """Width of the frames in pixels; divides like the height."""
    transfer: tuple[str, ...] = ()
    """Further prepared videos, on whose test recordings each network is tested when its trial ends. The tables get
    `mse_NAME`, `mse_NAME_status` and `mse_NAME_previous_frame` for each."""

    @field_validator("transfer")
    @classmethod
    def _columns_of_their_own(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        taken = {"mse", "mse_status", "mse_previous_frame", "mse_test", "mse_best"}
        for name in value:
            column = transfer_column(name)
            mine = {column, f"{column}_status", f"{column}_previous_frame"}
            if not re.fullmatch(NAME_PATTERN, Path(name).name) or mine & taken:
                raise ValueError(f"`{name}` would give no columns of its own: prepare it again with another --name")
            taken |= mine
        return value

    @model_validator(mode="after")
    def _another(self) -> "DataSection":
        if self.dataset in self.transfer:
            raise ValueError(f"transfer names `{self.dataset}`, the training data: its test error is mse_test already")
        return self

    @property
    def transfer_columns(self) -> dict[str, str]:
        """`mse_NAME` of each transfer dataset -> what `transfer` calls it."""
        return {transfer_column(name): name for name in self.transfer}


class NetworkSection(Section):
    """The PredNet; what `space` samples overrides the filter size given here."""

    channels: tuple[PositiveInt, ...] = (3, 48, 96, 192)
    """Channels of A_l (the input and targets of layer l) from the lowest layer up; the first are the RGB frame's 3."""
    r_channels: tuple[PositiveInt, ...] | None = None
    """Channels of R_l (the representation) from the lowest layer up, as many as `channels`; unset: the same."""
    filter_size: int = Field(default=3, ge=1, le=8)
    """Side of the filters for which `space` samples none, in units of the layer."""
    pixel_max: float = Field(default=1.0, gt=0)
    """Largest value of a predicted pixel (the saturation of the lowest prediction); frames lie in [0, 1]."""

    @model_validator(mode="after")
    def _stacks(self) -> "NetworkSection":
        if self.channels[0] != 3:
            raise ValueError(f"channels[0] is {self.channels[0]}: layer 0 is the RGB frame and has 3 channels")
        if self.r_channels is not None and len(self.r_channels) != len(self.channels):
            raise ValueError(f"r_channels has {len(self.r_channels)} layers, channels {len(self.channels)}")
        return self


class TrainingSection(Section):
    """How a point is trained; see `prednet.train.TrainConfig`. What `space` samples overrides the values given here."""

    epochs: PositiveInt = 150
    """How many epochs a network is trained at most; the stopping rule may end it before."""
    batch_size: PositiveInt = 4
    """Sequences a training step."""
    train_sequences: PositiveInt = 500
    """Training sequences an epoch, drawn from all of the training split."""
    val_sequences: PositiveInt = 100
    """Validation sequences an epoch. They give the validation loss, which chooses `best.pt`, and no metric."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Learning rate of Adam."""
    nt: int = Field(default=10, ge=2)
    """Frames a sequence."""
    loss: Literal["L0", "Lall"] = "L0"
    """`L0`: the error of the lowest layer; `Lall`: of all layers, with weights 1, 0.1, 0.1, ..."""
    adam: Literal["torch", "keras"] = "torch"
    """Where Adam has its epsilon: as in torch, or outside of the bias correction as in the original Keras code."""
    lr_drop_epoch: PositiveInt | None = None
    """So many epochs are trained at the full rate, the rest at a lower one; unset: the rate is constant, as in the
    paper's search."""
    lr_drop_factor: float = Field(default=0.1, gt=0)
    """What the rate is multiplied by after `lr_drop_epoch`."""
    grad_clip: float | None = Field(default=None, gt=0)
    """Largest L2 norm of all gradients together; unset: gradients are left as they are."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Arithmetic of the convolutions in training; evaluation is always float32."""
    deterministic: bool = False
    """On a GPU, use only kernels that give the same bits each time (slower). On a CPU it changes nothing."""
    recompute_every: PositiveInt | None = None
    """Keep the units of so many steps at a time and compute them again on the way back: less memory, slower, the same
    gradients up to rounding. Unset: keep all. It may differ when a search is continued."""
    tensorboard: bool = False
    """Write the learning curves as TensorBoard events too. It may differ when a search is continued."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Class of the devices that trials ask for; `auto` becomes what the machine has when the search is made."""
    learner: Literal["prednet", "toy"] = "prednet"
    """`toy` trains nothing and invents numbers: for trying a cluster, a store or a launcher in seconds."""
    toy_seconds: float = Field(default=0.05, ge=0)
    """How long an epoch of the `toy` learner takes, in seconds."""


def transfer_column(name: str) -> str:
    """The column of the error on a transfer dataset, by its name or the last part of its path."""
    return f"mse_{Path(name).name}"
