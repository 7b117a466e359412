"""The best network found against device time spent, for each stopping rule and for the controls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.early_stopping.replay import EarlyStopping
from search.report.early_stopping.scores import CONTROL, RULE
from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import LIGHT

Dash = str | tuple[float, Sequence[float]]
Style = tuple[str, str, Dash]

# Colour token, plotly's dash, matplotlib's dash of each rule in turn; two of one rule differ by the dash.
RULES: dict[str, Style] = {
    "none": ("ink", "solid", "-"),
    "threshold": ("mse", "dash", "--"),
    "median": ("fourth", "longdash", (0, (7, 3))),
    "asha": ("accuracy", "dashdot", "-."),
}
STABILITY: tuple[Style, ...] = (("hms", "solid", "-"), ("fifth", "longdash", (0, (7, 3))), ("sixth", "dashdot", "-."))
CONTROLS: dict[str, Style] = {"fixed_epoch": ("muted", "dash", "--"), "random": ("muted", "dot", ":")}
WIDE = ("none", "stability")


@dataclass(frozen=True)
class EqualBudget:
    """lines: title, style and curve (columns x, best, low, high) of each; `unit` of x; metric: what is best."""

    lines: list[tuple[str, Style, pd.DataFrame]]
    unit: str
    metric: Metric
    banded: set[str]


def prepare(early: EarlyStopping, metric: Metric) -> EqualBudget | None:
    """Every kind of rule once, stability by each metric, and the controls of stability by the guide metric."""
    table = early.budget
    if table.empty:
        return None
    column, unit = ("hours", "Device time spent (h)") if early.usable.timed else ("epochs", "Epochs trained")
    lines: list[tuple[str, Style, pd.DataFrame]] = []
    first = f"{metric.short} stable"
    seen: list[str] = []
    for key, curve in table.groupby(["kind", "rule", "label"], sort=False):
        kind, rule, label = (str(part) for part in key)
        if kind == RULE and (rule == "stability" or rule not in seen):
            style = STABILITY[seen.count("stability") % len(STABILITY)] if rule == "stability" else RULES[rule]
            seen.append(rule)
        elif kind == CONTROL and (curve["control_of"] == first).any():
            style, curve = CONTROLS[rule], curve[curve["control_of"] == first]
        else:
            continue
        lines.append((label, style, curve.rename(columns={column: "x"})[["x", "best", "low", "high"]]))
    return EqualBudget(lines, unit, metric, {"no stopping", first})


def interactive(budget: EqualBudget) -> Spec:
    """A line a rule, to the point where all networks are through; bands of the first two."""
    data: list[Spec] = []
    for label, (colour, dash, _), curve in budget.lines:
        if label in budget.banded:
            data.append(_band(label, colour, curve))
        line = {"color": f"@{colour}", "width": 2.4 if label in budget.banded else 1.6, "dash": dash}
        sizes = [0] * (len(curve) - 1) + [8]
        data.append(
            {"type": "scatter", "mode": "lines+markers", "name": label, "legendgroup": label, "line": line}
            | {"x": numbers(curve["x"]), "y": numbers(curve["best"])}
            | {"marker": {"size": sizes, "color": f"@{colour}", "line": {"width": 0}}}
            | {"hovertemplate": f"{label}<br>%{{x:.3g}}: %{{y:.4g}}<extra></extra>"}
        )
    rows = -(-len(budget.lines) // 3)
    spec = layout(420 + 14 * rows, margin={"l": 56, "r": 16, "t": 16, "b": 48}, showlegend=True)
    spec["xaxis"] = axis(budget.unit, rangemode="tozero")
    spec["yaxis"] = axis(f"Best {budget.metric.axis} in hand")
    return {"data": data, "layout": spec}


def _band(label: str, colour: str, curve: pd.DataFrame) -> Spec:
    x = np.r_[curve["x"], curve["x"][::-1]]
    y = np.r_[curve["low"], curve["high"][::-1]]
    band: Spec = {"type": "scatter", "x": numbers(x), "y": numbers(y), "fill": "toself", "mode": "lines"}
    band |= {"line": {"width": 0}, "fillcolor": f"@{colour}", "opacity": 0.12, "hoverinfo": "skip"}
    return band | {"showlegend": False, "legendgroup": label}


def printed(budget: EqualBudget) -> Figure:
    """The same for print, 6 inches wide."""
    figure, (ax,) = panels(1, 1, 6.0, 4.2)
    for label, (colour, _, dash), curve in budget.lines:
        if label in budget.banded:
            ax.fill_between(curve["x"], curve["low"], curve["high"], color=LIGHT[colour], alpha=0.1, linewidth=0)
        width = 1.8 if label in budget.banded else 1.1
        ax.plot(curve["x"], curve["best"], color=LIGHT[colour], linestyle=dash, linewidth=width, label=label)
        ax.scatter(curve["x"].tail(1), curve["best"].tail(1), s=14, color=LIGHT[colour], zorder=3)
    ax.set(xlabel=budget.unit, ylabel=f"Best {budget.metric.axis} in hand")
    ax.set_xlim(left=0)
    figure.legend(fontsize=7, loc="outside lower center", ncols=3)
    return figure
