"""Replicates of each sampled point: every seed a dot, every point a column, ordered by mean HMS."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.figures.style import Spec, axis, layout, numbers, panel_rows
from search.report.palette import LIGHT, tokens
from search.report.tables import SearchTables


@dataclass(frozen=True)
class Replicates:
    """frame: finished networks with `rank`, the 1-based order of their point by mean HMS; metrics with any value.

    colours: their tokens.
    """

    frame: pd.DataFrame
    metrics: list[Metric]
    colours: dict[str, str]


def prepare(tables: SearchTables) -> Replicates | None:
    """None when points were trained once or none finished."""
    done = tables.finished
    if tables.record.replicates <= 1 or done.empty or done["hms"].isna().all():
        return None
    means = done.groupby("point")["hms"].mean().sort_values(na_position="first")
    order = pd.Series(np.arange(1, len(means) + 1), index=means.index)
    frame = done.assign(rank=done["point"].map(order))
    shown = [metric for name, metric in tables.metrics.items() if done[name].notna().any()]
    return Replicates(frame, shown, tokens(tables.metrics))


def interactive(replicates: Replicates) -> Spec:
    """One panel a metric, the same order of points in each."""
    frame, data = replicates.frame, []
    spec = layout(320, margin={"l": 56, "r": 12, "t": 16, "b": 48})
    for i, metric in enumerate(replicates.metrics):
        suffix = "" if i == 0 else str(i + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        data.append(
            {"type": "scatter", "mode": "markers", "xaxis": x, "yaxis": y}
            | {"x": numbers(frame["rank"]), "y": numbers(frame[metric.name])}
            | {"text": [f"point {row.point:.0f}, trial {row.tid}" for row in frame.itertuples()]}
            | {"hovertemplate": f"%{{text}}<br>{metric.short} %{{y:.4g}}<extra></extra>"}
            | {"marker": {"size": 8, "color": f"@{replicates.colours[metric.name]}", "opacity": 0.75}}
        )
        spec[f"xaxis{suffix}"] = axis("Sampled point, by mean HMS", anchor=y)
        spec[f"yaxis{suffix}"] = axis(metric.axis, anchor=x)
    return {"data": data, "layout": spec, "panels": len(replicates.metrics)}


def printed(replicates: Replicates) -> Figure:
    """The same for print, 7 inches wide."""
    figure, axes = panel_rows(len(replicates.metrics), 7.0, 2.2)
    for ax, metric in zip(axes, replicates.metrics, strict=True):
        colour = LIGHT[replicates.colours[metric.name]]
        ax.scatter(replicates.frame["rank"], replicates.frame[metric.name], s=12, color=colour, alpha=0.75)
        ax.set(xlabel="Sampled point, by mean HMS", ylabel=metric.axis)
    return figure
