"""Accuracy of each network's units against its human-model similarity."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import CATEGORY_MARKS, LIGHT

X_TITLE, Y_TITLE = "HMS (Spearman ρ with human visual cortex)", "Accuracy of people"
_SYMBOLS = {"o": "circle", "^": "triangle-up", "s": "square", "D": "diamond", "P": "cross"}


@dataclass(frozen=True)
class Networks:
    """frame: `by_network` with a defined HMS; conditions in order; caption: the coefficient, or why there is none."""

    frame: pd.DataFrame
    conditions: list[str]
    caption: str


def prepare(table: pd.DataFrame | None, conditions: list[str], caption: str) -> Networks | None:
    """None without networks that have an HMS."""
    if table is None or table["hms"].isna().all():
        return None
    return Networks(table[table["hms"].notna()], conditions, caption)


def interactive(networks: Networks) -> Spec:
    """A dot a network and condition; the shape tells conditions apart without colour."""
    traces = []
    for (colour, marker), condition in zip(CATEGORY_MARKS, networks.conditions, strict=False):
        own = networks.frame[networks.frame["condition"] == condition]
        dots = {"type": "scatter", "mode": "markers", "name": condition, "x": numbers(own["hms"])}
        dots |= {"y": numbers(own["accuracy"]), "text": list(own["network"])}
        dots |= {"marker": {"size": 9, "color": colour, "symbol": _SYMBOLS[marker]}}
        traces.append(dots | {"hovertemplate": "%{text}<br>HMS %{x:.3f}<br>accuracy %{y:.3f}<extra></extra>"})
    spec = layout(380, showlegend=True)
    spec["xaxis"], spec["yaxis"] = axis(X_TITLE), axis(Y_TITLE)
    return {"data": traces, "layout": spec}


def printed(networks: Networks) -> Figure:
    """The same for print, 4.4 inches wide."""
    figure, (ax,) = panels(1, 1, 4.4, 3.2)
    for (colour, marker), condition in zip(CATEGORY_MARKS, networks.conditions, strict=False):
        own = networks.frame[networks.frame["condition"] == condition]
        x, y = (own[name].to_numpy(dtype=np.float64) for name in ("hms", "accuracy"))
        ax.scatter(x, y, s=22, color=colour, marker=marker, linewidths=0, label=condition)
    ax.set(xlabel=X_TITLE, ylabel=Y_TITLE)
    ax.set_title(networks.caption, fontsize=7, loc="left", color=LIGHT["muted"])
    figure.legend(fontsize=7, loc="outside lower center", ncols=5)
    return figure
