"""The metrics against each other, network by network, with the Pareto front over all of them and over each pair."""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from search.report.figures.style import Spec, axis, is_wide, layout, log_axis, numbers, panel_rows
from search.report.palette import LIGHT
from search.report.pareto import front, pareto_metrics, towards_better
from search.report.sample import Sample


@dataclass(frozen=True)
class Pareto:
    """frame: one row a network; on_front (n,): over all metrics. pairs: of metrics, x then y; lines: the front of each
    pair alone, its corner points in the order of x."""

    sample: Sample
    frame: pd.DataFrame
    on_front: pd.Series
    pairs: tuple[tuple[str, str], ...]
    lines: dict[tuple[str, str], pd.DataFrame]


def prepare(sample: Sample) -> Pareto | None:
    """None with fewer than two metrics or no networks."""
    names, frame = pareto_metrics(sample), sample.frame
    if len(names) < 2 or frame.empty:
        return None
    # MSE across, where its logarithmic axis reads best.
    pairs = tuple((second, first) if first != "mse" else (first, second) for first, second in combinations(names, 2))
    lines = {}
    for pair in pairs:
        members = frame[front(towards_better(frame, pair, sample.metrics))]
        lines[pair] = _steps(members[list(pair)].sort_values(pair[0]), pair, sample)
    on_front = pd.Series(front(towards_better(frame, names, sample.metrics)), index=frame.index)
    return Pareto(sample, frame, on_front, pairs, lines)


def _steps(members: pd.DataFrame, pair: tuple[str, str], sample: Sample) -> pd.DataFrame:
    """The boundary of what the members of a pair's front dominate: corners between neighbours."""
    x, y = pair
    points = members.to_numpy(dtype=np.float64)
    if len(points) < 2:
        return members
    neighbours = list(pairwise(points))
    if sample.metrics[x].higher_is_better:
        corners = [(left[0], right[1]) for left, right in neighbours]
    else:
        corners = [(right[0], left[1]) for left, right in neighbours]
    path = [points[0], *(place for step in zip(corners, points[1:], strict=True) for place in step)]
    return pd.DataFrame(np.array(path), columns=[x, y])


def interactive(pareto: Pareto) -> Spec:
    """One panel a pair."""
    data: list[Spec] = []
    spec = layout(360, margin={"l": 56, "r": 16, "t": 24, "b": 48}, showlegend=True)
    for i, (x_metric, y_metric) in enumerate(pareto.pairs):
        suffix = "" if i == 0 else str(i + 1)
        place = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        line = pareto.lines[(x_metric, y_metric)]
        data.append(
            {"type": "scatter", "mode": "lines", "name": "front of the pair shown", "hoverinfo": "skip", **place}
            | {"x": numbers(line[x_metric]), "y": numbers(line[y_metric]), "showlegend": i == 0, "legendgroup": "pair"}
            | {"line": {"color": "@muted", "width": 1.2, "dash": "dot"}}
        )
        for member in (False, True):
            data.append(_dots(pareto, (x_metric, y_metric), member=member) | place | {"showlegend": i == 0})
        wide = x_metric == "mse" and is_wide(pareto.frame[x_metric])
        title = _title(pareto, x_metric)
        anchor = {"anchor": place["yaxis"]}
        spec[f"xaxis{suffix}"] = log_axis(title, pareto.frame[x_metric], **anchor) if wide else axis(title, **anchor)
        spec[f"yaxis{suffix}"] = axis(_title(pareto, y_metric), anchor=place["xaxis"])
    return {"data": data, "layout": spec, "panels": len(pareto.pairs)}


def _dots(pareto: Pareto, pair: tuple[str, str], *, member: bool) -> Spec:
    rows = pareto.frame[pareto.on_front == member]
    x, y = pair
    short = {name: pareto.sample.metrics[name].short for name in pair}
    look = (
        {"size": 11, "color": "@mse", "symbol": "diamond", "line": {"width": 1, "color": "@ink"}}
        if member
        else {"size": 6, "color": "@muted", "opacity": 0.55}
    )
    return {
        "type": "scatter", "mode": "markers", "x": numbers(rows[x]), "y": numbers(rows[y]), "marker": look,
        "name": "front of all metrics" if member else "other networks",
        "legendgroup": "front" if member else "other",
        "text": [f"trial {int(tid)}" for tid in rows["tid"]],
        "hovertemplate": f"%{{text}}<br>{short[x]} %{{x:.4g}}<br>{short[y]} %{{y:.4g}}<extra></extra>",
    }  # fmt: skip


def _title(pareto: Pareto, name: str, between: str = ", ") -> str:
    metric = pareto.sample.metrics[name]
    return f"{metric.axis}{between}{'higher' if metric.higher_is_better else 'lower'} is better"


def printed(pareto: Pareto) -> Figure:
    """The same for print, 7 inches wide."""
    figure, axes = panel_rows(len(pareto.pairs), 7.0, 2.8)
    for ax, pair in zip(axes, pareto.pairs, strict=True):
        _draw(ax, pareto, pair)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, loc="outside lower center", ncols=3)
    return figure


def _draw(ax: Axes, pareto: Pareto, pair: tuple[str, str]) -> None:
    x, y = pair
    others, members = pareto.frame[~pareto.on_front], pareto.frame[pareto.on_front]
    line = pareto.lines[pair]
    ax.plot(line[x], line[y], color=LIGHT["muted"], linewidth=0.8, linestyle=":", label="front of the pair shown")
    ax.scatter(others[x], others[y], s=8, color=LIGHT["muted"], alpha=0.5, linewidths=0, label="other networks")
    ax.scatter(members[x], members[y], s=22, marker="D", color=LIGHT["mse"], edgecolors=LIGHT["ink"], linewidths=0.5,
               zorder=3, label="front of all metrics")  # fmt: skip
    if x == "mse" and is_wide(pareto.frame[x]):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_locator(NullLocator())
    # On two lines: the words on one would be wider than the panel.
    ax.set(xlabel=_title(pareto, x, "\n"), ylabel=_title(pareto, y, "\n"))
