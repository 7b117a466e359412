"""One trial: train -> evaluate -> record -> decide -> checkpoint, until a rule or the planned epochs end it.

A trial knows no database. It tells whoever runs it what happened through `report(kind, payload)`:
`begin` (the epoch it resumes from), `progress`, `epoch` (one metrics row), `checkpoint`, and returns its result.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prednet.checkpoint import load_checkpoint, save_checkpoint
from prednet.config import PredNetConfig
from prednet.data.sequences import Windows, epoch_batches
from prednet.errors import CheckpointError, Diverged
from prednet.model import PredNet
from prednet.train import Trainer
from search.artifacts import write_predictions, write_rdm
from search.config import SearchConfig
from search.evaluate import evaluate, next_frame_error
from search.materials import Materials
from search.networks import plan_trial
from search.stopping import Decision, Evaluation, decide, unmoved, window_sd

Report = Callable[[str, dict[str, Any]], None]
KEPT_CHECKPOINTS = 2
VALIDATION_BATCH = 16


class Preempted(BaseException):
    """The worker was asked to give the trial back. A `BaseException`, so that no `except Exception` swallows it."""


@dataclass(frozen=True)
class TrialOrder:
    """What a worker hands to the process that trains: plain values only.

    `history` holds the metrics rows already stored, `checkpoints` those recorded, newest first.
    """

    name: str
    tid: int
    seed: int
    params: dict[str, Any]
    config: SearchConfig
    folder: Path
    data_root: Path
    device: str
    threads: int
    checkpoints: tuple[dict[str, Any], ...] = ()
    history: tuple[dict[str, Any], ...] = ()
    finished_hms: tuple[float, ...] = ()


@dataclass
class Progress:
    """Where a trial is: whole epochs trained, optimiser steps into the next one, last evaluated epoch (-1: none)."""

    epoch: int = 0
    step: int = 0
    evaluated: int = -1
    loss_sum: float = 0.0
    train_loss: float | None = None
    val_loss: float | None = None
    best_val_loss: float | None = None
    best_epoch: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)


class Trial:
    """Runs one order. `interrupted()` is asked after each optimiser step and evaluation batch."""

    def __init__(
        self, order: TrialOrder, materials: Materials, report: Report, interrupted: Callable[[], bool]
    ) -> None:
        self.order, self.materials, self.report, self.interrupted = order, materials, report, interrupted
        self.plan = plan_trial(order.config, order.params)
        self.model = PredNet(self.plan.network, seed=order.seed)
        self.trainer = Trainer(self.model, self.plan.training, order.device)
        nt = order.config.training.nt
        self.train_windows = Windows(materials.dataset.split("train"), nt, "all")
        self.val_windows = Windows(materials.dataset.split("val"), nt, "all")
        self.at = Progress()
        self.best_weights: dict[str, Any] | None = None
        self.rows: list[dict[str, Any]] = []
        self.saved: list[dict[str, Any]] = []
        self.rdm: NDArray[np.float32] | None = None

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
        every = self.order.config.metrics.every
        if self.at.evaluated < 0:
            self._evaluate()
        while True:
            decision = self._decide()
            if self.at.epoch == self.at.evaluated and decision.finish is not None:
                return self._finish(decision)
            due = self.at.epoch > self.at.evaluated and (
                self.at.epoch % every == 0 or self.at.epoch == self.plan.epochs
            )
            if due:
                self._evaluate()
                self._checkpoint()
                continue
            self._train_epoch()

    def _train_epoch(self) -> None:
        """One pass over this epoch's sequences, from the step where a checkpoint left it; then the validation loss."""
        epoch = self.at.epoch + 1
        self.trainer.start_epoch(epoch)
        with self._timed("training"):
            batches = epoch_batches(
                self.train_windows, self.plan.train_sequences, self.plan.batch_size, self.order.seed, epoch
            )
            for number, frames in enumerate(batches):
                if number < self.at.step:
                    continue
                self.at.loss_sum += self.trainer.step(frames)
                self.at.step = number + 1
                self._check()
        train_loss = self.at.loss_sum / max(1, self.at.step)
        with self._timed("validation"):
            val_loss = self._validation_loss()
        self.at.epoch, self.at.step, self.at.loss_sum = epoch, 0, 0.0
        if self.at.best_val_loss is None or val_loss < self.at.best_val_loss:
            self.at.best_val_loss, self.at.best_epoch = val_loss, epoch
            self.best_weights = {key: value.detach().clone() for key, value in self.model.state_dict().items()}
        self.at.train_loss, self.at.val_loss = train_loss, val_loss
        self.report("progress", {"epoch": epoch, "epochs": self.plan.epochs, "train_loss": train_loss})

    def _validation_loss(self) -> float:
        """Mean loss over the first `val_sequences` windows (every start, as in Lotter et al.)."""
        count = min(self.plan.val_sequences, len(self.val_windows))
        total = 0.0
        for start in range(0, count, VALIDATION_BATCH):
            indices = np.arange(start, min(start + VALIDATION_BATCH, count))
            total += self.trainer.loss(self.val_windows.take(indices)) * len(indices)
            self._check()
        return total / count

    def _evaluate(self) -> None:
        config = self.order.config
        row, self.rdm = evaluate(self.model, self.materials, between=self._check)
        for name in ("hms", "mse", "matching"):
            self._add_seconds(name, row[f"seconds_{name}"])
        row.update(
            epoch=self.at.epoch,
            train_loss=self.at.train_loss,
            val_loss=self.at.val_loss,
            learning_rate=self.trainer.learning_rate,
            seconds_training=self._since_last("training"),
            seconds_validation=self._since_last("validation"),
        )
        self.rows.append(row)
        sd = window_sd(
            self._history(),
            self.at.epoch,
            window=config.stopping.window,
            every=config.metrics.every,
            ddof=config.stopping.ddof,
        )
        row["window_sd"] = sd
        row["stable"] = sd is not None and sd <= config.stopping.tolerance
        self.at.evaluated = self.at.epoch
        self.report("epoch", row)

    def _decide(self) -> Decision:
        config = self.order.config
        return decide(
            self._history(),
            config.stopping,
            every=config.metrics.every,
            epochs_planned=self.plan.epochs,
            finished_hms=self.order.finished_hms,
        )

    def _history(self) -> list[Evaluation]:
        return [Evaluation(row["epoch"], row["hms"], row["hms_status"]) for row in self.rows]

    def _finish(self, decision: Decision, reason: str = "") -> dict[str, Any]:
        """Write what a report needs, drop the checkpoints, and give the result."""
        assert decision.finish is not None
        diverged = decision.finish == "diverged"
        last = dict(self.rows[-1]) if self.rows else {}
        if diverged:
            last.update(hms=None, hms_status="diverged", mse=None, mse_status="diverged", accuracy=None)
            last.update(accuracy_status="diverged", rho_a=None)
        result: dict[str, Any] = {
            "finish": decision.finish,
            "reason": reason,
            "stopped": None,
            "epochs_planned": self.plan.epochs,
            "epochs_trained": self.at.epoch,
            "stable_epoch": decision.stable_epoch,
            "unmoved": unmoved(self._history(), self.order.config.stopping.tolerance),
            "n_parameters": self.model.n_parameters,
            "best_val_loss": self.at.best_val_loss,
            "best_epoch": self.at.best_epoch,
        }
        if decision.finish in ("hms_stable", "below_threshold") and self.at.epoch < self.plan.epochs:
            result["stopped"] = {"epoch": self.at.epoch, "rule": decision.rule}
        metrics = ("hms", "rho_a", "mse", "mse_previous_frame", "accuracy")
        keys = [k for k in last if k in metrics or k.endswith("_status") or k.startswith("accuracy_")]
        result.update({key: last[key] for key in keys})
        if not diverged:
            result.update(self._end_of_trial())
        result["seconds"] = dict(self.at.seconds)
        return result | guided_loss(self.order.config.search.guide, result)

    def _end_of_trial(self) -> dict[str, Any]:
        """Test error, metrics of the best-validation network, weights and pictures of the last one."""
        found: dict[str, Any] = {"mse_test": None}
        if self.materials.test_windows is not None:
            found["mse_test"] = next_frame_error(self.model, self.materials.test_windows, self._check)["mse"]
        folder = self.order.folder
        network = self.plan.network.to_dict()
        save_checkpoint(folder / "network.pt", {"network": network, "model": self.model.state_dict()})
        if self.rdm is not None:
            write_rdm(folder, self.rdm)
        write_predictions(folder, self.model, self.materials.mse_windows)
        if self.best_weights is not None and self.at.best_epoch != self.at.epoch:
            save_checkpoint(folder / "best.pt", {"network": network, "model": self.best_weights})
            best = PredNet(PredNetConfig.from_dict(network), seed=0).to(self.order.device)
            best.load_state_dict(self.best_weights)
            row, _ = evaluate(best, self.materials, between=self._check)
            found.update({f"{key}_best": row[key] for key in ("hms", "mse", "accuracy")})
        else:
            found.update({f"{key}_best": self.rows[-1][key] for key in ("hms", "mse", "accuracy")})
        for info in self.saved:
            (folder / info["file"]).unlink(missing_ok=True)
        return found

    def _checkpoint(self) -> None:
        """Write everything that an unbroken continuation needs, then report it; keep the one before as a fallback."""
        started = time.perf_counter()
        info: dict[str, Any] = {"epoch": self.at.epoch, "step": self.at.step, "evaluated": self.at.evaluated}
        info["file"] = f"checkpoint-{self.at.epoch:06d}-{self.at.step:06d}-{max(self.at.evaluated, 0):06d}.pt"
        payload = {
            "network": self.plan.network.to_dict(),
            "model": self.model.state_dict(),
            "trainer": self.trainer.state_dict(),
            "best_weights": self.best_weights,
            "progress": vars(self.at),
        }
        info["sha256"] = save_checkpoint(self.order.folder / info["file"], payload)
        self.saved = [info] + [old for old in self.saved if old["file"] != info["file"]]
        for old in self.saved[KEPT_CHECKPOINTS:]:
            (self.order.folder / old["file"]).unlink(missing_ok=True)
        self.saved = self.saved[:KEPT_CHECKPOINTS]
        self._add_seconds("checkpoint", time.perf_counter() - started)
        self.report("checkpoint", {"checkpoints": self.saved})

    def _resume(self) -> None:
        """Continue from the newest checkpoint that can be read; a torn or missing one falls back to the one before."""
        for index, info in enumerate(self.order.checkpoints):
            try:
                state = load_checkpoint(self.order.folder / info["file"], sha256=info["sha256"])
            except CheckpointError as error:
                self.report("warning", {"message": f"checkpoint skipped: {error}"})
                continue
            rows = sorted(
                (row for row in self.order.history if row["epoch"] <= info["evaluated"]), key=lambda row: row["epoch"]
            )
            self.model.load_state_dict(state["model"])
            self.trainer.load_state_dict(state["trainer"])
            self.best_weights = state["best_weights"]
            self.at = Progress(**state["progress"])
            self.rows, self.saved = rows, list(self.order.checkpoints[index:])
            break
        self.report("begin", {"epoch": self.at.evaluated, "trained": self.at.epoch, "epochs": self.plan.epochs})

    def _check(self) -> None:
        if self.interrupted():
            raise Preempted

    def _add_seconds(self, name: str, seconds: float) -> None:
        self.at.seconds[name] = self.at.seconds.get(name, 0.0) + seconds

    def _since_last(self, name: str) -> float:
        """Seconds of `name` since the evaluation before."""
        earlier = sum(row.get(f"seconds_{name}", 0.0) for row in self.rows)
        return max(0.0, self.at.seconds.get(name, 0.0) - earlier)

    def _timed(self, name: str) -> "_Timer":
        return _Timer(self, name)


class _Timer:
    """Adds the seconds of a block to a trial, also when the block is left by an exception."""

    def __init__(self, trial: Trial, name: str) -> None:
        self.trial, self.name = trial, name

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.trial._add_seconds(self.name, time.perf_counter() - self.started)


def guided_loss(guide: str, result: dict[str, Any]) -> dict[str, Any]:
    """HyperOpt's `status` and `loss` (lower is better): -HMS, MSE or -accuracy; an undefined value is a failure."""
    value = result.get(guide)
    if value is None or result["finish"] in ("diverged", "collapsed"):
        why = result["reason"] or f"{guide} is undefined ({result.get(f'{guide}_status', 'not evaluated')})"
        return {"status": "fail", "loss": None, "reason": why}
    return {"status": "ok", "loss": float(value) if guide == "mse" else -float(value)}
