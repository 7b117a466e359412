"""Participants as dots, their mean with two standard errors, by condition; chance and published values beside."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import LIGHT

_WIDTH = 0.26  # of the strip of dots, in conditions
_ROWS = 40  # heights that dots are sorted into


@dataclass(frozen=True)
class ByCondition:
    """labels (c,); points: means of participants (n_c,) of each; mean and sem2 (c,); chance: a line, or None.

    published: condition -> (value, error), drawn where it is known.
    """

    title: str
    labels: list[str]
    points: list[npt.NDArray[np.float64]]
    mean: npt.NDArray[np.float64]
    sem2: npt.NDArray[np.float64]
    chance: float | None
    published: dict[str, tuple[float, float]]

    def places(self, index: int) -> npt.NDArray[np.float64]:
        """x of the dots of one condition: values that are nearly equal stand side by side, so that none is hidden."""
        values = self.points[index]
        span = np.ptp(np.concatenate(self.points))
        bins = np.round(values / span * _ROWS) if span > 0 else np.zeros(len(values))
        place = np.zeros(len(values))
        for found in np.unique(bins):
            same = np.flatnonzero(bins == found)
            step = min(0.03, _WIDTH / max(1, len(same)))
            place[same] = step * (np.arange(len(same)) - (len(same) - 1) / 2)
        return index - 0.22 + place


def prepare(
    title: str,
    means: pd.DataFrame,
    table: pd.DataFrame,
    *,
    chance: float | None = None,
    published: dict[str, tuple[float, float]] | None = None,
) -> ByCondition:
    """From `participant_means` and `by_condition`."""
    labels = list(table["condition"])
    points = [means.loc[means["condition"] == label, "mean"].to_numpy(dtype=np.float64) for label in labels]
    known = {label: value for label, value in (published or {}).items() if label in labels}
    return ByCondition(
        title, labels, points, table["mean"].to_numpy(dtype=float), table["sem2"].to_numpy(dtype=float), chance, known
    )


def interactive(data: ByCondition) -> Spec:
    """Hovering a dot gives its value, a mean its error."""
    traces: list[Spec] = []
    for i, label in enumerate(data.labels):
        dots: Spec = {"type": "scatter", "mode": "markers", "x": numbers(data.places(i)), "y": numbers(data.points[i])}
        dots |= {"marker": {"size": 6, "color": "@hms", "opacity": 0.55}, "legendgroup": "dots", "showlegend": i == 0}
        traces.append(dots | {"name": "one participant", "hovertemplate": f"{label}: %{{y:.3f}}<extra></extra>"})
    error = {"type": "data", "array": numbers(data.sem2), "color": "@ink", "thickness": 1.6, "width": 6}
    means = {"type": "scatter", "mode": "markers", "x": numbers(np.arange(len(data.labels)) + 0.06)}
    means |= {"y": numbers(data.mean), "error_y": error, "marker": {"size": 10, "color": "@ink", "symbol": "diamond"}}
    traces.append(means | {"name": "mean ± 2 SEM", "hovertemplate": "mean %{y:.3f}<extra></extra>"})
    if data.published:
        places = numbers([data.labels.index(label) + 0.26 for label in data.published])
        value, width = (numbers([pair[k] for pair in data.published.values()]) for k in (0, 1))
        error = {"type": "data", "array": width, "color": "@muted", "thickness": 1.4, "width": 5}
        paper = {"type": "scatter", "mode": "markers", "x": places, "y": value, "error_y": error}
        paper |= {"marker": {"size": 9, "color": "@muted", "symbol": "square-open"}}
        traces.append(paper | {"name": "published", "hovertemplate": "published %{y:.2f}<extra></extra>"})
    spec = layout(400, showlegend=True)
    spec["xaxis"] = axis(
        "", tickvals=list(range(len(data.labels))), ticktext=data.labels, showgrid=False, zeroline=False,
        range=[-0.6, len(data.labels) - 0.4],
    )  # fmt: skip
    spec["yaxis"] = axis(data.title)
    if data.chance is not None:
        line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": data.chance, "y1": data.chance}
        spec["shapes"] = [line | {"line": {"color": "@muted", "width": 1, "dash": "dot"}}]
        word = {"xref": "paper", "x": 1, "y": data.chance, "xanchor": "right", "yanchor": "bottom", "text": "chance"}
        spec["annotations"] = [word | {"showarrow": False, "font": {"size": 11, "color": "@muted"}}]
    return {"data": traces, "layout": spec}


def printed(data: ByCondition) -> Figure:
    """The same for print, up to 5 inches wide."""
    figure, (ax,) = panels(1, 1, 1.4 + 0.75 * len(data.labels), 2.9)
    for i, points in enumerate(data.points):
        label = "one participant" if i == 0 else None
        ax.scatter(data.places(i), points, s=9, color=LIGHT["hms"], alpha=0.55, linewidths=0, label=label)
    places = np.arange(len(data.labels))
    style: dict[str, Any] = {"capsize": 3, "markersize": 5}
    ax.errorbar(places + 0.06, data.mean, data.sem2, fmt="D", label="mean ± 2 SEM", color=LIGHT["ink"], **style)
    if data.published:
        at = [data.labels.index(label) + 0.26 for label in data.published]
        value, error = zip(*data.published.values(), strict=True)
        style |= {"color": LIGHT["muted"], "markerfacecolor": "none"}
        ax.errorbar(at, value, error, fmt="s", label="published", **style)
    if data.chance is not None:
        ax.axhline(data.chance, color=LIGHT["muted"], linewidth=0.8, linestyle=":", label="chance")
    ax.set_xticks(places, data.labels)
    ax.set_xlim(-0.6, len(data.labels) - 0.4)
    ax.set_ylabel(data.title)
    figure.legend(fontsize=7, loc="outside lower center", ncols=2 if len(data.labels) < 4 else 4)
    return figure
