"""Hyperparameter importance: shares of the variance of ranks with their intervals, one mark a metric."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from metrics.metric import Metric
from search.report.figures.matrix import label
from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import LIGHT, tokens

MARKS = (("circle", "o"), ("square", "s"), ("diamond", "D"), ("triangle-up", "^"), ("cross", "P"))
TITLE = "Share of the variance of ranks (adjusted R²)"


@dataclass(frozen=True)
class Importance:
    """rows: defined shares of `importance`, hyperparameters in `order` from the top; offsets: of each metric's mark."""

    rows: pd.DataFrame
    order: list[str]
    metrics: Mapping[str, Metric]

    @property
    def measured(self) -> list[str]:
        """The metrics with a share, in their order."""
        present = set(self.rows["metric"])
        return [name for name in self.metrics if name in present]

    def heights(self, metric: str) -> np.ndarray:
        """Where on the vertical axis the marks of a metric stand."""
        names, i = self.measured, self.measured.index(metric)
        places = self.rows.loc[self.rows["metric"] == metric, "hyperparameter"].map(self.order.index)
        return places.to_numpy(dtype=np.float64) + 0.22 * (i - (len(names) - 1) / 2)


def prepare(table: pd.DataFrame, metrics: Mapping[str, Metric]) -> Importance | None:
    """Hyperparameters by their largest share; None without any."""
    rows = table[table["share"].notna()]
    if rows.empty:
        return None
    largest = rows.groupby("hyperparameter", sort=False)["share"].max().sort_values(ascending=False, kind="stable")
    return Importance(rows, list(largest.index), metrics)


def interactive(importance: Importance) -> Spec:
    """Marks with whiskers; the colour and shape of each metric as everywhere."""
    colours, data = tokens(importance.metrics), []
    for i, metric in enumerate(importance.measured):
        rows = importance.rows[importance.rows["metric"] == metric]
        colour = f"@{colours[metric]}"
        text = [
            f"{label(str(row.hyperparameter))}<br>{row.share:.3f} [{row.ci_low:.3f}, {row.ci_high:.3f}], n = {row.n}"
            for row in rows.itertuples()
        ]
        data.append(
            {"type": "scatter", "mode": "markers", "name": importance.metrics[metric].short, "text": text}
            | {"x": numbers(rows["share"]), "y": numbers(importance.heights(metric))}
            | {"error_x": {"type": "data", "symmetric": False, "thickness": 1.2, "width": 3, "color": colour}
               | {"array": numbers((rows["ci_high"] - rows["share"]).clip(lower=0)),
                  "arrayminus": numbers((rows["share"] - rows["ci_low"]).clip(lower=0))}}
            | {"marker": {"symbol": MARKS[i % len(MARKS)][0], "size": 8, "color": colour}}
            | {"hovertemplate": f"{importance.metrics[metric].short}, %{{text}}<extra></extra>"}
        )  # fmt: skip
    height = 80 + len(importance.order) * max(24, 12 * len(importance.measured))
    spec = layout(height, margin={"l": 20, "r": 16, "t": 8, "b": 46}, showlegend=True)
    spec["xaxis"] = axis(TITLE, zerolinecolor="@muted")
    names = [label(name) for name in importance.order]
    spec["yaxis"] = axis(
        "", range=[len(names) - 0.4, -0.6], tickvals=list(range(len(names))), ticktext=names, ticklabelstandoff=6
    )
    return {"data": data, "layout": spec}


def printed(importance: Importance) -> Figure:
    """The same for print, 5 inches wide."""
    colours = tokens(importance.metrics)
    each = 0.14 * max(2, len(importance.measured))
    figure, (ax,) = panels(1, 1, 5.0, 0.9 + each * len(importance.order))
    for i, metric in enumerate(importance.measured):
        rows = importance.rows[importance.rows["metric"] == metric]
        sides = np.array([rows["share"] - rows["ci_low"], rows["ci_high"] - rows["share"]]).clip(min=0)
        ax.errorbar(
            rows["share"], importance.heights(metric), xerr=np.nan_to_num(sides), fmt=MARKS[i % len(MARKS)][1],
            markersize=3.5, linewidth=0.8, color=LIGHT[colours[metric]], label=importance.metrics[metric].short,
        )  # fmt: skip
    ax.set_yticks(range(len(importance.order)), [label(name) for name in importance.order])
    ax.invert_yaxis()
    ax.axvline(0, color=LIGHT["muted"], linewidth=0.6)
    ax.set_xlabel(TITLE)
    figure.legend(fontsize=7, loc="outside lower center", ncols=5)
    return figure
