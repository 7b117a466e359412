import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.report.tables import read_tables
from search.report.trial_rows import CURVE_STEPS, trial_table

WriteTables = Callable[..., Path]


def columns(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {column["title"]: column for column in table["columns"]}


def test_each_trial_has_its_values_and_words_where_there_are_none(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=9, diverged=1, collapsed=1, failed=1, unfinished=2))
    found = columns(trial_table(tables))
    assert found["Trial"]["values"] == list(range(9))
    assert found["State"]["values"][:2] == ["diverged", "collapsed"]
    assert found["State"]["values"][-3:] == ["RUNNING", "NEW", "ERROR"]
    assert found["HMS"]["values"][:2] == ["diverged", "collapsed"]
    assert found["HMS"]["values"][7] is None  # never evaluated
    np.testing.assert_allclose(found["HMS"]["values"][2:6], tables.trials["hms"][2:6], rtol=1e-6)
    assert found["learning rate"]["values"] == pytest.approx(list(tables.trials["param.learning_rate"]))
    assert found["loss"]["values"] == list(tables.trials["param.loss"])
    assert "planned epochs" not in found  # `Planned epochs` has them
    assert found["Note"]["values"][-1] == "RuntimeError: out of memory"
    assert {len(column["values"]) for column in found.values() if column["kind"] != "curve"} == {9}


def test_small_curves_keep_order_and_scale(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=5, collapsed=1))
    curves = trial_table(tables)["curves"]
    points = np.frombuffer(base64.b64decode(curves["points"]), dtype=np.uint8).reshape(-1, 2)
    defined = tables.epochs.dropna(subset=["hms"])
    assert curves["lengths"] == [int((defined["tid"] == tid).sum()) for tid in range(5)]
    low, high = defined["hms"].min(), defined["hms"].max()
    drawn = high - points[:, 1] / CURVE_STEPS * (high - low)
    assert np.abs(drawn - defined["hms"]).max() <= (high - low) / CURVE_STEPS / 2 + 1e-12
    assert list(points[: curves["lengths"][0], 0]) == sorted(points[: curves["lengths"][0], 0])


def test_no_trials_and_no_evaluations(write_tables: WriteTables) -> None:
    empty = trial_table(read_tables(write_tables("none", trials=0, artifacts=0)))
    assert empty["curves"] == {"lengths": [], "points": ""}
    waiting = trial_table(read_tables(write_tables("waiting", trials=2, unfinished=2, artifacts=0)))
    assert columns(waiting)["HMS"]["values"][1] is None
    assert waiting["curves"]["lengths"][1] == 0
