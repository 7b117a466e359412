"""One trial: train -> evaluate -> record -> decide -> checkpoint, until a rule or the planned epochs end it.

A trial knows no database. It tells whoever runs it what happened through `report(kind, payload)`: `begin` (the epoch it
resumes from, the checkpoints passed over and, of these, the damaged), `progress`, `epoch` (one metrics row),
`checkpoint`, `warning`. What is trained is behind `Learner`.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from metrics.metric import DIVERGED, Metric
from prednet.checkpoint import load_checkpoint, save_checkpoint
from prednet.errors import CheckpointDamaged, CheckpointError, Diverged
from search.logged_metrics import metric_columns, metrics_of
from search.order import Check, Preempted, Report, TrialOrder
from search.stopping import Decision, Evaluation, decide, unmoved, window_sd


class Learner(Protocol):
    """What a trial trains and evaluates. `check` may raise `Preempted` after a step or an evaluation batch."""

    epochs: int

    def train_epoch(self, epoch: int, check: Check) -> dict[str, float]:
        """Train epoch `epoch` (from 1), or the rest of it; seconds by part. Raises `Diverged` on NaN or infinity."""

    def evaluate(self, check: Check) -> dict[str, Any]:
        """One row: each metric that is logged (None where undefined), its `_status` and `seconds_*`."""

    def state(self) -> dict[str, Any]:
        """Everything that an unbroken continuation needs, in the middle of an epoch too."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""

    def conclude(self, check: Check) -> dict[str, Any]:
        """At the end: write weights and pictures to the trial's folder; more fields of the result."""


@dataclass
class Progress:
    """Where a trial is: whole epochs trained, the last evaluated one (-1: none), seconds by part."""

    epoch: int = 0
    evaluated: int = -1
    seconds: dict[str, float] = field(default_factory=dict)


