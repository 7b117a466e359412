"""The table of all trials: one row each, with sort keys and a small curve of HMS over epochs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from search.report.figures.matrix import label
from search.report.tables import SearchTables
from search.report.wording import NOTHING, duration, number, significant

WIDTH, HEIGHT = 84, 22  # of a sparkline, CSS pixels


@dataclass(frozen=True)
class Cell:
    """`text` as shown, `key` to sort by (empty: no value), `curve` as SVG points, `state` for the coloured dot."""

    text: str
    key: Any
    curve: str = ""
    state: str = ""


def header(tables: SearchTables) -> list[tuple[str, str]]:
    """Title and kind (`text`, `number`) of each column."""
    fixed = [("Trial", "number"), ("State", "text"), ("HMS", "number"), ("HMS over epochs", "none")]
    fixed += [(metric.short, "number") for metric in tables.metrics.values() if metric.name != "hms"]
    fixed += [(column.replace("mse_", "MSE "), "number") for column in _at_the_end(tables)]
    fixed += [("Loss", "number")] if tables.record.imported else []
    fixed += [("Trained epochs", "number"), ("Planned epochs", "number")]
    parameters = [(label(name), "number") for name in _sampled(tables)]
    replicate = [("Point", "number"), ("Seed", "number")] if tables.record.replicates > 1 else []
    return fixed + replicate + parameters + [("Time", "number"), ("Device", "text"), ("Note", "text")]


def _sampled(tables: SearchTables) -> list[str]:
    """The hyperparameters; planned epochs have their own column."""
    return [name for name in tables.parameters if name != "param.epochs"]


def _at_the_end(tables: SearchTables) -> list[str]:
    """`mse_test` and errors on other videos, `mse_NAME`, measured when a trial ends; those with a value."""
    others = [metric for name, metric in tables.metrics.items() if name != "mse"]
    columns = [
        column
        for column in tables.trials.columns
        if column.startswith("mse_")
        and not column.endswith(("_status", "_previous_frame", "_best"))
        and not any(metric.owns(column) for metric in others)
    ]
    return [
        column
        for column in columns
        if pd.api.types.is_numeric_dtype(tables.trials[column]) and tables.trials[column].notna().any()
    ]


def rows(tables: SearchTables) -> list[list[Cell]]:
    """Cells of each trial in the order of `header`."""
    sparks = _sparklines(tables)
    return [_row(tables, record, sparks) for record in tables.trials.to_dict("records")]


def _row(tables: SearchTables, row: Mapping[Any, Any], sparks: dict[int, str]) -> list[Cell]:
    state = row["finish"] or row["state"]
    cells = [
        _cell(str(row["tid"]), row["tid"]),
        Cell(state, state, state=row["finish"] or row["state"].lower()),
        _metric(row["hms"], row["hms_status"], tables.metrics["hms"].digits),
        Cell("", "", curve=sparks.get(row["tid"], "")),
        *(
            _metric(row[name], row[f"{name}_status"], metric.digits)
            for name, metric in tables.metrics.items()
            if name != "hms"
        ),
        *(_cell(number(row[column], tables.metrics["mse"].digits), row[column]) for column in _at_the_end(tables)),
        *([_cell(significant(row["loss"]), row["loss"])] if tables.record.imported else []),
        _cell(number(row["epochs_trained"], 0), row["epochs_trained"]),
        _cell(number(row["epochs_planned"], 0), row["epochs_planned"]),
    ]
    if tables.record.replicates > 1:
        cells += [_cell(number(row[name], 0), row[name]) for name in ("point", "replicate")]
    cells += [_cell(significant(row[name]), row[name]) for name in _sampled(tables)]
    note = row["error"].strip().splitlines()[-1][:160] if row["error"].strip() else row["reason"]
    flags = "unmoved" if row["unmoved"] else ""
    device = " ".join(part for part in (row["device"], row["precision"]) if part)
    return [
        *cells,
        _cell(duration(row["seconds"]), row["seconds"]),
        _cell(device, device),
        _cell("; ".join(part for part in (flags, note) if part), note),
    ]


def _cell(text: str, key: Any) -> Cell:
    blank = key is None or (isinstance(key, float) and math.isnan(key))
    return Cell(text, "" if blank else key)


def _metric(value: float, status: str, digits: int) -> Cell:
    """The value, or the status that says why there is none."""
    named = status.removeprefix("undefined_").replace("_", " ")
    text = number(value, digits) if math.isfinite(value) else (named if status not in ("", "ok") else NOTHING)
    return _cell(text, value)


def _sparklines(tables: SearchTables) -> dict[int, str]:
    """HMS over epochs by tid as the points of an SVG polyline; all on the same axes, so that rows compare."""
    points = tables.epochs.dropna(subset=["hms"])
    if points.empty:
        return {}
    last = max(1.0, float(points["epoch"].max()))
    low, high = float(points["hms"].min()), float(points["hms"].max())
    spread = (high - low) or 1.0
    x = 2 + points["epoch"] / last * (WIDTH - 4)
    y = HEIGHT - 2 - (points["hms"] - low) / spread * (HEIGHT - 4)
    found: dict[int, list[str]] = {}
    for tid, left, top in zip(points["tid"], x, y, strict=True):
        found.setdefault(int(tid), []).append(f"{left:.1f},{top:.1f}")
    return {tid: " ".join(placed) for tid, placed in found.items()}
