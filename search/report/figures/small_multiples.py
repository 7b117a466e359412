"""All networks as small panels: their metrics over epochs, with the epoch where each became stable (Figure 4)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.early_stopping.replay import EarlyStopping
from search.report.figures.style import Spec, is_wide, layout, numbers, panels
from search.report.palette import LIGHT, tokens
from search.report.tables import SearchTables

COLUMNS, SHOWN = 6, 48
WIDTH, HEIGHT = 0.86, 0.68  # of a panel, in steps of the grid
SYMBOLS = (("circle", "o"), ("square", "s"), ("diamond", "D"), ("triangle-up", "^"), ("cross", "P"))
QUIET = {"visible": False, "fixedrange": True}


@dataclass(frozen=True)
class SmallMultiples:
    """points: columns tid, metric, epoch, value, x, y (on one plane of panels), in order of drawing.

    stable: the same, where each metric became stable. panels: tid, label, x, y of the upper left corner.
    """

    points: pd.DataFrame
    stable: pd.DataFrame
    panels: pd.DataFrame
    metrics: list[Metric]
    colours: dict[str, str]
    networks: int
    last_epoch: int

    @property
    def logarithmic(self) -> bool:
        """Whether MSE is drawn on a logarithmic scale."""
        return is_wide(self.points.loc[self.points["metric"] == "mse", "value"])

    @property
    def rows(self) -> int:
        """Rows of panels."""
        return -(-len(self.panels) // COLUMNS)

    @property
    def corners(self) -> list[tuple[float, float, str]]:
        """The upper left corner of each panel and its label."""
        places = zip(self.panels["x"], self.panels["y"], self.panels["label"], strict=True)
        return [(float(x), float(y), str(label)) for x, y, label in places]


def prepare(tables: SearchTables, early: EarlyStopping) -> SmallMultiples | None:
    """Up to `SHOWN` finished networks, best first by the guide metric; of more, evenly over the ranks."""
    metrics = [metric for name, metric in tables.metrics.items() if name in set(early.stabilisation["metric"])]
    if not metrics or early.guide not in tables.metrics:
        return None
    guide = tables.metrics[early.guide]
    done = tables.finished[tables.finished["tid"].isin(early.stabilisation["tid"])]
    ranked = done.sort_values([guide.name, "tid"], ascending=[not guide.higher_is_better, True], na_position="last")
    places = np.unique(np.linspace(0, len(ranked) - 1, min(SHOWN, len(ranked))).round().astype(int))
    chosen = ranked.iloc[places].reset_index(drop=True)
    grid = pd.DataFrame({"tid": chosen["tid"], "value": chosen[guide.name]})
    grid["x"], grid["y"] = grid.index % COLUMNS, -(grid.index // COLUMNS)
    grid["label"] = [
        f"{tid}: {value:.{guide.digits}f}" if np.isfinite(value) else f"{tid}: –"
        for tid, value in zip(grid["tid"], grid["value"], strict=True)
    ]
    points = tables.epochs[tables.epochs["tid"].isin(grid["tid"])]
    last = max(1, int(points["epoch"].max()))
    placed = pd.concat([_placed(points, grid, metric, last) for metric in metrics], ignore_index=True)
    marks = early.stabilisation.rename(columns={"stable_epoch": "epoch"})[["tid", "metric", "epoch"]]
    stable = placed.merge(marks.dropna(), on=["tid", "metric", "epoch"])
    return SmallMultiples(placed, stable, grid, metrics, tokens(tables.metrics), len(ranked), last)


def _placed(points: pd.DataFrame, grid: pd.DataFrame, metric: Metric, last: int) -> pd.DataFrame:
    """One metric of the networks shown, from its least value among them (bottom of a panel) to its largest (top)."""
    rows = points[["tid", "epoch", metric.name]].rename(columns={metric.name: "value"})
    rows = rows.merge(grid[["tid", "x", "y"]], on="tid").assign(metric=metric.name)
    scaled = np.log10(rows["value"]) if is_wide(rows["value"]) and metric.name == "mse" else rows["value"]
    low, high = scaled.min(), scaled.max()
    spread = high - low if np.isfinite(high) and high > low else 1.0
    rows["x"] = rows["x"] + WIDTH * rows["epoch"] / last
    rows["y"] = rows["y"] - HEIGHT + HEIGHT * (scaled - low) / spread
    return rows


def _lines(multiples: SmallMultiples) -> Iterator[tuple[Metric, pd.DataFrame, pd.DataFrame, tuple[str, str]]]:
    for i, metric in enumerate(multiples.metrics):
        own = multiples.points[multiples.points["metric"] == metric.name].sort_values(["tid", "epoch"])
        marks = multiples.stable[multiples.stable["metric"] == metric.name]
        yield metric, own, marks, SYMBOLS[i % len(SYMBOLS)]


def _gapped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with an empty one after each network, so that one line draws them all."""
    ends = rows.groupby("tid").tail(1).assign(x=np.nan, y=np.nan)
    return pd.concat([rows, ends]).sort_values(["tid", "epoch", "x"], na_position="last")


