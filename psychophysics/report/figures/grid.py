"""A table as a heat map whose cells carry their value: accuracy of units, consistency of conditions."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import SEQUENTIAL


@dataclass(frozen=True)
class Grid:
    """frame: values, rows and columns named for people; NaN is blank. low, high: the ends of the colour scale."""

    frame: pd.DataFrame
    title: str
    low: float
    high: float

    def text(self, value: float) -> str:
        """A cell's text."""
        return "" if not math.isfinite(value) else f"{value:.2f}".replace("-", "−")


def units(table: pd.DataFrame, conditions: list[str]) -> Grid:
    """From `by_stimulus` of units: a row a unit, a column a condition."""
    several = table["network"].nunique() > 1
    name = table["layer"] + "/" + table["unit"]
    name = table["network"] + " · " + name if several else name
    frame = table.assign(name=name).pivot_table(index="name", columns="condition", values="accuracy", sort=False)
    return Grid(frame.reindex(columns=conditions), "Accuracy", 0.0, 1.0)


def consistency(people: pd.DataFrame, baselines: pd.DataFrame | None, conditions: list[str]) -> Grid | None:
    """From the tables of kappa: conditions against conditions and baselines; None where no two people share a query."""
    turned = people.rename(columns={"first": "second", "second": "first"})
    parts = [people, turned] + ([] if baselines is None else [baselines])
    table = pd.concat(parts).drop_duplicates(["first", "second"])
    if table["kappa"].isna().all():
        return None
    frame = table.pivot_table(index="first", columns="second", values="kappa", sort=False, dropna=False)
    further = [name for name in frame.columns if name not in conditions]
    return Grid(frame.reindex(index=conditions, columns=[*conditions, *further]), "Error consistency κ", 0.0, 0.6)


def interactive(grid: Grid) -> Spec:
    """Rows from top to bottom."""
    values = grid.frame.to_numpy(dtype=np.float64)
    bar = {"title": {"text": grid.title, "side": "right", "font": {"size": 12}}, "thickness": 10, "outlinewidth": 0}
    data = {
        "type": "heatmap",
        "z": numbers(values),
        "x": list(grid.frame.columns),
        "y": list(grid.frame.index),
        "text": [[grid.text(value) for value in row] for row in values],
        "texttemplate": "%{text}",
        "zmin": grid.low,
        "zmax": grid.high,
        "colorscale": SEQUENTIAL,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{y} – %{x}: %{z:.3f}<extra></extra>",
        "colorbar": bar,
    }
    spec = layout(100 + 28 * len(grid.frame), margin={"l": 110, "r": 8, "t": 34, "b": 12})
    spec["xaxis"] = axis("", side="top", showgrid=False)
    spec["yaxis"] = axis("", autorange="reversed", showgrid=False, type="category")
    return {"data": [data], "layout": spec}


def printed(grid: Grid) -> Figure:
    """The same for print."""
    values = grid.frame.to_numpy(dtype=np.float64)
    figure, (ax,) = panels(1, 1, 2.4 + 0.55 * values.shape[1], 0.9 + 0.22 * len(values))
    image = ax.imshow(values, cmap="cividis", vmin=grid.low, vmax=grid.high, aspect="auto")
    ax.set_xticks(range(values.shape[1]), list(grid.frame.columns))
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.set_yticks(range(len(values)), list(grid.frame.index))
    half = (grid.low + grid.high) / 2
    for (i, j), value in np.ndenumerate(values):
        ax.text(j, i, grid.text(value), ha="center", va="center", fontsize=7, color="k" if value > half else "w")
    figure.colorbar(image, ax=ax, label=grid.title)
    return figure
