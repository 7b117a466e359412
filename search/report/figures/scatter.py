"""HMS against the other metrics, network by network, coloured by learning rate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from metrics.metric import Metric
from search.report.correlations import LEARNING_RATE, NO_CONTROLS
from search.report.figures.style import (
    Spec,
    axis,
    is_wide,
    layout,
    log_axis,
    numbers,
    panel_rows,
)
from search.report.palette import LIGHT, SEQUENTIAL_DOTS
from search.report.sample import Sample
from search.report.summaries import PAPERS

SMALL_ABOVE = 300  # dots; beyond it they are small and see-through, so that where many lie looks denser

PAIRS = (("mse", "hms"), ("accuracy", "hms"), ("mse", "accuracy"))


@dataclass(frozen=True)
class Scatter:
    """frame: the sample's rows; colour: log10 of the learning rate (n,), or None when it is constant or absent;
    captions: the coefficient of each pair as text."""

    frame: pd.DataFrame
    metrics: Mapping[str, Metric]
    unit: str
    pairs: tuple[tuple[str, str], ...]
    colour: NDArray[np.float64] | None
    captions: dict[tuple[str, str], str]


def prepare(sample: Sample, table: pd.DataFrame) -> Scatter | None:
    """The pairs of measured metrics, with coefficients taken from `correlations` `table`; None with nothing to draw."""
    further = ((name, "hms") for name in sample.measured if name not in PAPERS)
    pairs = tuple(pair for pair in (*PAIRS, *further) if set(pair) <= set(sample.measured))
    if not pairs or sample.n == 0:
        return None
    colour = None
    if LEARNING_RATE in sample.frame:
        rates = pd.to_numeric(sample.frame[LEARNING_RATE], errors="coerce").to_numpy(dtype=np.float64)
        if np.isfinite(rates).all() and (rates > 0).all() and np.ptp(rates) > 0:
            colour = np.log10(rates)
    plain = table[table["controls"] == NO_CONTROLS]
    captions = {pair: _caption(plain[plain["x"].isin(pair) & plain["y"].isin(pair)], sample.n) for pair in pairs}
    return Scatter(sample.frame, sample.metrics, sample.unit, pairs, colour, captions)


def _caption(rows: pd.DataFrame, n: int) -> str:
    if rows.empty or not np.isfinite(rows.iloc[0]["rho"]):
        return f"ρ undefined, n = {n}"
    row = rows.iloc[0]
    limits = f" [{row['ci_low']:.2f}, {row['ci_high']:.2f}]" if np.isfinite(row["ci_low"]) else ""
    return f"ρ = {row['rho']:.2f}{limits}, n = {int(row['n'])}".replace("-", "−")


def interactive(scatter: Scatter) -> Spec:
    """One panel a pair."""
    data: list[Spec] = []
    spec = layout(360, margin={"l": 56, "r": 16, "t": 34, "b": 48})
    annotations = []
    labels = [f"{scatter.unit} {int(tid)}" for tid in scatter.frame["tid" if scatter.unit == "network" else "point"]]
    for i, (x_metric, y_metric) in enumerate(scatter.pairs):
        suffix = "" if i == 0 else str(i + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        data.append(
            {"type": "scatter", "mode": "markers", "xaxis": x, "yaxis": y, "text": labels}
            | {"x": numbers(scatter.frame[x_metric]), "y": numbers(scatter.frame[y_metric])}
            | {"marker": _marker(scatter, show_scale=i == len(scatter.pairs) - 1)}
            | {"hovertemplate": f"%{{text}}<br>{scatter.metrics[x_metric].short} %{{x:.4g}}<br>"
               f"{scatter.metrics[y_metric].short} %{{y:.4g}}<extra></extra>"}
        )  # fmt: skip
        values = scatter.frame[x_metric]
        title = scatter.metrics[x_metric].axis
        wide = x_metric == "mse" and is_wide(values)
        spec[f"xaxis{suffix}"] = log_axis(title, values, anchor=y) if wide else axis(title, anchor=y)
        spec[f"yaxis{suffix}"] = axis(scatter.metrics[y_metric].axis, anchor=x)
        annotations.append(
            {"xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1.1, "xanchor": "left", "showarrow": False}
            | {"text": scatter.captions[(x_metric, y_metric)], "font": {"size": 12, "color": "@ink"}}
        )
    return {"data": data, "layout": spec | {"annotations": annotations}, "panels": len(scatter.pairs)}


def _marker(scatter: Scatter, *, show_scale: bool) -> Spec:
    marker: Spec = {"size": 8, "opacity": 0.9, "line": {"width": 0.8, "color": "@muted"}}
    if len(scatter.frame) > SMALL_ABOVE:
        marker = {"size": 4, "opacity": 0.6, "line": {"width": 0}}
    if scatter.colour is None:
        return marker | {"color": "@hms"}
    ticks = np.unique(np.round(scatter.colour)) if np.ptp(scatter.colour) >= 1 else np.array([])
    bar: Spec = {
        "title": {"text": "Learning rate", "side": "right", "font": {"size": 12}},
        "thickness": 10,
        "outlinewidth": 0,
        "len": 0.9,
    }
    if len(ticks):
        bar |= {"tickvals": ticks.tolist(), "ticktext": [f"10<sup>{int(tick)}</sup>" for tick in ticks]}
    else:
        bar |= {"title": {"text": "log₁₀ learning rate", "side": "right", "font": {"size": 12}}}
    return marker | {
        "color": numbers(scatter.colour),
        "colorscale": SEQUENTIAL_DOTS,
        "showscale": show_scale,
        "colorbar": bar,
    }


def printed(scatter: Scatter) -> Figure:
    """The same for print, 7 inches wide."""
    figure, axes = panel_rows(len(scatter.pairs), 7.0, 2.5)
    drawn = [_draw(ax, scatter, pair) for ax, pair in zip(axes, scatter.pairs, strict=True)]
    if scatter.colour is not None:
        figure.colorbar(drawn[-1], ax=axes[-1], label="log₁₀ learning rate")
    return figure


def _draw(ax: Axes, scatter: Scatter, pair: tuple[str, str]) -> PathCollection:
    x, y = pair
    dots: dict[str, Any] = (
        {"color": LIGHT["hms"]} if scatter.colour is None else {"c": scatter.colour, "cmap": "cividis"}
    )
    many = len(scatter.frame) > SMALL_ABOVE
    dots |= {"s": 4, "linewidths": 0, "alpha": 0.7} if many else {"s": 14, "linewidths": 0.3, "edgecolors": "w"}
    drawn: PathCollection = ax.scatter(scatter.frame[x], scatter.frame[y], **dots)
    ax.set(xlabel=scatter.metrics[x].axis, ylabel=scatter.metrics[y].axis)
    ax.set_title(scatter.captions[pair], fontsize=7, loc="left")
    if x == "mse" and is_wide(scatter.frame[x]):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_locator(NullLocator())
    return drawn