def interactive(multiples: SmallMultiples) -> Spec:
    """All panels on one plane: a subplot each would be slow to draw."""
    data: list[Spec] = []
    for metric, own, marks, (symbol, _) in _lines(multiples):
        rows, colour = _gapped(own), f"@{multiples.colours[metric.name]}"
        hover = {"text": _hover(rows, metric), "hovertemplate": "%{text}<extra></extra>"}
        line = {"color": colour, "width": 1.2}
        data.append(
            {"type": "scatter", "mode": "lines", "name": metric.short, "line": line, "legendgroup": metric.name}
            | {"x": numbers(rows["x"]), "y": numbers(rows["y"])}
            | hover
        )
        if len(marks):
            marker = {"symbol": symbol, "size": 7, "color": colour, "line": {"width": 1, "color": "@paper"}}
            data.append(
                {"type": "scatter", "mode": "markers", "name": f"{metric.short} stable", "marker": marker}
                | {"x": numbers(marks["x"]), "y": numbers(marks["y"]), "legendgroup": metric.name}
                | {"text": _hover(marks, metric), "hovertemplate": "%{text}: stable<extra></extra>"}
            )
    rows = multiples.panels
    label = {"size": 10, "color": "@muted"}
    data.append(
        {"type": "scatter", "mode": "text", "x": numbers(rows["x"]), "y": numbers(rows["y"] + 0.1), "textfont": label}
        | {"text": list(rows["label"]), "textposition": "middle right", "hoverinfo": "skip", "showlegend": False}
    )
    spec = layout(40 + 92 * multiples.rows, margin={"l": 4, "r": 4, "t": 10, "b": 8}, showlegend=True)
    spec["xaxis"] = {**QUIET, "range": [-0.04, COLUMNS - 0.06]}
    spec["yaxis"] = {**QUIET, "range": [-(multiples.rows - 1) - HEIGHT - 0.1, 0.25]}
    frame = {"type": "rect", "line": {"width": 0.6, "color": "@grid"}, "layer": "below"}
    spec["shapes"] = [frame | {"x0": x, "x1": x + WIDTH, "y0": y - HEIGHT, "y1": y} for x, y, _ in multiples.corners]
    return {"data": data, "layout": spec}


def _hover(rows: pd.DataFrame, metric: Metric) -> list[str]:
    return [
        f"trial {tid}, epoch {epoch}: {metric.short} {value:.4g}"
        for tid, epoch, value in zip(rows["tid"], rows["epoch"], rows["value"], strict=True)
    ]


def printed(multiples: SmallMultiples) -> Figure:
    """The same for print, 7 inches wide."""
    figure, (ax,) = panels(1, 1, 7.0, 0.5 + 0.86 * multiples.rows)
    for x, y, label in multiples.corners:
        ax.plot([x, x, x + WIDTH], [y, y - HEIGHT, y - HEIGHT], color=LIGHT["muted"], linewidth=0.4)
        ax.text(x, y + 0.04, label, fontsize=6, color=LIGHT["muted"])
    for metric, own, marks, (_, marker) in _lines(multiples):
        rows, colour = _gapped(own), LIGHT[multiples.colours[metric.name]]
        ax.plot(rows["x"], rows["y"], color=colour, linewidth=0.7, label=metric.short)
        if len(marks):
            ax.scatter(
                marks["x"], marks["y"], s=9, marker=marker, facecolor=colour, edgecolors="w", linewidths=0.3, zorder=3,
                label=f"{metric.short} stable",
            )  # fmt: skip
    ax.set(xlim=(-0.05, COLUMNS - 0.05), ylim=(-(multiples.rows - 1) - HEIGHT - 0.08, 0.25))
    ax.axis("off")
    scale = ", MSE on a logarithmic scale" if multiples.logarithmic else ""
    ax.set_title(
        f"Across: epochs 0 to {multiples.last_epoch}. Up: each metric from its least to its largest value here{scale}. "
        "Numbers: trial and final value.",
        fontsize=6.5, color=LIGHT["muted"], loc="left",
    )  # fmt: skip
    figure.legend(fontsize=7, loc="outside lower center", ncols=6)
    return figure
