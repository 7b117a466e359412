"""The plan of a search: its trials, a speed, and the hours that follow with and without the stopping rule."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from search.config import SearchConfig
from search.errors import UsageError
from search.paths import data_root, results_root
from search.plan.data import DataFacts, data_facts
from search.plan.saving import Scenario, scenarios
from search.plan.speed import Speed, given_speed, measure_speed
from search.plan.trials import PlannedTrial, planned_trials
from search.progress import Progress
from search.provenance import usable_cores

LARGEST_SHARE = 0.10
PERCENTILES = (5, 50, 95)


@dataclass(frozen=True)
class PlanOptions:
    """What `hms plan` was told. `gflops`: a speed given by hand; `seconds`: how long measuring may take, about."""

    device: str | None = None
    workers: int | None = None
    measure: bool = True
    gflops: float | None = None
    seconds: float = 30.0
    like: str | None = None


@dataclass(frozen=True)
class SearchPlan:
    """`speed` is None when nothing was measured; `slots` trials run at a time."""

    config: SearchConfig
    trials: tuple[PlannedTrial, ...]
    data: DataFacts
    scenarios: tuple[Scenario, ...]
    slots: int
    speed: Speed | None

    def seconds(self, scenario: Scenario) -> list[float]:
        """Seconds of each trial; empty without a speed."""
        if self.speed is None:
            return []
        pairs = zip(self.trials, scenario.epochs, strict=True)
        return [sum(trial_seconds(trial, self.speed, epochs).values()) for trial, epochs in pairs]

    @cached_property
    def shares(self) -> list[float]:
        """Share of evaluation in the time of each trial; empty without a speed."""
        if self.speed is None:
            return []
        every, shares = self.config.metrics.every, []
        for trial in self.trials:
            epoch, evaluation = _epoch_and_evaluation(trial, self.speed)
            shares.append(evaluation_share(evaluation, epoch, every))
        return shares

    @cached_property
    def advised_every(self) -> int | None:
        """The smallest `metrics.every` at which evaluation takes a tenth of the median network's time at most."""
        if self.speed is None or float(np.median(self.shares)) <= LARGEST_SHARE:
            return None
        ratios = [
            evaluation / epoch for epoch, evaluation in (_epoch_and_evaluation(t, self.speed) for t in self.trials)
        ]
        return int(np.ceil(float(np.median(ratios)) * (1 - LARGEST_SHARE) / LARGEST_SHARE))

    @property
    def disk_bytes(self) -> int:
        """The most that trials' files take: all are finished but the largest, one a slot, which still run."""
        running = sorted((trial.running_disk_bytes for trial in self.trials), reverse=True)[: self.slots]
        return sum(trial.finished_disk_bytes for trial in self.trials) + sum(running)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: FLOPs, bytes, seconds."""
        return {
            "search": self.config.search.name,
            "algorithm": self.config.search.algorithm,
            "points": "as the driver proposes" if self.config.search.algorithm == "rand" else "of the prior",
            "data_prepared": self.data.prepared,
            "windows": {"val": self.data.val_windows, "mse": self.data.mse_windows, "test": self.data.test_windows},
            "stimuli": self.data.stimuli,
            "object_images": self.data.object_images,
            "not_counted": list(self.config.metrics.also),
            "slots": self.slots,
            "disk_bytes": self.disk_bytes,
            "speed": _speed_dict(self.speed),
            "evaluation_share": self.shares,
            "advised_every": self.advised_every,
            "scenarios": [
                {
                    "name": scenario.name,
                    "source": scenario.source,
                    "epochs": sum(scenario.epochs),
                    "device_seconds": sum(seconds) if seconds else None,
                    "wall_seconds": wall_seconds(seconds, self.slots) if seconds else None,
                    "trial_seconds": seconds,
                }
                for scenario in self.scenarios
                for seconds in [self.seconds(scenario)]
            ],
            "trials": [
                {
                    "tid": trial.tid,
                    "params": trial.params,
                    "parameters": trial.parameters,
                    "flops": trial.flops,
                    "device_bytes": trial.device_bytes,
                    "finished_disk_bytes": trial.finished_disk_bytes,
                    "running_disk_bytes": trial.running_disk_bytes,
                }
                for trial in self.trials
            ],
        }


def plan_search(config: SearchConfig, options: PlanOptions, progress: Progress) -> SearchPlan:
    """Sample the trials, count, measure a few networks, and add up. Nothing is written, and no store is asked.

    Raises:
        UsageError: the device is not there, a network doesn't fit into its memory, there is nothing to plan, or the
            search of `--like` can't be read.
        DataError: prepared data that can't be read. Data that aren't prepared are no error.
    """
    if config.training.learner != "prednet":
        raise UsageError(f"training.learner is {config.training.learner!r}, which trains no network: nothing to plan")
    if options.gflops is not None and options.gflops <= 0:
        raise UsageError(f"--gflops is {options.gflops:g}: give the speed that a device reaches, above 0")
    data = data_facts(config, data_root())
    trials = planned_trials(config, data)
    device = options.device or default_device(config)
    slots = options.workers or _default_slots(config, device)
    like = None if options.like is None else _tables(options.like)
    found = scenarios(config, [trial.plan.epochs for trial in trials], like)
    speed = None
    if options.gflops is not None:
        speed = given_speed(device, options.gflops)
    elif options.measure:
        threads = max(1, usable_cores() // slots) if device == "cpu" else usable_cores()
        speed = measure_speed(trials, device, threads, options.seconds, progress)
    return SearchPlan(config, tuple(trials), data, tuple(found), slots, speed)


def default_device(config: SearchConfig) -> str:
    """The class that the search trains on where this machine has it, else the CPU."""
    import torch

    return "cuda" if config.training.device != "cpu" and torch.cuda.is_available() else "cpu"


def _default_slots(config: SearchConfig, device: str) -> int:
    """As many as `hms run` would use; a CPU that stands in for a GPU is one."""
    import torch

    if device.startswith("cuda"):
        return max(1, torch.cuda.device_count())
    return 1 if config.training.device == "cuda" else min(usable_cores(), 8)


def _tables(like: str) -> Path:
    """The exported tables of `--like`: a folder, or the name of a search under the results."""
    return Path(like) if Path(like).is_dir() else results_root() / like / "tables"


def trial_seconds(trial: PlannedTrial, speed: Speed, epochs: int) -> dict[str, float]:
    """Seconds of a trial that trains so many epochs, by part."""
    _, evaluation = _epoch_and_evaluation(trial, speed)
    return {
        "training": epochs * speed.seconds("training", trial.training),
        "validation": epochs * speed.seconds("validation", trial.validation),
        "evaluation": trial.evaluations(epochs) * evaluation,
        "conclusion": speed.seconds("evaluation", trial.conclusion) + speed.metrics_seconds,
    }


def _epoch_and_evaluation(trial: PlannedTrial, speed: Speed) -> tuple[float, float]:
    epoch = speed.seconds("training", trial.training) + speed.seconds("validation", trial.validation)
    return epoch, speed.seconds("evaluation", trial.evaluation) + speed.metrics_seconds


def evaluation_share(evaluation_seconds: float, epoch_seconds: float, every: int) -> float:
    """Share (0..1) of evaluation in the time of `every` epochs and the evaluation that follows them."""
    return evaluation_seconds / (evaluation_seconds + every * epoch_seconds)


def wall_seconds(durations: Sequence[float], slots: int) -> float:
    """How long trials take when each, in order, goes to the slot that is free first."""
    free = [0.0] * slots
    for seconds in durations:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _speed_dict(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    return {
        "device": speed.device,
        "threads": speed.threads,
        "rates": {kind: list(rates) for kind, rates in speed.rates.items()},
        "metrics_seconds": speed.metrics_seconds,
        "error": speed.error,
        "load": speed.load,
        "measured": [
            {"kind": m.kind, "tid": m.tid, "batch": m.batch, "frames": m.frames, "seconds": m.seconds, "whole": m.whole}
            for m in speed.measured
        ],
    }
