"""The learner of a real search: one PredNet on one device, trained on video and scored by the metrics."""

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metrics.measured.human_similarity import by_layer_and_step
from prednet.checkpoint import save_checkpoint
from prednet.cost import count_parameters
from prednet.data.sequences import Windows, epoch_batches
from prednet.model import PredNet
from prednet.train import Trainer
from search.artifacts import write_predictions, write_rdm
from search.evaluate import SearchInputs, SeenNetwork, evaluate, measured, next_frame_error
from search.learning_curve import LearningCurve
from search.logged_metrics import metrics_of
from search.materials import Materials, prepare
from search.networks import plan_trial
from search.order import Check, TrialOrder
from search.transfer import transfer_errors


class PredNetLearner:
    """See `search.trial.Learner`. The order of sequences depends on (seed, epoch) alone."""

    def __init__(self, order: TrialOrder) -> None:
        torch.set_num_threads(order.threads)
        self.order = order
        self.metrics = metrics_of(order.config)
        self.materials: Materials = prepare(order.config, order.data_root)
        self.plan = plan_trial(order.config, order.params)
        self.epochs = self.plan.epochs
        self.model = PredNet(self.plan.network, seed=order.seed)
        self.trainer = Trainer(self.model, self.plan.training, order.device)
        nt = order.config.training.nt
        self.train_windows = Windows(self.materials.dataset.split("train"), nt, "all")
        self.val_windows = Windows(self.materials.dataset.split("val"), nt, "all").first(self.plan.val_sequences)
        self.curve = LearningCurve(order.folder, order.artifacts, tensorboard=order.config.training.tensorboard)
        self.step, self.loss_sum = 0, 0.0
        self.train_loss: float | None = None
        self.val_loss: float | None = None
        self.best: dict[str, Any] = {"val_loss": None, "epoch": None, "weights": None}
        self.rdm: NDArray[np.float32] | None = None
        self.latest: dict[str, Any] = {}

    def train_epoch(self, epoch: int, check: Check) -> dict[str, float]:
        """One pass over this epoch's sequences, from the step where a checkpoint left it; then the validation loss."""
        started = time.perf_counter()
        self.trainer.start_epoch(epoch - 1)
        plan = self.plan
        batches = epoch_batches(self.train_windows, plan.train_sequences, plan.batch_size, self.order.seed, epoch)
        for number, frames in enumerate(batches):
            if number >= self.step:
                self.loss_sum += self.trainer.step(frames)
                self.step = number + 1
                check()
        trained = time.perf_counter()
        val_loss = self._validation_loss(check)
        self.train_loss, self.val_loss = self.loss_sum / self.step, val_loss
        self.step, self.loss_sum = 0, 0.0
        if self.best["val_loss"] is None or val_loss < self.best["val_loss"]:
            weights = {key: value.detach().clone() for key, value in self.model.state_dict().items()}
            self.best = {"val_loss": val_loss, "epoch": epoch, "weights": weights}
        ended, rate = time.perf_counter(), self.trainer.learning_rate
        self.curve.add(
            epoch, train_loss=self.train_loss, val_loss=val_loss, learning_rate=rate, seconds=ended - started
        )
        return {"training": trained - started, "validation": ended - trained}

    def evaluate(self, check: Check) -> dict[str, Any]:
        """All metrics, the losses of the newest epoch, and the learning rate that it used."""
        row, self.rdm = evaluate(self.model, self.materials, self.metrics, between=check)
        row.update(train_loss=self.train_loss, val_loss=self.val_loss, learning_rate=self.trainer.learning_rate)
        self.latest = row
        epoch = self.trainer.epoch + 1 if self.trainer.steps else 0
        self.curve.events("evaluation", epoch, {metric: row[metric] for metric in self.metrics})
        return dict(row)

    def state(self) -> dict[str, Any]:
        """Weights, optimiser, place in the epoch, best weights so far, the curve."""
        mine = {key: getattr(self, key) for key in ("step", "loss_sum", "train_loss", "val_loss", "best", "latest")}
        return {"trainer": self.trainer.state_dict(), "curve": self.curve.rows, **mine}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.trainer.load_state_dict(state["trainer"])
        self.curve.rows = state.get("curve", self.curve.rows)  # older checkpoints have none
        for key in ("step", "loss_sum", "train_loss", "val_loss", "best", "latest"):
            setattr(self, key, state[key])

    def conclude(self, check: Check) -> dict[str, Any]:
        """Test error and metrics of the best-validation network; weights, RDM and predicted frames of the last one.

        Writes `network.pt`, the last weights, and `best.pt`, those of the lowest validation loss (maybe the same). A
        trial that diverged never comes here and leaves neither.
        """
        folder, network = self.order.artifacts, self.plan.network.to_dict()
        found: dict[str, Any] = {"n_parameters": count_parameters(self.plan.network), "mse_test": None}
        found |= {"best_epoch": self.best["epoch"], "best_val_loss": self.best["val_loss"]}
        if self.materials.test_windows is not None:
            found["mse_test"] = next_frame_error(self.model, self.materials.test_windows, check)["mse"]
        found |= transfer_errors(self.model, self.materials, check)
        facts = {"config": network, "frame_size": list(self.materials.dataset.size)}
        save_checkpoint(folder / "network.pt", {**facts, "model": self.model.state_dict()})
        if self.rdm is None and self.latest["hms"] is not None:
            # The trial was resumed after its last evaluation.
            self.rdm = measured(self.metrics["hms"], self.model, self.materials, check).get("rdm")
        if self.rdm is not None:
            parts = by_layer_and_step(SeenNetwork(self.model, check), SearchInputs(self.materials))
            write_rdm(folder, self.rdm, self.materials.stimuli.labels, parts)
        write_predictions(folder, self.model, self.materials.mse_windows)
        row = self.latest
        save_checkpoint(folder / "best.pt", {**facts, "model": self.best["weights"]})
        if self.best["val_loss"] != self.val_loss:
            best = PredNet(self.plan.network).to(self.trainer.device)
            best.load_state_dict(self.best["weights"])
            row, _ = evaluate(best, self.materials, self.metrics, between=check)
        return found | {f"{metric}_best": row[metric] for metric in self.metrics}

    def _validation_loss(self, check: Check) -> float:
        """Mean loss over the first `val_sequences` windows (every start, as in Lotter et al.)."""
        total = 0.0
        size = self.plan.batch_size  # the training batch's: a larger one would set the peak of memory
        for start in range(0, len(self.val_windows), size):
            indices = np.arange(start, min(start + size, len(self.val_windows)))
            total += self.trainer.loss(self.val_windows.take(indices)) * len(indices)
            check()
        return total / len(self.val_windows)
