"""The best value that each of several searches had found, against the device-hours that it had spent."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.figures.distributions import colour
from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import LIGHT
from search.report.tables import SearchTables

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
"""Plotly's names of the same: the shape tells searches apart without colour too."""


@dataclass(frozen=True)
class Found:
    """runs: label -> columns hours, best; one row a finished trial, in the order in which they ended."""

    metric: Metric
    runs: dict[str, pd.DataFrame]


def prepare(searches: dict[str, SearchTables], metric: Metric) -> Found | None:
    """None where no search says what its trials took."""
    runs = {label: _run(tables, metric) for label, tables in searches.items()}
    runs = {label: run for label, run in runs.items() if len(run)}
    return Found(metric, runs) if runs else None


def _run(tables: SearchTables, metric: Metric) -> pd.DataFrame:
    trials = tables.trials.reindex(columns=["tid", "state", "seconds", "end_time", metric.name])
    ended = trials[trials["seconds"].notna() & trials["end_time"].notna()]
    ended = ended.assign(at=pd.to_datetime(ended["end_time"], utc=True, errors="coerce", format="ISO8601"))
    ended = ended.sort_values(["at", "tid"])
    values = ended[metric.name].where(ended["state"] == "DONE")
    best = values.cummax().ffill() if metric.higher_is_better else values.cummin().ffill()
    run = pd.DataFrame({"hours": ended["seconds"].cumsum() / 3600, "best": best, "tid": ended["tid"]})
    return run[np.isfinite(run["best"])]


def interactive(found: Found) -> Spec:
    """One line a search."""
    data: list[Spec] = []
    for position, (name, run) in enumerate(found.runs.items()):
        token = f"@{colour(position)}"
        data.append(
            {"type": "scatter", "mode": "lines+markers", "name": name, "x": numbers(run["hours"])}
            | {"y": numbers(run["best"]), "line": {"color": token, "width": 2, "shape": "hv"}}
            | {"marker": {"symbol": SYMBOLS[position % len(SYMBOLS)], "size": 5, "color": token}}
            | {"hovertemplate": f"{name}<br>%{{x:.3g}} device-hours: %{{y:.4g}}<extra></extra>"}
        )
    spec = layout(340, margin={"l": 56, "r": 16, "t": 16, "b": 48}, showlegend=True)
    spec["xaxis"] = axis("Device-hours spent, trials in the order in which they ended", rangemode="tozero")
    spec["yaxis"] = axis(f"Best {found.metric.axis} so far")
    return {"data": data, "layout": spec}


def printed(found: Found) -> Figure:
    """The same for print, 5 inches wide."""
    figure, (ax,) = panels(1, 1, 5.0, 2.8)
    for position, (name, run) in enumerate(found.runs.items()):
        look: dict[str, Any] = {
            "color": LIGHT[colour(position)],
            "marker": MARKERS[position % len(MARKERS)],
            "markersize": 3,
        }
        ax.step(run["hours"], run["best"], where="post", linewidth=1.4, label=name, **look)
    ax.set(xlabel="Device-hours spent", ylabel=f"Best {found.metric.axis} so far")
    ax.set_xlim(left=0)
    ax.legend(fontsize=7)
    return figure
