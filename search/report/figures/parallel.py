"""Parallel coordinates: every network a line through its hyperparameters to its metrics, coloured by HMS."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from metrics.metric import Metric
from search.report.figures.matrix import label
from search.report.figures.style import Spec, is_wide, layout, numbers, panels
from search.report.palette import LIGHT, SEQUENTIAL_DOTS
from search.report.sample import Sample
from search.report.wording import significant

TICKS_UP_TO = 8  # distinct values; axes of more have five ticks
BEST_DRAWN = 10
RASTERIZED_FROM = 300  # lines; as vectors they would make the PDF slow to open


@dataclass(frozen=True)
class Axis:
    """One vertical axis: `places` (n,) where the lines cross it, and its ticks as places and texts."""

    title: str
    places: NDArray[np.float64]
    ticks: list[float]
    texts: list[str]


@dataclass(frozen=True)
class Parallel:
    """axes: those that vary, hyperparameters then metrics; colour (n,): HMS, or the first metric; name: its title."""

    axes: list[Axis]
    colour: NDArray[np.float64]
    name: str
    better_high: bool


def prepare(sample: Sample) -> Parallel | None:
    """None with fewer than two networks or nothing that varies."""
    if sample.n < 2 or not sample.measured:
        return None
    frame, metrics = sample.frame, sample.metrics
    parameters = [_parameter(frame[name], label(name)) for name in frame.columns if name.startswith("param.")]
    axes = [axis for axis in parameters if axis is not None and np.ptp(axis.places) > 0]
    measured = [_metric(frame[name], metrics[name]) for name in sample.measured]
    axes += [axis for axis in measured if np.ptp(axis.places) > 0]
    if len(axes) < 2:
        return None
    first = sample.measured[0]
    colour = frame[first].to_numpy(dtype=np.float64)
    return Parallel(axes, colour, metrics[first].short, metrics[first].higher_is_better)


def _parameter(column: pd.Series, title: str) -> Axis | None:
    if column.isna().any():
        return None
    values = pd.to_numeric(column.map(lambda v: float(v) if isinstance(v, bool | np.bool_) else v), errors="coerce")
    if values.isna().any():
        levels = sorted(column.astype(str).unique())
        places = column.astype(str).map(levels.index).to_numpy(dtype=np.float64)
        return Axis(title, places, [float(i) for i in range(len(levels))], levels)
    return _numeric(values.to_numpy(dtype=np.float64), title)


def _metric(column: pd.Series, metric: Metric) -> Axis:
    return _numeric(column.to_numpy(dtype=np.float64), metric.short)


def _numeric(values: NDArray[np.float64], title: str) -> Axis:
    """Logarithmic where positive values span more than a decade."""
    log = is_wide(values) and float(values.max()) >= 10 * float(values.min()) and float(values.max()) <= 1
    places = np.log10(values) if log else values
    distinct = np.unique(places)
    ticks = distinct if len(distinct) <= TICKS_UP_TO else np.linspace(distinct[0], distinct[-1], 5)
    texts = [significant(10.0**tick if log else tick) for tick in ticks.tolist()]
    return Axis(title, places, ticks.tolist(), texts)


def interactive(parallel: Parallel) -> Spec:
    """Axes can be moved, and a range dragged along one shows only the networks within it."""
    dimensions = [
        {
            "label": axis.title,
            "values": axis.places.astype(np.float32).tolist(),
            "tickvals": axis.ticks,
            "ticktext": axis.texts,
        }
        for axis in parallel.axes
    ]
    line: Spec = {
        "color": numbers(parallel.colour),
        "colorscale": SEQUENTIAL_DOTS,
        "showscale": True,
        "colorbar": {"title": {"text": parallel.name, "side": "right"}, "thickness": 10, "outlinewidth": 0},
    }
    data = {"type": "parcoords", "dimensions": dimensions, "line": line, "labelangle": -35, "labelside": "top"} | {
        "labelfont": {"color": "@ink", "size": 12},
        "tickfont": {"color": "@muted", "size": 11},
        "rangefont": {"color": "rgba(0,0,0,0)", "size": 1},
        "unselected": {"line": {"color": "@grid", "opacity": 0.25}},
    }
    return {"data": [data], "layout": layout(460, margin={"l": 48, "r": 60, "t": 120, "b": 24})}


def printed(parallel: Parallel) -> Figure:
    """The same for print, 7 inches wide; the best ten networks by the colour's metric are thick."""
    figure, (ax,) = panels(1, 1, 7.0, 3.2)
    n, count = len(parallel.colour), len(parallel.axes)
    low, high = float(np.nanmin(parallel.colour)), float(np.nanmax(parallel.colour))
    scaled = np.column_stack([(axis.places - axis.places.min()) / np.ptp(axis.places) for axis in parallel.axes])
    # The best last, above the others.
    order = np.argsort(parallel.colour if parallel.better_high else -parallel.colour, kind="stable")
    colours = colormaps["cividis"]((parallel.colour - low) / ((high - low) or 1.0))
    lines = np.stack([np.broadcast_to(np.arange(count), scaled.shape), scaled], axis=-1)  # (n, count, 2)
    others, best = np.split(order, [max(0, n - BEST_DRAWN)])
    for chosen, width, alpha, z in ((others, 0.5, min(0.6, 60 / n), 2), (best, 1.4, 1.0, 3)):
        many = len(chosen) > RASTERIZED_FROM
        collection = LineCollection(
            list(lines[chosen]), colors=colours[chosen], linewidths=width, alpha=alpha, zorder=z, rasterized=many
        )
        ax.add_collection(collection, autolim=False)
    for x, axis in enumerate(parallel.axes):
        ax.axvline(x, color=LIGHT["muted"], linewidth=0.6, zorder=1)
        for tick, text in zip(axis.ticks, axis.texts, strict=True):
            y = (tick - axis.places.min()) / np.ptp(axis.places)
            ax.text(x + 0.04, y, text, fontsize=5, va="center", color=LIGHT["ink"], zorder=5)
    ax.set_xticks(range(count), [axis.title for axis in parallel.axes], rotation=35, ha="right")
    ax.set(yticks=[], xlim=(-0.2, count - 0.5), ylim=(-0.05, 1.05))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    mapped = figure.colorbar(ScalarMappable(Normalize(low, high), "cividis"), ax=ax, label=parallel.name, shrink=0.8)
    mapped.outline.set_visible(False)
    return figure
