import math
from datetime import UTC, datetime

from metrics.registry import METRICS
from search.serve.views import curve_view, trial_view
from search.store import new_job_document

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def job(**fields):
    document = new_job_document("s", 3, params={"lr": 0.1, "epochs": 40, "layers": [1, 2], "loss": "L0"}, seed=1)
    return {**document, **fields}


def test_a_waiting_trial_has_no_numbers_yet():
    view = trial_view(job(), METRICS)
    assert (view["state"], view["epoch"], view["planned"], view["began"]) == ("NEW", None, 40, None)
    assert view["metrics"] == {"hms": None, "mse": None, "accuracy": None}
    assert view["params"] == {"lr": 0.1, "epochs": 40, "loss": "L0"}


def test_a_running_one_shows_its_progress_and_its_worker():
    progress = {"epoch": 7, "epochs": 40, "evaluated": 5, "hms": math.nan, "mse": 0.5, "accuracy": True}
    running = job(state=1, progress=progress, owner={"host": "node", "device": "cuda:0"}, book_time=NOW, attempt=2)
    view = trial_view(running, METRICS)
    assert (view["epoch"], view["worker"], view["attempts"]) == (7, "node cuda:0", 2)
    assert view["metrics"] == {"hms": None, "mse": 0.5, "accuracy": None}
    assert view["began"] == "2024-05-01T12:00:00+00:00" and view["ended"] is None
    rows = [{"tid": 3, "epoch": 5, "hms": 0.1}, {"tid": 3, "epoch": 10, "hms": 0.2, "mse": None, "accuracy": 0.3}]
    view = trial_view(running, METRICS, rows)  # its worker has not yet said that it is so far
    assert (view["epoch"], view["planned"]) == (10, 40)
    assert view["metrics"] == {"hms": 0.2, "mse": None, "accuracy": 0.3}


def test_an_ended_one_says_how_and_when_a_rule_ended_it():
    result = {"finish": "below_threshold", "stopped": {"epoch": 30, "rule": "threshold"}, "epochs_trained": 30}
    result |= {"epochs_planned": 40, "reason": "", "hms": 0.1, "seconds": {"training": 4.0, "hms": 1.0}}
    history = [{"attempt": 1, "began": NOW, "owner": {"host": "a", "device": "cpu"}}]
    view = trial_view(job(state=2, result=result, refresh_time=NOW, history=history, owner=None), METRICS)
    assert (view["finish"], view["stopped"], view["epoch"], view["seconds"]) == ("below_threshold", 30, 30, 5.0)
    assert view["worker"] == "a cpu" and view["ended"] == view["began"]
    failed = trial_view(job(state=3, error={"message": "out of memory"}, refresh_time=NOW), METRICS)
    assert failed["reason"] == "out of memory" and failed["finish"] == ""


def test_an_imported_owner_may_be_a_text():
    assert trial_view(job(state=2, owner="node:12"), METRICS)["worker"] == "node:12"


def test_a_curve_keeps_gaps():
    rows = [{"tid": 0, "epoch": 0, "hms": 0.1}, {"tid": 0, "epoch": 5, "hms": None}]
    assert curve_view(rows, ["hms", "mse"]) == {"epoch": [0, 5], "hms": [0.1, None], "mse": [None, None]}
