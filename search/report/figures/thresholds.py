"""Accuracy, time saved and networks kept by threshold of the guide metric (the paper's Figure 5)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report import paper
from search.report.early_stopping.replay import EarlyStopping
from search.report.early_stopping.thresholds import COLUMNS
from search.report.figures.style import Spec, axis, layout, numbers, panel_rows
from search.report.palette import LIGHT

REACHING = "networks that reach it (%)"


@dataclass(frozen=True)
class Panel:
    """One panel: its y title and its lines: name, colour token, dash, columns of `frame` (middle, low, high)."""

    title: str
    lines: list[tuple[str, str, str, tuple[str, str, str] | tuple[str]]]


@dataclass(frozen=True)
class Thresholds:
    """frame: `thresholds.COLUMNS`, shares in per cent; metric: whose threshold; paper: its point, or None.

    note: that the paper's data are others, or empty.
    """

    frame: pd.DataFrame
    metric: Metric
    panels: list[Panel]
    paper: tuple[float, float] | None
    note: str

    @property
    def published(self) -> str:
        """The paper's point in words."""
        return f"paper: {paper.ABOVE_THRESHOLD} of {paper.NETWORKS} above {paper.THRESHOLD}{self.note}"


def prepare(
    early: EarlyStopping, metric: Metric, accuracy: Metric | None, *, compare: bool, note: str = ""
) -> Thresholds | None:
    """None where nothing was replayed, or no network was ever stable."""
    table = early.thresholds
    if len(table) < 2:
        return None
    frame = table.copy()
    shares = [name for name in COLUMNS if "share" in name]
    frame[shares] *= 100
    kind = "time_share" if early.usable.timed else "epochs_share"
    saved = (kind, f"{kind}_low", f"{kind}_high") if early.usable.timed else (kind,)
    name = "device time saved (%)" if early.usable.timed else "epochs saved (%)"
    lines = [(name, "hms", "solid", saved), (REACHING, "muted", "dash", ("reaching_share",))]
    found = [Panel("Share (%)", lines)]
    if accuracy is not None and frame["accuracy_mean"].notna().sum() > 1:
        columns = ("accuracy_mean", "accuracy_low", "accuracy_high")
        name = f"mean {accuracy.short.lower()} of networks that reach it"
        found.insert(0, Panel(accuracy.axis, [(name, "accuracy", "solid", columns)]))
    published = (paper.THRESHOLD, 100 * paper.ABOVE_THRESHOLD / paper.NETWORKS)
    return Thresholds(frame, metric, found, published if compare and metric.name == "hms" else None, note)


def interactive(thresholds: Thresholds) -> Spec:
    """Accuracy of the networks that reach the threshold, then what it saves and keeps."""
    frame = thresholds.frame
    data: list[Spec] = []
    spec = layout(360, margin={"l": 56, "r": 16, "t": 16, "b": 48}, showlegend=True)
    for i, panel in enumerate(thresholds.panels):
        suffix = "" if i == 0 else str(i + 1)
        place = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        for name, colour, dash, columns in panel.lines:
            if len(columns) == 3:
                rows = frame.dropna(subset=list(columns))
                band: Spec = {"x": numbers(np.r_[rows["threshold"], rows["threshold"][::-1]])}
                band |= {"y": numbers(np.r_[rows[columns[1]], rows[columns[2]][::-1]])}
                style = {"fill": "toself", "fillcolor": f"@{colour}", "opacity": 0.15, "line": {"width": 0}}
                band |= {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
                data.append(band | style | place)
            line = {"color": f"@{colour}", "width": 2, "dash": dash}
            hover = f"threshold %{{x:.3f}}: %{{y:.3g}}, {name}<br>%{{text}}<extra></extra>"
            data.append(
                {"type": "scatter", "mode": "lines", "name": name, "line": line, "hovertemplate": hover}
                | {"x": numbers(frame["threshold"]), "y": numbers(frame[columns[0]])}
                | {"text": [f"{n} networks reach it" for n in frame["reaching"]]}
                | place
            )
        spec[f"xaxis{suffix}"] = axis(f"Threshold, {thresholds.metric.axis}", anchor=place["yaxis"])
        spec[f"yaxis{suffix}"] = axis(panel.title, anchor=place["xaxis"], rangemode="tozero")
    if thresholds.paper is not None:
        marker: Spec = {"symbol": "x", "size": 10, "color": "@muted"}
        data.append(
            {"type": "scatter", "mode": "markers", "name": thresholds.published, "marker": marker}
            | {"x": [thresholds.paper[0]], "y": [thresholds.paper[1]]}
            | {"hovertemplate": "paper: %{y:.1f} % of its networks above %{x}<extra></extra>"}
            | place
        )
    return {"data": data, "layout": spec, "panels": len(thresholds.panels)}


def printed(thresholds: Thresholds) -> Figure:
    """The same for print."""
    figure, axes = panel_rows(len(thresholds.panels), 3.6 * len(thresholds.panels), 3.1)
    for ax, panel in zip(axes, thresholds.panels, strict=True):
        _draw(ax, thresholds.frame, panel)
        ax.set(xlabel=f"Threshold, {thresholds.metric.axis}", ylabel=panel.title)
        ax.set_ylim(bottom=0)
    if thresholds.paper is not None:
        axes[-1].scatter(*thresholds.paper, marker="x", color=LIGHT["muted"], label=thresholds.published)
    figure.legend(fontsize=7, loc="outside lower center", ncols=2)
    return figure


def _draw(ax: Axes, frame: pd.DataFrame, panel: Panel) -> None:
    for name, colour, dash, columns in panel.lines:
        style = "--" if dash == "dash" else "-"
        ax.plot(frame["threshold"], frame[columns[0]], color=LIGHT[colour], linestyle=style, linewidth=1.4, label=name)
        if len(columns) == 3:
            ax.fill_between(
                frame["threshold"], frame[columns[1]], frame[columns[2]], color=LIGHT[colour], alpha=0.15, linewidth=0
            )
