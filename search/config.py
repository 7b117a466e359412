"""The frozen, validated configuration of a whole search, and its hashes. `search.config_reader` reads it from YAML.

Everything that can change a number belongs to one of two hashes: `space` (what is sampled) and `training`
(how a point becomes metrics). The name, the number of trials and the lease do not.
"""

import difflib
import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from search.space import Distribution, check_support, parse_distribution

FREE_TRAINING_KEYS = frozenset({"recompute_every", "tensorboard"})
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


class Section(BaseModel):
    """A frozen part of the configuration in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


PositiveInt = Annotated[int, Field(ge=1)]


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
    guide: Literal["hms", "mse", "accuracy"] = "hms"
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
    """The prepared video: `demo`, a name under `HMS_DATA/video`, or a path to a cache; frame size in pixels."""

    dataset: str = "demo"
    height: PositiveInt = 128
    width: PositiveInt = 160


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


class HmsSection(Section):
    """Human-model similarity: frames a static clip, how 175x175 stimuli map to the network's size."""

    frames: int = Field(default=5, ge=2)
    mapping: Literal["stretch", "pad", "crop"] = "stretch"


class MseSection(Section):
    """Next-frame MSE: at most this many fixed windows, evenly spaced over the validation recordings."""

    max_windows: PositiveInt | None = None


class MatchingSection(Section):
    """Object matching: the Gazoobian pool and the trials drawn from it."""

    preset: Literal["mix_m", "mix_l"] = "mix_l"
    objects: int = Field(default=100, ge=2)
    views: int = Field(default=12, ge=2)
    trials: PositiveInt = 500
    gallery: int = Field(default=50, ge=2)
    same_family: int = Field(default=7, ge=0)
    seed: int = Field(default=0, ge=0)
    frames: int = Field(default=5, ge=2)

    @model_validator(mode="after")
    def _gallery_fits(self) -> "MatchingSection":
        if self.gallery > self.objects:
            raise ValueError(
                f"gallery is {self.gallery} but only {self.objects} objects exist: each image of a gallery "
                "shows another object; raise metrics.matching.objects or lower metrics.matching.gallery"
            )
        return self


class MetricsSection(Section):
    """The three metrics and how often (epochs) they are logged; epoch 0 and the last are always logged."""

    every: PositiveInt = 5
    hms: HmsSection = HmsSection()
    mse: MseSection = MseSection()
    matching: MatchingSection = MatchingSection()


class StoppingSection(Section):
    """The stopping rule; see `search.stopping`. `window` in epochs, both ends included."""

    rule: Literal["stability", "threshold", "none"] = "stability"
    window: PositiveInt = 25
    tolerance: float = Field(default=0.01, ge=0)
    ddof: Literal[0, 1] = 0
    min_epochs: int = Field(default=0, ge=0)
    threshold: float | None = None
    threshold_sd: float | None = None
    threshold_after: PositiveInt = 20
    collapsed_after: PositiveInt = 6

    @model_validator(mode="after")
    def _threshold_given(self) -> "StoppingSection":
        if self.rule == "threshold" and (self.threshold is None) == (self.threshold_sd is None):
            raise ValueError("rule `threshold` needs exactly one of threshold (0.161 in the paper) and threshold_sd")
        return self


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
    additional: dict[str, bool | int | float | str] = {}

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
        training["search"] = {key: search[key] for key in ("algorithm", "seed", "guide", "replicates")}
        return {"space": digest(document["space"]), "training": digest(training)}

    def gpus_per_worker(self) -> int:
        """GPUs that each worker's Slurm job asks for."""
        given = self.launch.slurm.gpus_per_worker
        return int(self.training.device == "cuda") if given is None else given

    def requires(self) -> dict[str, str]:
        """What a worker must offer: device class and precision."""
        return {"device_class": self.training.device, "precision": self.training.precision}


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def searchable_names(layers: int) -> list[str]:
    """Names that may stand in `space` for a network of so many layers; layers count from 1 as in the paper."""
    names = ["epochs", "batch_size", "train_sequences", "val_sequences", "learning_rate", "loss"]
    names += [f"filter_size_A{layer}" for layer in range(1, layers)]
    names += [f"filter_size_{unit}{layer}" for unit in ("Ahat", "R") for layer in range(1, layers + 1)]
    return names


def nearest(word: str, choices: list[str]) -> str:
    """`: did you mean X?`, or the list of valid names where none is near."""
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    return f": did you mean `{close[0]}`?" if close else f"; valid names: {', '.join(choices)}"
