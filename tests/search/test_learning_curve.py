import sys
from pathlib import Path

import pytest

from search.config_reader import parse_config
from search.errors import UsageError
from search.learning_curve import LearningCurve, read_curve, require_tensorboard


def add(curve: LearningCurve, epoch: int, loss: float) -> None:
    curve.add(epoch, train_loss=loss, val_loss=2 * loss, learning_rate=1e-3, seconds=0.5)


def scalars(folder: Path, run: str, name: str) -> list[tuple[int, float]]:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulators.EventAccumulator(str(folder / "tensorboard" / run))
    events.Reload()
    return [(event.step, pytest.approx(event.value)) for event in events.Scalars(name)]


def config(**training):
    space = {"learning_rate": {"uniform": [0.1, 1.0]}}
    return parse_config({"search": {"name": "t"}, "space": space, "training": training}, source="the test")


def test_each_epoch_is_a_row_that_reads_back_exactly(tmp_path):
    curve = LearningCurve(tmp_path)
    for epoch in (1, 2):
        add(curve, epoch, 1 / (3 * epoch))
    assert read_curve(tmp_path / "curve.csv") == [
        {"epoch": e, "train_loss": 1 / (3 * e), "val_loss": 2 / (3 * e), "learning_rate": 1e-3, "seconds": 0.5}
        for e in (1, 2)
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["curve.csv"]


def test_epochs_that_are_trained_again_after_a_crash_replace_their_rows(tmp_path):
    first = LearningCurve(tmp_path)
    for epoch in range(1, 8):
        add(first, epoch, 0.1 * epoch)
    resumed = LearningCurve(tmp_path)
    add(resumed, 6, 9.0)
    assert [(r["epoch"], r["train_loss"]) for r in read_curve(tmp_path / "curve.csv")][4:] == [(5, 0.5), (6, 9.0)]
    over = LearningCurve(tmp_path)
    add(over, 1, 5.0)
    assert [r["epoch"] for r in read_curve(tmp_path / "curve.csv")] == [1]


def test_events_are_written_once_an_epoch_through_crashes_and_undefined_values(tmp_path):
    pytest.importorskip("tensorboard")
    first = LearningCurve(tmp_path, tensorboard=True)
    first.events("evaluation", 0, {"hms": None, "mse": 0.5})
    for epoch in range(1, 8):
        add(first, epoch, 0.1 * epoch)
        if epoch == 5:
            first.events("evaluation", epoch, {"hms": 0.1, "mse": float("nan")})
    resumed = LearningCurve(tmp_path, tensorboard=True)  # from a checkpoint of epoch 5, before its evaluation
    resumed.events("evaluation", 5, {"hms": 0.2, "mse": 0.4})
    add(resumed, 6, 9.0)
    assert scalars(tmp_path, "training", "train_loss")[4:] == [(5, 0.5), (6, 9.0)]
    assert scalars(tmp_path, "evaluation", "hms") == [(5, 0.2)]
    assert scalars(tmp_path, "evaluation", "mse") == [(0, 0.5), (5, 0.4)]


def test_no_events_unless_asked_for(tmp_path):
    LearningCurve(tmp_path).events("evaluation", 0, {"mse": 0.5})
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_refused_with_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as where it is not installed
    require_tensorboard(config())
    with pytest.raises(UsageError, match=r"pip install 'hms-search\[tensorboard\]'"):
        require_tensorboard(config(tensorboard=True))
