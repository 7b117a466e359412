"""The frozen, validated configuration of a whole search, and its hashes. `search.config_reader` reads it from YAML.

Everything that can change a number belongs to one of two hashes: `space` (what is sampled) and `training`
(how a point becomes metrics). The name, the number of trials and the lease do not.
"""

import hashlib
import json
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from search.config_section import NAME_PATTERN, PositiveInt, Section, nearest
from search.launch_section import LaunchSection
from search.metric_sections import (
    MetricsSection,
    StoppingSection,
    metrics_hashed,
)
from search.space import Distribution, check_support, parse_distribution
from search.trial_sections import DataSection, NetworkSection, TrainingSection

FREE_TRAINING_KEYS = frozenset({"recompute_every", "tensorboard"})


class SearchSection(Section):
    """What is searched: name, algorithm, budget, seeds; how trials are held and kept."""

    name: str = Field(pattern=NAME_PATTERN)
    """Name of the search (HyperOpt's `exp_key`): letters, digits, `_`, `.` and `-`, at most 64. The same name continues
    it."""
    algorithm: Literal["rand", "tpe", "anneal"] = "rand"
    """HyperOpt's algorithm that proposes points: random search (the paper's), tree of Parzen estimators, annealing."""
    max_trials: PositiveInt = 95
    """How many networks are trained, replicates included. Raise it to continue a finished search."""
    replicates: PositiveInt = 1
    """With how many seeds each sampled point is trained."""
    seed: int = Field(default=0, ge=0)
    """Seed of the proposals; with the trial's number it gives the seed of each network."""
    guide: str = "hms"
    """The metric that `tpe` and `anneal` optimise, and `keep_best` goes by: any that is logged."""
    lease_seconds: float = Field(default=180.0, gt=0)
    """So long after its worker's last sign of life a trial may be given to another; at least two heartbeats."""
    heartbeat_seconds: float = Field(default=30.0, gt=0)
    """How often a worker renews its lease, in seconds."""
    grace_seconds: float = Field(default=25.0, gt=0)
    """How long a worker that is told to stop has for its checkpoint before it is ended, in seconds."""
    checkpoints: Literal["file", "gridfs"] = "file"
    """Where checkpoints lie: `file`, the results folder that workers share; `gridfs`, MongoDB, where they do not."""
    keep_best: PositiveInt | None = None
    """The weights of so many finished trials stay, the best by `guide`; unset: of all."""

    @model_validator(mode="after")
    def _heartbeat_within_lease(self) -> "SearchSection":
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError(
                f"heartbeat_seconds is {self.heartbeat_seconds:g} but lease_seconds {self.lease_seconds:g}: "
                "a lease must outlive two heartbeats"
            )
        return self


class SearchConfig(Section):
    """The whole configuration. `space` maps a hyperparameter's name to its distribution."""

    search: SearchSection
    space: dict[str, Distribution]
    """What is sampled: a hyperparameter's name -> its distribution. See below."""
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
        return {part: digest(value) for part, value in hashed(self.document()).items()}

    def gpus_per_worker(self) -> int:
        """GPUs that each worker's Slurm job asks for."""
        given = self.launch.slurm.gpus_per_worker
        return int(self.training.device == "cuda") if given is None else given

    def requires(self) -> dict[str, str]:
        """What a worker must offer: device class and precision."""
        return {"device_class": self.training.device, "precision": self.training.precision}


def hashed(document: dict[str, Any]) -> dict[str, Any]:
    """Of a resolved configuration, what each of the two hashes is made of: part -> plain JSON values."""
    search = document["search"]
    training = {key: document[key] for key in ("data", "network", "training", "metrics", "stopping")}
    training["training"] = {k: v for k, v in document["training"].items() if k not in FREE_TRAINING_KEYS}
    if not document["data"]["transfer"]:  # which an earlier version did not have
        training["data"] = {key: value for key, value in document["data"].items() if key != "transfer"}
    training |= metrics_hashed(document)
    training["search"] = {key: search[key] for key in ("algorithm", "seed", "guide", "replicates")}
    return {"space": document["space"], "training": training}


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def searchable_names(layers: int) -> list[str]:
    """Names that may stand in `space` for a network of so many layers; layers count from 1 as in the paper."""
    names = ["epochs", "batch_size", "train_sequences", "val_sequences", "learning_rate", "loss"]
    names += [f"filter_size_A{layer}" for layer in range(1, layers)]
    names += [f"filter_size_{unit}{layer}" for unit in ("Ahat", "R") for layer in range(1, layers + 1)]
    return names
