"""The table of all trials as data: columns of values that `trial_table.js` formats, sorts, filters and pages.

Values travel as numbers of seven significant digits and are formatted in the page, so that 2,000 trials take a few
hundred kilobytes and no more rows stand in the document than are seen.
"""

import base64
import math
from typing import Any

import numpy as np
import pandas as pd

from search.report.figures.matrix import label
from search.report.tables import SearchTables

CURVE_STEPS = 255  # a small curve's points lie on a grid of so many steps both ways
DIGITS = 7


def trial_table(tables: SearchTables) -> dict[str, Any]:
    """`columns`: title, kind and values, one a trial; `curves`: the small curves of HMS over epochs.

    Kinds: `tid`, `state` and `text`; `fixed` (with `digits`), `significant` and `duration` (s) are numbers, or the
    word that says why there is none; null where there is nothing to say. `curve` has no values of its own.
    """
    return {"columns": _columns(tables), "curves": _curves(tables)}


def _columns(tables: SearchTables) -> list[dict[str, Any]]:
    trials, metrics = tables.trials, dict(tables.metrics)
    mse_digits, hms = metrics["mse"].digits, metrics.pop("hms")
    columns = [
        _column("Trial", "tid", trials["tid"]),
        _column("State", "state", trials["finish"].where(trials["finish"] != "", trials["state"])),
        _metric(trials, "hms", hms.short, hms.digits),
        {"title": "HMS over epochs", "kind": "curve", "values": []},
        *(_metric(trials, name, metric.short, metric.digits) for name, metric in metrics.items()),
        *(_fixed(name.replace("mse_", "MSE "), trials[name], mse_digits) for name in _at_the_end(tables)),
        *([_column("Loss", "significant", trials["loss"])] if tables.record.imported else []),
        _fixed("Trained epochs", trials["epochs_trained"]),
        _fixed("Planned epochs", trials["epochs_planned"]),
    ]
    if tables.record.replicates > 1:
        columns += [_fixed("Point", trials["point"]), _fixed("Seed", trials["replicate"])]
    # Planned epochs have their own column.
    sampled = [name for name in tables.parameters if name != "param.epochs"]
    columns += [_column(label(name), "significant", trials[name]) for name in sampled]
    device = (trials["device"] + " " + trials["precision"]).str.strip()
    return [
        *columns,
        _column("Time", "duration", trials["seconds"]),
        _column("Device", "text", device),
        _column("Note", "text", pd.Series([_note(row) for row in trials.to_dict("records")], dtype=object)),
    ]


def _column(title: str, kind: str, values: pd.Series, **more: Any) -> dict[str, Any]:
    return {"title": title, "kind": kind, "values": [_plain(value) for value in values.tolist()], **more}


def _fixed(title: str, values: pd.Series, digits: int = 0) -> dict[str, Any]:
    return _column(title, "fixed", values, digits=digits)


def _metric(trials: pd.DataFrame, name: str, title: str, digits: int) -> dict[str, Any]:
    """The values, and in their place where there is none the status that says why."""
    named = trials[f"{name}_status"].map(lambda status: "" if status == "ok" else _spoken(status))
    return _fixed(title, trials[name].astype(object).where(trials[name].notna(), named), digits)


def _spoken(status: str) -> str:
    return status.removeprefix("undefined_").replace("_", " ")


def _plain(value: Any) -> Any:
    """A value for JSON: short numbers, None for what is empty."""
    if value is None or value == "" or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value if isinstance(value, bool | int | str) else str(value)


def _note(row: dict[Any, Any]) -> str:
    error = row["error"].strip()
    note = error.splitlines()[-1][:160] if error else row["reason"]
    return "; ".join(part for part in ("unmoved" if row["unmoved"] else "", note) if part)


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


def _curves(tables: SearchTables) -> dict[str, Any]:
    """HMS over epochs, all on the same axes so that rows compare.

    `lengths`: points of each trial; `points`: x and y of all of them after one another, bytes as base64, y downwards.
    """
    points = tables.epochs.dropna(subset=["hms"])
    last = max(1.0, float(points["epoch"].max())) if len(points) else 1.0
    low, high = (float(points["hms"].min()), float(points["hms"].max())) if len(points) else (0.0, 1.0)
    x = points["epoch"] / last
    y = (high - points["hms"]) / ((high - low) or 1.0)
    grid = np.round(np.column_stack([x, y]) * CURVE_STEPS).astype(np.uint8)
    lengths = points.groupby("tid").size().reindex(tables.trials["tid"], fill_value=0)
    return {"lengths": lengths.tolist(), "points": base64.b64encode(grid.tobytes()).decode("ascii")}