class Trial:
    """Runs one order. `interrupted()` is asked after each optimiser step and evaluation batch."""

    def __init__(self, order: TrialOrder, learner: Learner, report: Report, interrupted: Callable[[], bool]) -> None:
        self.order, self.learner, self.report, self.interrupted = order, learner, report, interrupted
        self.metrics = metrics_of(order.config)
        self.guide = self.metrics[order.config.search.guide]
        self.at = Progress()
        self.rows: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Train to the end; the result in HyperOpt's terms (`status`, `loss`) with the last evaluated metrics.

        Raises:
            Preempted: after a checkpoint was written and reported.
        """
        self.order.folder.mkdir(parents=True, exist_ok=True)
        self._resume()
        try:
            return self._train()
        except Diverged as error:
            return self._finish(Decision("diverged", None, self.order.config.stopping.rule), reason=str(error))
        except Preempted:
            self._checkpoint()
            raise

    def _train(self) -> dict[str, Any]:
        every, epochs = self.order.config.metrics.every, self.learner.epochs
        while True:
            due = self.at.epoch % every == 0 or self.at.epoch == epochs
            if due and self.at.evaluated < self.at.epoch:
                self._evaluate()
                if self.at.epoch > 0:
                    self._checkpoint()
            decision = self._decide()
            if due and decision.finish is not None:
                return self._finish(decision)
            for part, seconds in self.learner.train_epoch(self.at.epoch + 1, self._check).items():
                self._add_seconds(part, seconds)
            self.at.epoch += 1
            self.report("progress", {"epoch": self.at.epoch, "epochs": epochs})

    def _evaluate(self) -> None:
        config, epoch = self.order.config, self.at.epoch
        row = {"epoch": epoch, **_defined(self.metrics, self.learner.evaluate(self._check))}
        for key in [key for key in row if key.startswith("seconds_")]:
            self._add_seconds(key.removeprefix("seconds_"), row[key])
        for part in ("training", "validation"):
            row[f"seconds_{part}"] = self._since_last(part)
        self.rows.append(row)
        window, every, ddof = config.stopping.window, config.metrics.every, config.stopping.ddof
        sd = window_sd(self._history(), epoch, window=window, every=every, ddof=ddof)
        row["window_sd"] = sd
        row["stable"] = sd is not None and sd <= config.stopping.tolerance
        self.at.evaluated = epoch
        self.report("epoch", row)

    def _decide(self) -> Decision:
        config = self.order.config
        return decide(
            self._history(),
            config.stopping,
            every=config.metrics.every,
            epochs_planned=self.learner.epochs,
            finished=self.order.finished,
            sign=self.metrics[config.stopping.metric].sign,
        )

    def _history(self) -> list[Evaluation]:
        metric = self.order.config.stopping.metric
        return [Evaluation(row["epoch"], row[metric], row[f"{metric}_status"]) for row in self.rows]

    def _finish(self, decision: Decision, reason: str = "") -> dict[str, Any]:
        """The result; what a report needs is written first."""
        last = self.rows[-1] if self.rows else {}
        result: dict[str, Any] = {
            "finish": decision.finish,
            "reason": reason,
            "stopped": None,
            "epochs_planned": self.learner.epochs,
            "epochs_trained": self.at.epoch,
            "stable_epoch": decision.stable_epoch,
            "unmoved": unmoved(self._history(), self.order.config.stopping.tolerance),
            **metric_columns(self.metrics, last),
        }
        if decision.finish in ("hms_stable", "stable", "below_threshold") and self.at.epoch < self.learner.epochs:
            result["stopped"] = {"epoch": self.at.epoch, "rule": decision.rule}
        if decision.finish == "diverged":
            result |= dict.fromkeys([*metric_columns(self.metrics, result), *self.metrics])
            without = [*self.metrics, *self.order.config.data.transfer_columns]
            result |= {f"{column}_status": DIVERGED for column in without}
        else:
            started = time.perf_counter()
            result |= self.learner.conclude(self._check)
            self._add_seconds("conclusion", time.perf_counter() - started)
        result["seconds"] = dict(self.at.seconds)
        return result | guided_loss(self.guide, result)

    def _checkpoint(self) -> None:
        """Write everything that an unbroken continuation needs, then report it; the worker deletes older ones.

        Where it can't be written, training goes on, the last good one stays, and the next is tried when it is due.
        """
        started = time.perf_counter()
        evaluated = max(self.at.evaluated, 0)
        name = f"checkpoint-{evaluated:06d}-{self.at.epoch:06d}-{time.time_ns()}.pt"
        state = {"progress": vars(self.at), "learner": self.learner.state()}
        try:
            digest = save_checkpoint(self.order.folder / name, state)
        except CheckpointError as error:
            self.report("warning", {"message": f"no checkpoint after epoch {self.at.epoch}: {error}"})
            return
        info = {"epoch": evaluated, "trained": self.at.epoch, "file": name, "sha256": digest}
        self._add_seconds("checkpoint", time.perf_counter() - started)
        self.report("checkpoint", info)

    def _resume(self) -> None:
        """Continue from the newest checkpoint that can be read; a torn or missing one falls back to the one before."""
        skipped, damaged = [], []
        for info in self.order.checkpoints:
            try:
                state = load_checkpoint(self.order.folder / info["file"], sha256=info["sha256"])
                self.learner.restore(state["learner"])
            except (CheckpointError, OSError) as error:
                self.report("warning", {"message": f"checkpoint skipped: {error}"})
                skipped.append(info["file"])
                if isinstance(error, CheckpointDamaged):
                    damaged.append(info["file"])
                continue
            self.at = Progress(**state["progress"])
            rows = [row for row in self.order.history if row["epoch"] <= self.at.evaluated]
            self.rows = sorted(rows, key=lambda row: row["epoch"])
            break
        self.report(
            "begin",
            {
                "epoch": max(self.at.evaluated, 0),
                "trained": self.at.epoch,
                "epochs": self.learner.epochs,
                "skipped": skipped,
                "damaged": damaged,
            },
        )

    def _check(self) -> None:
        if self.interrupted():
            raise Preempted

    def _add_seconds(self, part: str, seconds: float) -> None:
        self.at.seconds[part] = self.at.seconds.get(part, 0.0) + seconds

    def _since_last(self, part: str) -> float:
        """Seconds of `part` since the evaluation before."""
        earlier = sum(row.get(f"seconds_{part}", 0.0) for row in self.rows)
        return max(0.0, self.at.seconds.get(part, 0.0) - earlier)


def _defined(metrics: Iterable[str], row: dict[str, Any]) -> dict[str, Any]:
    """NaN and infinity are no values of a metric, whatever its status says: the network diverged."""
    broken = [metric for metric in metrics if row.get(metric) is not None and not math.isfinite(row[metric])]
    return row | dict.fromkeys(broken) | {f"{metric}_status": DIVERGED for metric in broken}


def guided_loss(guide: Metric, result: dict[str, Any]) -> dict[str, Any]:
    """HyperOpt's `status` and `loss` (lower is better), such as MSE or -HMS; an undefined value is a failure."""
    value, status = result.get(guide.name), result.get(f"{guide.name}_status", "not evaluated")
    if value is None:
        return {"status": "fail", "loss": None, "reason": result["reason"] or f"{guide.name} is undefined ({status})"}
    return {"status": "ok", "loss": -guide.sign * float(value)}
