"""The trials that a search will run, and what each costs in operations and bytes; nothing is trained or measured."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from prednet.config import PredNetConfig
from prednet.cost import checkpoint_bytes, count_parameters, flops_per_sequence, network_file_bytes
from prednet.features import fitting_batch
from prednet.memory import training_memory
from prednet.model import PredNet
from search.artifacts import SHOWN_WINDOWS
from search.attempt import KEPT_CHECKPOINTS
from search.config import SearchConfig
from search.driver import propose_point
from search.networks import TrialPlan, plan_trial
from search.plan.data import DataFacts
from search.space import expression


@dataclass(frozen=True)
class Work:
    """Something that a network does: time steps one after the other, frames, and FLOPs of its convolutions.

    A batch of B sequences of T frames makes T steps and B * T frames.
    """

    steps: float = 0.0
    frames: float = 0.0
    flops: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.steps + other.steps, self.frames + other.frames, self.flops + other.flops)

    def times(self, factor: float) -> "Work":
        """The same, `factor` times."""
        return Work(self.steps * factor, self.frames * factor, self.flops * factor)


@dataclass(frozen=True)
class PlannedTrial:
    """One trial: its number, its sampled parameters, and what they stand for. Replicates share a point."""

    tid: int
    params: dict[str, Any]
    plan: TrialPlan
    config: SearchConfig
    data: DataFacts

    @property
    def parameters(self) -> int:
        """Trainable numbers of the network."""
        return count_parameters(self.plan.network)

    def work(self, sequences: int, frames: int, at_once: int, *, training: bool = False) -> Work:
        """Showing so many sequences of `frames` frames each, `at_once` in a batch; FLOPs as `flops_per_sequence`."""
        size = self.config.data
        flops = flops_per_sequence(self.plan.network, size.height, size.width, frames, training=training)
        return Work(-(-sequences // at_once) * frames, sequences * frames, sequences * flops)

    @property
    def training(self) -> Work:
        """One epoch of training."""
        plan = self.plan
        return self.work(plan.train_sequences, self.config.training.nt, plan.batch_size, training=True)

    @property
    def validation(self) -> Work:
        """The validation loss of one epoch."""
        sequences = min(self.plan.val_sequences, self.data.val_windows)
        return self.work(sequences, self.config.training.nt, self.plan.batch_size)

    @property
    def evaluation(self) -> Work:
        """The three metrics of one epoch: static clips of stimuli and (at most) all objects, and the MSE windows.

        Further references cost no pass of the network; what `metrics.also` costs is not known.
        """
        metrics, matching = self.config.metrics, self.config.metrics.matching
        return (
            self.work(self.data.stimuli, metrics.hms.frames, self.clips_at_once)
            + self.work(self.data.object_images, matching.frames, self.clips_at_once)
            + self.work(self.data.mse_windows, self.config.training.nt, self.clips_at_once)
        )

    @property
    def conclusion(self) -> Work:
        """The end: the metrics of the best-validation network, test windows, and the pictures of a report."""
        windows = self.data.test_windows + SHOWN_WINDOWS
        return self.evaluation + self.work(windows, self.config.training.nt, self.clips_at_once)

    @property
    def clips_at_once(self) -> int:
        """Images that an evaluation shows in one pass on the class of device that the search trains on."""
        return _clips_at_once(self.config.data.height, self.config.data.width, self.config.training.device == "cuda")

    def evaluations(self, epochs: int) -> int:
        """How often the metrics are logged: before the first epoch, each `metrics.every`, and after the last."""
        every = self.config.metrics.every
        return 1 + -(-epochs // every)

    @property
    def flops(self) -> dict[str, float]:
        """FLOPs of the whole trial, trained to its planned end, by part."""
        epochs = self.plan.epochs
        return {
            "training": self.training.flops * epochs,
            "validation": self.validation.flops * epochs,
            "evaluation": self.evaluation.flops * self.evaluations(epochs) + self.conclusion.flops,
        }

    @cached_property
    def device_bytes(self) -> int:
        """Tensors on the device at once: a training step, or an evaluation beside what training keeps."""
        size, plan, nt = self.config.data, self.plan, self.config.training.nt
        batch, rest = plan.batch_size, plan.train_sequences % plan.batch_size
        graphs = [n for n in (batch, rest) if n] if self.config.training.device == "cuda" else []
        step = training_memory(plan.network, plan.training, size.height, size.width, nt, batch, graphs)
        return max(step.peak, step.kept + self.evaluation_bytes)

    @property
    def evaluation_bytes(self) -> int:
        """R and C of all stimuli, which advance together, and what one pass works on: inputs and outputs of gates."""
        size, network = self.config.data, self.plan.network
        pixels = [(size.height >> n) * (size.width >> n) for n in range(network.n_layers)]
        states = sum(2 * r * area for r, area in zip(network.r_stack_sizes, pixels, strict=True))
        gates = [(network.gate_inputs(n) + 8 * network.r_stack_sizes[n]) * area for n, area in enumerate(pixels)]
        return 4 * (self.data.stimuli * states + self.clips_at_once * max(gates))

    @property
    def running_disk_bytes(self) -> int:
        """Checkpoints of a running trial: those that are kept, and the next one while it is written."""
        return (KEPT_CHECKPOINTS + 1) * checkpoint_bytes(self.plan.network)

    @property
    def finished_disk_bytes(self) -> int:
        """What stays: last and best weights, RDM, and predicted frames (before compression)."""
        size, windows = self.config.data, min(SHOWN_WINDOWS, self.data.mse_windows)
        frames = 2 * windows * self.config.training.nt * size.height * size.width * 3
        return 2 * network_file_bytes(self.plan.network) + self.data.stimuli**2 * 4 + frames


@cache
def _clips_at_once(height: int, width: int, on_gpu: bool) -> int:
    device = "meta" if on_gpu else "cpu"  # only the class of device counts
    return fitting_batch(PredNet(PredNetConfig((3,))).to(device), height, width)


def planned_trials(config: SearchConfig, data: DataFacts) -> list[PlannedTrial]:
    """The trials of a search, by tid: with `rand` exactly those that its driver will propose.

    `tpe` and `anneal` also depend on results: for them these are points of the prior, with which they begin.
    """
    prior = config.model_copy(update={"search": config.search.model_copy(update={"algorithm": "rand"})})
    space, replicates = expression(config.space), config.search.replicates
    trials: list[PlannedTrial] = []
    for tid in range(config.search.max_trials):
        first = tid - tid % replicates
        params = trials[first].params if first < tid else propose_point(prior, space, tid, [])[2]
        trials.append(PlannedTrial(tid, params, plan_trial(config, params), config, data))
    return trials
