"""A learner that trains nothing: known curves at a known pace, for benchmarks of the store and failure tests.

`--set training.learner=toy`. HMS rises as 0.2 (1 - exp(-epoch / 10)) plus a small offset of the trial's seed, so that
its window's SD falls with the epochs; every other metric follows from it, in its own direction, without a network to
measure. Every state is reproducible from (seed, epoch).
"""

import math
import time
from typing import Any

from metrics.metric import Metric
from search.logged_metrics import metrics_of
from search.order import Check, TrialOrder

SLICE_SECONDS = 0.01


class ToyLearner:
    """See `search.trial.Learner`. An epoch takes `training.toy_seconds`, and evaluation no time."""

    def __init__(self, order: TrialOrder) -> None:
        training = order.config.training
        self.epochs = int(order.params.get("epochs", training.epochs))
        self.seconds = training.toy_seconds
        self.metrics = metrics_of(order.config)
        self.offset = (order.seed % 1000) / 20_000
        self.trained = 0

    def train_epoch(self, epoch: int, check: Check) -> dict[str, float]:
        """Sleep in slices, with a check after each as a real learner has after each step."""
        started = time.perf_counter()
        while (left := self.seconds - (time.perf_counter() - started)) > 0:
            time.sleep(min(SLICE_SECONDS, left))
            check()
        self.trained = epoch
        return {"training": time.perf_counter() - started, "validation": 0.0}

    def evaluate(self, check: Check) -> dict[str, Any]:
        """The known curves at the epoch trained last."""
        hms = 0.2 * (1 - math.exp(-self.trained / 10)) + self.offset
        row: dict[str, Any] = {name: _following(metric, hms) for name, metric in self.metrics.items()}
        row |= {"hms": hms, "rho_a": hms, "mse_previous_frame": 0.01}
        row |= {f"{name}_status": "ok" for name in self.metrics}
        return row | {f"seconds_{metric.part}": 0.0 for metric in self.metrics.values()}

    def state(self) -> dict[str, Any]:
        """The epoch trained last."""
        return {"trained": self.trained}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.trained = state["trained"]

    def conclude(self, check: Check) -> dict[str, Any]:
        """Nothing to write."""
        return {"n_parameters": 0}


def _following(metric: Metric, hms: float) -> float:
    """A value that gets better as HMS does, within the metric's range."""
    value = hms / 2 if metric.higher_is_better else 0.01 / (1 + hms)
    return min(max(value, metric.low), metric.high)
