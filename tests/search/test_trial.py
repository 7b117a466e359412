"""The loop of a trial, with a learner whose curves are known: what is reported, kept, resumed and decided."""

from pathlib import Path
from typing import Any

import pytest

from metrics.registry import METRICS
from prednet.errors import Diverged
from search.config_reader import parse_config
from search.order import Preempted, TrialOrder
from search.toy_learner import ToyLearner
from search.trial import Trial, guided_loss


def order(folder: Path, **changes: Any) -> TrialOrder:
    config = parse_config(
        {
            "search": {"name": "t"},
            "space": {"learning_rate": {"uniform": [0.1, 1.0]}},
            "training": {"learner": "toy", "toy_seconds": 0.0, "device": "cpu"},
            **changes.pop("config", {}),
        },
        source="the test",
    )
    given = {"params": {"epochs": 12}, "seed": 0, **changes}
    return TrialOrder("t", 0, config=config, folder=folder, data_root=folder, device="cpu", threads=1, **given)


class Messages(list[tuple[str, dict[str, Any]]]):
    def __call__(self, kind: str, payload: dict[str, Any]) -> None:
        self.append((kind, dict(payload)))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [payload for told, payload in self if told == kind]


def run(
    given: TrialOrder, learner: Any = None, stop_after: int | None = None
) -> tuple[dict[str, Any] | None, Messages]:
    """The result (None when pre-empted at the n-th check) and what was reported."""
    messages, checks = Messages(), iter(range(10**6))
    trial = Trial(
        given, learner or ToyLearner(given), messages, lambda: stop_after is not None and next(checks) >= stop_after
    )
    try:
        return trial.run(), messages
    except Preempted:
        return None, messages


class Steps(ToyLearner):
    """Checks once an epoch, so that a test can choose where to stop."""

    def train_epoch(self, epoch, check):
        check()
        return super().train_epoch(epoch, check)


def test_every_fifth_epoch_and_the_last_are_evaluated_once(tmp_path):
    result, messages = run(order(tmp_path))
    assert [row["epoch"] for row in messages.of("epoch")] == [0, 5, 10, 12]
    assert result["finish"] == "max_epochs" and result["epochs_trained"] == 12
    assert result["hms"] == messages.of("epoch")[-1]["hms"]
    assert result["status"] == "ok" and result["loss"] == -result["hms"]


def test_the_stability_rule_ends_a_flat_curve_at_epoch_30(tmp_path):
    class Flat(ToyLearner):
        def evaluate(self, check):
            return {**super().evaluate(check), "hms": 0.1}

    given = order(tmp_path, params={"epochs": 100})
    result, messages = run(given, Flat(given))
    assert result["finish"] == "hms_stable" and result["stopped"] == {"epoch": 30, "rule": "stability"}
    assert result["unmoved"] and messages.of("epoch")[-1]["stable"]
    assert messages.of("epoch")[-1]["window_sd"] == 0.0


@pytest.mark.parametrize("stopped_at", [1, 4, 7, 11])
def test_a_pre_empted_trial_continues_as_if_unbroken(tmp_path, stopped_at):
    unbroken, whole = run(order(tmp_path / "a"))
    given = order(tmp_path / "b")
    nothing, first = run(given, Steps(given), stop_after=stopped_at)
    assert nothing is None
    rows = first.of("epoch")
    again = order(tmp_path / "b", checkpoints=tuple(reversed(first.of("checkpoint")[-2:])), history=tuple(rows))
    result, second = run(again)
    assert second.of("begin")[0]["trained"] == stopped_at
    told = [(row["epoch"], row["hms"]) for row in rows + second.of("epoch")]
    assert told == [(row["epoch"], row["hms"]) for row in whole.of("epoch")]
    assert {k: v for k, v in result.items() if k != "seconds"} == {k: v for k, v in unbroken.items() if k != "seconds"}


def test_a_torn_checkpoint_falls_back_to_the_one_before(tmp_path):
    given = order(tmp_path)
    _, first = run(given, Steps(given), stop_after=11)
    newest, before = reversed(first.of("checkpoint")[-2:])
    assert (newest["epoch"], newest["trained"], before["epoch"]) == (10, 11, 10)
    torn = tmp_path / newest["file"]
    torn.write_bytes(torn.read_bytes()[:-50])
    history = tuple(first.of("epoch"))
    result, second = run(order(tmp_path, checkpoints=(newest, before), history=history))
    assert "checkpoint skipped" in second.of("warning")[0]["message"]
    begun = {"epoch": before["epoch"], "trained": before["trained"], "epochs": 12}
    assert second.of("begin")[0] == {**begun, "skipped": [newest["file"]], "damaged": [newest["file"]]}
    assert result["epochs_trained"] == 12


def test_no_readable_checkpoint_starts_over(tmp_path):
    gone = {"epoch": 5, "trained": 5, "file": "checkpoint-gone.pt", "sha256": "0" * 64}
    result, messages = run(
        order(tmp_path, checkpoints=(gone,), history=({"epoch": 5, "hms": 1.0, "hms_status": "ok"},))
    )
    assert messages.of("begin")[0]["trained"] == 0
    assert [row["epoch"] for row in messages.of("epoch")] == [0, 5, 10, 12]
    assert result["finish"] == "max_epochs"


def test_divergence_is_a_result_without_numbers(tmp_path):
    class Explodes(ToyLearner):
        def train_epoch(self, epoch, check):
            if epoch == 7:
                raise Diverged("the loss became nan at step 70")
            return super().train_epoch(epoch, check)

    given = order(tmp_path)
    result, _ = run(given, Explodes(given))
    assert (result["finish"], result["status"], result["epochs_trained"]) == ("diverged", "fail", 6)
    assert result["hms"] is result["mse"] is result["accuracy"] is result["loss"] is None
    assert result["hms_status"] == "diverged" and "step 70" in result["reason"]


@pytest.mark.parametrize("metric", ["hms", "mse"])
def test_a_metric_that_is_nan_whatever_its_status_says_is_undefined(tmp_path, metric):
    class Confused(ToyLearner):
        def evaluate(self, check):
            return {**super().evaluate(check), metric: float("nan") if self.trained >= 5 else 0.1}

    given = order(tmp_path)
    result, messages = run(given, Confused(given))
    assert messages.of("epoch")[1][metric] is None and messages.of("epoch")[1][f"{metric}_status"] == "diverged"
    assert (result["finish"], result["status"]) == {"hms": ("diverged", "fail"), "mse": ("max_epochs", "ok")}[metric]


def test_a_collapsed_network_ends_after_six_undefined_scores(tmp_path):
    class Collapses(ToyLearner):
        def evaluate(self, check):
            return {**super().evaluate(check), "hms": None, "hms_status": "undefined_collapsed"}

    given = order(tmp_path, params={"epochs": 100})
    result, _ = run(given, Collapses(given))
    assert (result["finish"], result["epochs_trained"], result["status"]) == ("collapsed", 30, "fail")
    assert "undefined_collapsed" in result["reason"]


@pytest.mark.parametrize(("guide", "loss"), [("hms", -0.1), ("mse", 0.02), ("accuracy", -0.3)])
def test_the_guiding_metric_becomes_a_loss_that_is_lower_for_better(guide, loss):
    result = {"hms": 0.1, "mse": 0.02, "accuracy": 0.3, "finish": "max_epochs", "reason": ""}
    assert guided_loss(METRICS[guide], result) == {"status": "ok", "loss": loss}
