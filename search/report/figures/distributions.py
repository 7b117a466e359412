"""How a metric is distributed in each of several searches: boxes, with every network as a dot where they are few."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from metrics.metric import Metric
from search.report.figures.style import Spec, axis, layout, numbers, panel_rows
from search.report.palette import LIGHT

DOTS_UP_TO = 300
COLOURS = ("hms", "mse", "accuracy", "accent", "fourth", "fifth", "sixth", "seventh")


@dataclass(frozen=True)
class Distributions:
    """values: metric -> label of the search -> its networks' values (n,)."""

    metrics: list[Metric]
    values: dict[str, dict[str, NDArray[np.float64]]]


def colour(position: int) -> str:
    """The colour token of the first, second, ... search."""
    return COLOURS[position % len(COLOURS)]


def interactive(distributions: Distributions) -> Spec:
    """One panel a metric, one box a search."""
    data: list[Spec] = []
    spec = layout(360, margin={"l": 56, "r": 12, "t": 30, "b": 48}, boxgap=0.4)
    for i, metric in enumerate(distributions.metrics):
        suffix = "" if i == 0 else str(i + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        for position, (name, values) in enumerate(distributions.values[metric.name].items()):
            token = f"@{colour(position)}"
            dots = {"boxpoints": "all" if len(values) <= DOTS_UP_TO else "outliers", "jitter": 0.5, "pointpos": 0}
            data.append(
                {"type": "box", "xaxis": x, "yaxis": y, "name": name, "x0": name, "y": numbers(values)}
                | {"line": {"color": token, "width": 1.6}, "fillcolor": "rgba(0,0,0,0)", "hoveron": "points+boxes"}
                | {"marker": {"color": token, "size": 5, "opacity": 0.5}}
                | dots
            )
        spec[f"xaxis{suffix}"] = axis("", anchor=y, type="category")
        spec[f"yaxis{suffix}"] = axis(metric.axis, anchor=x)
    return {"data": data, "layout": spec, "panels": len(distributions.metrics)}


def printed(distributions: Distributions) -> Figure:
    """The same for print, 7 inches wide."""
    figure, axes = panel_rows(len(distributions.metrics), 7.0, 2.6)
    rng = np.random.default_rng(0)  # where the dots stand across
    for ax, metric in zip(axes, distributions.metrics, strict=True):
        groups = distributions.values[metric.name]
        for position, values in enumerate(groups.values()):
            tint = LIGHT[colour(position)]
            line = {"color": tint, "linewidth": 1.2}
            ax.boxplot(
                values, positions=[position], widths=0.5, showfliers=False, boxprops=line, whiskerprops=line,
                capprops=line, medianprops=line,
            )  # fmt: skip
            across = position + rng.uniform(-0.18, 0.18, len(values))
            ax.scatter(across, values, s=5, color=tint, alpha=0.5, linewidths=0)
        ax.set_xticks(range(len(groups)), list(groups), rotation=20 if len(groups) > 2 else 0)
        ax.set_ylabel(metric.axis)
    return figure
