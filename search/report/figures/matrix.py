"""Heat map of the Spearman coefficients of metrics with metrics and hyperparameters."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.correlations import NO_CONTROLS
from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import DIVERGING


def prepare(table: pd.DataFrame, metrics: Mapping[str, Metric]) -> pd.DataFrame | None:
    """Coefficients with hyperparameters and metrics as rows and metrics as columns, named for people; None without."""
    plain = table[(table["controls"] == NO_CONTROLS) & table["rho"].notna()]
    if plain.empty:
        return None
    mirrored = pd.concat([plain, plain.rename(columns={"x": "y", "y": "x"})])
    columns = [metric for metric in metrics if metric in set(mirrored["x"])]
    grid = mirrored.pivot_table(index="y", columns="x", values="rho", sort=False)
    rows = [*columns, *[name for name in plain["y"].unique() if name not in columns]]
    named = grid.reindex(index=rows, columns=columns).astype(float)
    return named.rename(index=lambda name: label(name, metrics), columns=lambda name: label(name, metrics))


def label(name: str, metrics: Mapping[str, Metric] | None = None) -> str:
    """A variable's name for people: `param.learning_rate` -> `learning rate`, a metric's -> its title."""
    named = {"param.epochs": "planned epochs", "epochs_trained": "trained epochs"}
    named |= {key: metric.short for key, metric in (metrics or {}).items()}
    return named.get(name, name.removeprefix("param.").replace("_", " "))


def _text(value: float) -> str:
    return "" if not math.isfinite(value) else f"{value:.2f}".replace("-", "−")


def interactive(grid: pd.DataFrame) -> Spec:
    """Cells carry their coefficient, so that colour is never the only code."""
    values = grid.to_numpy()
    data = {
        "type": "heatmap",
        "z": numbers(values),
        "x": list(grid.columns),
        "y": list(grid.index),
        "text": [[_text(value) for value in row] for row in values],
        "texttemplate": "%{text}",
        "zmin": -1,
        "zmax": 1,
        "colorscale": DIVERGING,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{y} – %{x}: ρ = %{z:.3f}<extra></extra>",
        "colorbar": {
            "title": {"text": "Spearman ρ", "side": "right", "font": {"size": 12}},
            "thickness": 10,
            "outlinewidth": 0,
        },
    }
    spec = layout(90 + 28 * len(grid), margin={"l": 110, "r": 8, "t": 34, "b": 12})
    spec["xaxis"] = axis("", side="top", showgrid=False)
    spec["yaxis"] = axis("", autorange="reversed", showgrid=False)
    return {"data": [data], "layout": spec}


def printed(grid: pd.DataFrame) -> Figure:
    """The same for print, one column wide."""
    figure, (ax,) = panels(1, 1, max(3.4, 1.6 + 0.55 * len(grid.columns)), 0.8 + 0.24 * len(grid))
    values = grid.to_numpy()
    image = ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    ax.set_xticks(range(len(grid.columns)), list(grid.columns))
    if len(grid.columns) > 3:
        ax.tick_params(axis="x", rotation=90)
    ax.set_yticks(range(len(grid.index)), list(grid.index))
    for (i, j), value in np.ndenumerate(values):
        ax.text(
            j, i, _text(value), ha="center", va="center", fontsize=7, color="white" if abs(value) > 0.6 else "black"
        )
    figure.colorbar(image, ax=ax, label="Spearman ρ")
    return figure
