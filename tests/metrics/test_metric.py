import json
import math

import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.metric import Metric, checked, is_status
from metrics.registry import METRICS

SPEED = Metric(
    "speed", "Speed of learning", "epochs", False, 0.0, math.inf, "A. Author (2020).", title="Speed", digits=1
)


@pytest.mark.parametrize("name", ["", "Speed", "2nd", "a-b", "a.b", "$a", "é", "x" * 41])
def test_a_name_that_no_column_could_have_is_refused(name):
    with pytest.raises(MetricError, match="is no name of a metric"):
        Metric(name, "", "", True, 0.0, 1.0, "")


def test_a_range_needs_two_ends():
    with pytest.raises(MetricError, match=r"low is 1\.0 and high 1\.0"):
        Metric("speed", "", "", True, 1.0, 1.0, "")


@pytest.mark.parametrize("metric", [*METRICS.values(), SPEED])
def test_a_description_is_json_and_reads_back_to_all_but_the_function(metric):
    facts = json.loads(json.dumps(metric.description(), allow_nan=False))
    again = Metric.from_description({**facts, "a_key_of_tomorrow": 1})
    for field in ("name", "label", "unit", "higher_is_better", "low", "high", "citation", "short", "digits", "part"):
        assert getattr(again, field) == getattr(metric, field), field
    assert again.measure is None


def test_how_it_is_shown():
    assert (SPEED.short, SPEED.axis, SPEED.direction) == ("Speed", "Speed (epochs)", "lower is better, from 0")
    assert METRICS["hms"].direction == "higher is better, -1..1"
    assert SPEED.sign == -1 and SPEED.part == "speed" and METRICS["accuracy"].part == "matching"


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), np.array(3.0)])
def test_numbers_of_any_kind_become_a_float_or_int_with_the_status_ok(value):
    row = checked(SPEED, {"speed": value, "speed_of": "layer", "speed_none": None})
    assert row == {"speed": 3, "speed_of": "layer", "speed_none": None, "speed_status": "ok"}
    assert type(row["speed"]) in (int, float)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_nan_and_infinity_are_undefined_whatever_the_status_says(value):
    assert checked(SPEED, {"speed": value, "speed_status": "ok"}) == {"speed": None, "speed_status": "diverged"}


def test_none_is_undefined():
    assert checked(SPEED, {"speed": None}) == {"speed": None, "speed_status": "undefined"}
    named = {"speed": None, "speed_status": "undefined_constant"}
    assert checked(SPEED, named) == named


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "must give a mapping with the key `speed`, gave None"),
        (0.5, "gave 0.5"),
        ({}, r"gave \[\]"),
        ({"hms": 1.0}, r"gave \['hms'\]"),
        ({"speed": "fast"}, "gave the text 'fast'"),
        ({"speed": 1.0, "hms": 0.5}, "gave the column `hms`: its columns begin with speed_"),
        ({"speed": np.zeros(3)}, "is no number, text or None"),
        ({"speed": 1.0, "speed_map": np.zeros((2, 2))}, "column `speed_map`"),
        ({"speed": 1j}, "is no number"),
        ({"speed": -1.0}, r"gave -1, which is outside 0\.\.inf"),
        ({"speed": 1.0, "speed_status": "diverged"}, "the value 1.0 with the status 'diverged'"),
        ({"speed": None, "speed_status": "ok"}, "the value None with the status 'ok'"),
        ({"speed": None, "speed_status": "tired"}, "status 'tired'"),
        ({"speed": 1.0, "speed_status": 3}, "status 3"),
    ],
)
def test_what_is_no_row_is_refused_by_the_metrics_name(columns, message):
    with pytest.raises(MetricError, match=f"metric `speed`.*{message}"):
        checked(SPEED, columns)


def test_only_declared_columns_hold_arrays_or_have_other_names():
    rdm = np.zeros((2, 2))
    row = checked(METRICS["hms"], {"hms": 0.5, "rho_a": 0.4, "rdm": rdm})
    assert row["rdm"] is rdm and row["rho_a"] == 0.4


def test_statuses():
    assert all(map(is_status, ("ok", "diverged", "undefined", "undefined_zero")))
    assert not any(map(is_status, ("", "undefinedly", "OK", "failed")))
