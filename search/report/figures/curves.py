"""The metrics over epochs of all networks, with the epoch where each run stopped (the paper's Figure 4)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from metrics.metric import Metric
from search.report.figures.style import (
    Spec,
    axis,
    is_wide,
    layout,
    log_axis,
    numbers,
    panel_rows,
)
from search.report.palette import FINISH_SYMBOLS, LIGHT, tokens
from search.report.tables import SearchTables

ALL_CURVES_UP_TO = 300
BEST_SHOWN = 20
WORTH_QUANTILES = 10
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Curves:
    """What the figure shows.

    points: evaluated epochs, columns tid, epoch and the metrics; of all networks, or of the `BEST_SHOWN` best by HMS
    when there are more than `ALL_CURVES_UP_TO`, with `bands` (quantiles by epoch) for the rest.
    stops: by metric, the last point of each finished network where that metric is defined, with its finish.
    levels: horizontal lines by metric. described: all metrics of the search.
    """

    points: pd.DataFrame
    stops: dict[str, pd.DataFrame]
    bands: dict[str, pd.DataFrame]
    best: int | None
    levels: dict[str, tuple[str, float]]
    networks: int
    described: Mapping[str, Metric]

    def token(self, metric: str) -> str:
        """The colour token of a metric."""
        return tokens(self.described)[metric]

    @property
    def best_shown(self) -> int:
        """How many networks have a curve of their own."""
        return int(self.points["tid"].nunique())

    @property
    def metrics(self) -> list[str]:
        """The metrics with any value."""
        return [metric for metric in self.described if self.points[metric].notna().any()]


def prepare(tables: SearchTables, best: int | None, trivial: tuple[str, float] | None) -> Curves | None:
    """Collect the curves; None when nothing was evaluated. `trivial` is the best image baseline's name and HMS."""
    metrics = tables.metrics
    points = tables.epochs[["tid", "epoch", *metrics]].dropna(subset=list(metrics), how="all")
    if points.empty:
        return None
    networks = points["tid"].nunique()
    bands: dict[str, pd.DataFrame] = {}
    if networks > ALL_CURVES_UP_TO:
        bands = {metric: quantiles(points, metric) for metric in metrics}
        ranked = tables.trials.sort_values("hms", ascending=False, na_position="last")["tid"].head(BEST_SHOWN)
        points = points[points["tid"].isin(ranked)]
    finishes = tables.finished[["tid", "finish"]]
    stops = {
        metric: points.dropna(subset=[metric]).groupby("tid").tail(1).merge(finishes, on="tid") for metric in metrics
    }
    levels = {"accuracy": ("chance", tables.record.chance_accuracy)}
    if trivial:
        levels["hms"] = trivial
    previous = tables.epochs["mse_previous_frame"].median()
    if np.isfinite(previous):
        levels["mse"] = ("copying the previous frame", float(previous))
    return Curves(points, stops, bands, best, levels, networks, metrics)


def quantiles(points: pd.DataFrame, metric: str) -> pd.DataFrame:
    """`QUANTILES` of a metric, columns, by epoch; without epochs that too few networks reached."""
    grouped = points.dropna(subset=[metric]).groupby("epoch")[metric]
    table = grouped.quantile(np.array(QUANTILES)).unstack()
    return table[grouped.size() >= WORTH_QUANTILES]


def _log_scale(curves: Curves, metric: str) -> bool:
    return metric == "mse" and is_wide(curves.points[metric])


def interactive(curves: Curves) -> Spec:
    """One panel a metric, side by side where there is room; `page.js` stacks them on narrow screens."""
    data: list[Spec] = []
    shapes: list[Spec] = []
    spec = layout(380, margin={"l": 56, "r": 12, "t": 30, "b": 48}, showlegend=True)
    for i, metric in enumerate(curves.metrics):
        suffix = "" if i == 0 else str(i + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        data += [trace | {"xaxis": x, "yaxis": y} for trace in _traces(curves, metric, first=i == 0)]
        spec[f"xaxis{suffix}"] = axis("Epoch", anchor=y, rangemode="tozero")
        title = curves.described[metric].axis
        values = [*curves.points[metric], curves.levels[metric][1] if metric in curves.levels else np.nan]
        wide = _log_scale(curves, metric)
        spec[f"yaxis{suffix}"] = log_axis(title, values, anchor=x) if wide else axis(title, anchor=x)
        if metric in curves.levels:
            value = curves.levels[metric][1]
            shapes.append(
                {"type": "line", "xref": f"{x} domain", "yref": y, "x0": 0, "x1": 1, "y0": value, "y1": value}
                | {"line": {"color": "@muted", "width": 1, "dash": "dash"}}
            )
    return {"data": data, "layout": spec | {"shapes": shapes}, "panels": len(curves.metrics)}


def _traces(curves: Curves, metric: str, *, first: bool) -> list[Spec]:
    traces, colour = _band_traces(curves, metric), f"@{curves.token(metric)}"
    others = curves.points[curves.points["tid"] != curves.best]
    # Among bands the single curves are ink, so that they stand out from what lies under them.
    single = {"color": "@ink" if curves.bands else colour, "width": 1}
    traces.append(_line(others, metric) | {"name": "one network", "opacity": 0.45, "line": single, "showlegend": False})
    for finish, (symbol, _, label) in FINISH_SYMBOLS.items():
        rows = curves.stops[metric][curves.stops[metric]["finish"] == finish]
        if len(rows):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "cliponaxis": False,
                    "name": label,
                    "legendgroup": finish,
                    "showlegend": first,
                }
                | {"x": numbers(rows["epoch"]), "y": numbers(rows[metric])}
                | {"text": [f"trial {tid}" for tid in rows["tid"]], "hovertemplate": f"{_HOVER}{label}<extra></extra>"}
                | {"marker": _mark(symbol, colour)}
            )
    if curves.best is not None:
        best = curves.points[curves.points["tid"] == curves.best]
        traces.append(
            _line(best, metric)
            | {"name": f"best network by HMS (trial {curves.best})", "legendgroup": "best", "showlegend": first}
            | {"line": {"color": "@ink", "width": 2.5}}
        )
    return traces


