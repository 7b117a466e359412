"""The frozen, validated configuration of a whole search, and its hashes. `search.config_reader` reads it from YAML.

Everything that can change a number belongs to one of two hashes: `space` (what is sampled) and `training`
(how a point becomes metrics). The name, the number of trials and the lease do not.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from search.config_section import PositiveInt, Section, nearest
from search.metric_sections import (
    MetricsSection,
    StoppingSection,
    metrics_hashed,
)
from search.space import Distribution, check_support, parse_distribution

FREE_TRAINING_KEYS = frozenset({"recompute_every", "tensorboard"})
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


class SearchSection(Section):
    """What is searched: name, algorithm, budget, seeds; how trials are held and kept.

    `checkpoints`: `file` where workers share the results folder, `gridfs` where they do not. `keep_best`: the weights
    of so many finished trials stay, the best by `guide`; None: of all.
    """

    name: str = Field(pattern=NAME_PATTERN)
    algorithm: Literal["rand", "tpe", "anneal"] = "rand"
    max_trials: PositiveInt = 95
    replicates: PositiveInt = 1
    seed: int = Field(default=0, ge=0)
    guide: str = "hms"
    lease_seconds: float = Field(default=180.0, gt=0)
    heartbeat_seconds: float = Field(default=30.0, gt=0)
    grace_seconds: float = Field(default=25.0, gt=0)
    checkpoints: Literal["file", "gridfs"] = "file"
    keep_best: PositiveInt | None = None

    @model_validator(mode="after")
    def _heartbeat_within_lease(self) -> "SearchSection":
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError(
                f"heartbeat_seconds is {self.heartbeat_seconds:g} but lease_seconds {self.lease_seconds:g}: "
                "a lease must outlive two heartbeats"
            )
        return self


class DataSection(Section):
    """The prepared video: `demo`, a name under `HMS_DATA/video`, or a path to a cache; frame size in pixels.

    `transfer`: further prepared videos on whose test recordings each network is tested when its trial ends. The tables
    get `mse_NAME`, `mse_NAME_status` and `mse_NAME_previous_frame` for each.
    """

    dataset: str = "demo"
    height: PositiveInt = 128
    width: PositiveInt = 160
    transfer: tuple[str, ...] = ()

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
    """PredNet: channels of A_l (and R_l) from layer 0 up, and the filter size where `space` gives none."""

    channels: tuple[PositiveInt, ...] = (3, 48, 96, 192)
    r_channels: tuple[PositiveInt, ...] | None = None
    filter_size: int = Field(default=3, ge=1, le=8)
    pixel_max: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _stacks(self) -> "NetworkSection":
        if self.channels[0] != 3:
            raise ValueError(f"channels[0] is {self.channels[0]}: layer 0 is the RGB frame and has 3 channels")
        if self.r_channels is not None and len(self.r_channels) != len(self.channels):
            raise ValueError(f"r_channels has {len(self.r_channels)} layers, channels {len(self.channels)}")
        return self


class TrainingSection(Section):
    """How a point is trained; see `prednet.train.TrainConfig`. What `space` samples overrides the values given here.

    `lr_drop_epoch`: so many epochs are trained at the full rate. `tensorboard`: write the learning curves as
    TensorBoard events too. It and `recompute_every`, which changes no more than the rounding of gradients, may differ
    in a resumed search.
    """

    epochs: PositiveInt = 150
    batch_size: PositiveInt = 4
    train_sequences: PositiveInt = 500
    val_sequences: PositiveInt = 100
    learning_rate: float = Field(default=1e-3, gt=0)
    nt: int = Field(default=10, ge=2)
    loss: Literal["L0", "Lall"] = "L0"
    adam: Literal["torch", "keras"] = "torch"
    lr_drop_epoch: PositiveInt | None = None
    lr_drop_factor: float = Field(default=0.1, gt=0)
    grad_clip: float | None = Field(default=None, gt=0)
    precision: Literal["fp32", "bf16"] = "fp32"
    deterministic: bool = False
    recompute_every: PositiveInt | None = None
    tensorboard: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    learner: Literal["prednet", "toy"] = "prednet"
    toy_seconds: float = Field(default=0.05, ge=0)


SBATCH_OWN = ("array", "error", "job_name", "open_mode", "output", "signal")


class SlurmSection(Section):
    """What each worker's Slurm job asks for; `additional` takes any option of sbatch, `setup` lines run before it.

    `gpus_per_worker` unset: one where the search trains on cuda. Both the setup and the options are readable by others
    on most clusters: no place for passwords.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    gpus_per_worker: int | None = Field(default=None, ge=0)
    cpus_per_worker: PositiveInt = 4
    memory_gb: float | None = Field(default=None, gt=0)
    minutes: PositiveInt = 1440
    requeue: bool = True
    setup: tuple[str, ...] = ()
    additional: dict[str, bool | int | float | str] = Field(default_factory=dict)

    @field_validator("additional")
    @classmethod
    def _not_ours(cls, value: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        taken = sorted(key for key in value if key.replace("-", "_") in SBATCH_OWN)
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by `hms` itself, without which it could not watch its jobs")
        return value


class LaunchSection(Section):
    """Where workers run: processes of this machine, or Slurm jobs. It changes no number: no part of the hashes."""

    kind: Literal["local", "slurm"] = "local"
    workers: PositiveInt | None = None
    slurm: SlurmSection = SlurmSection()


class SearchConfig(Section):
    """The whole configuration. `space` maps a hyperparameter's name to its distribution."""

    search: SearchSection
    space: dict[str, Distribution]
    data: DataSection = DataSection()
    network: NetworkSection = NetworkSection()
    training: TrainingSection = TrainingSection()
    metrics: MetricsSection = MetricsSection()
    stopping: StoppingSection = StoppingSection()
    launch: LaunchSection = LaunchSection()

    @field_validator("space", mode="before")
    @classmethod
    def _distributions(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not value:
            raise ValueError("the search space is empty: give at least one hyperparameter a distribution")
        return {name: parse_distribution(name, spec) for name, spec in value.items()}

    @model_validator(mode="after")
    def _fits(self) -> "SearchConfig":
        layers = len(self.network.channels)
        known = searchable_names(layers)
        for name in self.space:
            if name not in known:
                raise ValueError(f"space.{name} is no hyperparameter{nearest(name, known)}")
            check_support(name, self.space[name])
        factor = 2 ** (layers - 1)
        if self.data.height % factor or self.data.width % factor:
            raise ValueError(
                f"frames of {self.data.height}x{self.data.width} do not halve {layers - 1} times: with {layers} "
                f"layers data.height and data.width must divide by {factor}"
            )
        for key, metric in (("search.guide", self.search.guide), ("stopping.metric", self.stopping.metric)):
            if metric not in self.metrics.names:
                raise ValueError(f"{key} is `{metric}`, which is not logged{nearest(metric, list(self.metrics.names))}")
        if self.stopping.window % self.metrics.every:
            raise ValueError(
                f"stopping.window is {self.stopping.window} epochs, no multiple of metrics.every ({self.metrics.every})"
            )
        return self

    def document(self) -> dict[str, Any]:
        """The resolved configuration as plain JSON values."""
        return self.model_dump(mode="json")

    def hashes(self) -> dict[str, str]:
        """sha256 of the two parts that a resumed search may not change: `space` and `training`."""
        document = self.document()
        search = document["search"]
        training = {key: document[key] for key in ("data", "network", "training", "metrics", "stopping")}
        training["training"] = {k: v for k, v in document["training"].items() if k not in FREE_TRAINING_KEYS}
        if not self.data.transfer:  # which an earlier version did not have
            training["data"] = {key: value for key, value in document["data"].items() if key != "transfer"}
        training |= metrics_hashed(document)
        training["search"] = {key: search[key] for key in ("algorithm", "seed", "guide", "replicates")}
        return {"space": digest(document["space"]), "training": digest(training)}

    def gpus_per_worker(self) -> int:
        """GPUs that each worker's Slurm job asks for."""
        given = self.launch.slurm.gpus_per_worker
        return int(self.training.device == "cuda") if given is None else given

    def requires(self) -> dict[str, str]:
        """What a worker must offer: device class and precision."""
        return {"device_class": self.training.device, "precision": self.training.precision}


def transfer_column(name: str) -> str:
    """The column of the error on a transfer dataset, by its name or the last part of its path."""
    return f"mse_{Path(name).name}"


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def searchable_names(layers: int) -> list[str]:
    """Names that may stand in `space` for a network of so many layers; layers count from 1 as in the paper."""
    names = ["epochs", "batch_size", "train_sequences", "val_sequences", "learning_rate", "loss"]
    names += [f"filter_size_A{layer}" for layer in range(1, layers)]
    names += [f"filter_size_{unit}{layer}" for unit in ("Ahat", "R") for layer in range(1, layers + 1)]
    return names
