"""Searches of a few networks with given curves, written as `hms export` writes them and read back."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from search.report.tables import SearchTables, read_tables

Curve = Mapping[int, float | None]
Written = Callable[..., SearchTables]
METRICS = ("hms", "mse", "accuracy")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A function: curves of the metrics by network -> the tables of a search that logged them.

    Each network is {metric: {epoch: value}}; None is undefined, a string is a status without a value. Options by
    network number: planned, trained, finish, seconds, final.
    """
    count = iter(range(1000))

    def write(networks: Sequence[Mapping[str, Curve]], *, record: dict[str, Any] | None = None, **options: Any) -> Any:
        folder = tmp_path / f"search{next(count)}"
        folder.mkdir()
        trials, epochs = [], []
        for tid, curves in enumerate(networks):
            own = {name: values[tid] for name, values in options.items() if tid in values}
            rows = [_row(tid, epoch, curves) for epoch in sorted({e for curve in curves.values() for e in curve})]
            epochs += rows
            trials.append(_trial(tid, rows, own))
        pd.DataFrame(trials, columns=TRIALS if not trials else None).to_csv(folder / "trials.csv", index=False)
        pd.DataFrame(epochs, columns=EPOCHS if not epochs else None).to_csv(folder / "epochs.csv", index=False)
        document = {"name": "written", "finished": True, "algorithm": "rand", "stopping": {"rule": "none"}}
        document |= {"config": {"metrics": {"every": 5}, "search": {"guide": "hms"}}} | (record or {})
        (folder / "search.json").write_text(json.dumps(document))
        return read_tables(folder)

    return write


TRIALS = [
    "tid", "point", "replicate", "state", "finish", "reason", "unmoved", "epochs_planned", "epochs_trained", "seconds",
    "device", "precision", "error", "mse_previous_frame", *METRICS, *(f"{metric}_status" for metric in METRICS),
]  # fmt: skip
EPOCHS = ["tid", "epoch", "mse_previous_frame", *METRICS, *(f"{metric}_status" for metric in METRICS)]


def _row(tid: int, epoch: int, curves: Mapping[str, Curve]) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(EPOCHS) | {"tid": tid, "epoch": epoch}
    for metric, curve in curves.items():
        value = curve.get(epoch)
        known = isinstance(value, float | int) and math.isfinite(value)
        row[metric] = value if known else None
        row[f"{metric}_status"] = "ok" if known else value if isinstance(value, str) else "undefined"
    return row


def _trial(tid: int, rows: list[dict[str, Any]], own: Mapping[str, Any]) -> dict[str, Any]:
    last = rows[-1] if rows else dict.fromkeys(EPOCHS)
    trained = own.get("trained", last["epoch"] or 0)
    row = dict.fromkeys(TRIALS) | {"tid": tid, "point": tid, "replicate": 0, "state": "DONE", "unmoved": False}
    row |= {"finish": own.get("finish", "max_epochs"), "epochs_trained": trained, "seconds": own.get("seconds", 60)}
    row |= {"epochs_planned": own.get("planned", trained)}
    row |= {key: last[key] for metric in METRICS for key in (metric, f"{metric}_status")}
    return row | own.get("final", {})