def _mark(symbol: str, colour: str) -> Spec:
    return {"symbol": symbol, "size": 7, "color": colour, "line": {"width": 1.2, "color": colour}}


_HOVER = "%{text}<br>epoch %{x}: %{y:.4g}<br>"


def _line(points: pd.DataFrame, metric: str) -> Spec:
    """All networks in one trace, with a gap after each: hundreds of traces would be slow to draw."""
    defined = points.dropna(subset=[metric])
    x, y, text = [], [], []
    for tid, rows in defined.groupby("tid"):
        x += [*rows["epoch"], np.nan]
        y += [*rows[metric], np.nan]
        text += [f"trial {tid}"] * (len(rows) + 1)
    return {"type": "scatter", "mode": "lines", "x": numbers(x), "y": numbers(y), "text": text} | {
        "hovertemplate": _HOVER + "<extra></extra>",
        "connectgaps": False,
    }


def _band_traces(curves: Curves, metric: str) -> list[Spec]:
    if metric not in curves.bands:
        return []
    table = curves.bands[metric]
    traces = []
    for low, high, opacity in ((0.1, 0.9, 0.15), (0.25, 0.75, 0.3)):
        x = np.r_[table.index, table.index[::-1]]
        y = np.r_[table[low], table[high][::-1]]
        traces.append(
            {"type": "scatter", "x": numbers(x), "y": numbers(y), "fill": "toself", "mode": "lines"}
            | {"line": {"width": 0}, "fillcolor": f"@{curves.token(metric)}", "opacity": opacity, "hoverinfo": "skip"}
            | {"showlegend": False}
        )
    median = {
        "x": numbers(table.index),
        "y": numbers(table[0.5]),
        "line": {"color": f"@{curves.token(metric)}", "width": 2},
    }
    hover = {"name": "median", "hovertemplate": "median, epoch %{x}: %{y:.4g}<extra></extra>", "showlegend": False}
    return [*traces, {"type": "scatter", "mode": "lines"} | median | hover]


def printed(curves: Curves) -> Figure:
    """The same for print, 7 inches wide."""
    figure, axes = panel_rows(len(curves.metrics), 7.0, 2.9)
    for ax, metric in zip(axes, curves.metrics, strict=True):
        _draw(ax, curves, metric)
        ax.set(xlabel="Epoch", ylabel=curves.described[metric].axis, title=curves.described[metric].short)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, loc="outside lower center", ncols=3)
    return figure


def _draw(ax: Axes, curves: Curves, metric: str) -> None:
    colour = LIGHT[curves.token(metric)]
    if metric in curves.bands:
        table = curves.bands[metric]
        for low, high, alpha in ((0.1, 0.9, 0.15), (0.25, 0.75, 0.3)):
            share = f"middle {high - low:.0%} of networks"
            ax.fill_between(table.index, table[low], table[high], color=colour, alpha=alpha, linewidth=0, label=share)
        ax.plot(table.index, table[0.5], color=colour, linewidth=1.4, label="median")
    for tid, rows in curves.points.dropna(subset=[metric]).groupby("tid"):
        best = tid == curves.best
        label = f"best by HMS (trial {tid})" if best else None
        single = LIGHT["ink"] if curves.bands else colour
        width, shade, alpha, order = (1.8, LIGHT["ink"], 1.0, 3) if best else (0.6, single, 0.5, 2)
        ax.plot(rows["epoch"], rows[metric], color=shade, linewidth=width, alpha=alpha, zorder=order, label=label)
    for finish, (symbol, marker, label) in FINISH_SYMBOLS.items():
        rows = curves.stops[metric][curves.stops[metric]["finish"] == finish]
        if len(rows):
            face = "none" if symbol == "square-open" else colour
            ax.scatter(
                rows["epoch"], rows[metric], s=12, marker=marker, linewidths=0.8, zorder=4, label=label, color=colour,
                facecolor=face,
            )  # fmt: skip
    if metric in curves.levels:
        ax.axhline(curves.levels[metric][1], color=LIGHT["muted"], linewidth=0.8, linestyle="--")
    if _log_scale(curves, metric):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
