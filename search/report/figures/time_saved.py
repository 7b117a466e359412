"""Device time that each stopping rule saves, with intervals, beside the paper's (its Figure 5)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from search.report import paper
from search.report.early_stopping.replay import EarlyStopping
from search.report.early_stopping.scores import RULE
from search.report.figures.style import Spec, axis, layout, panels
from search.report.palette import LIGHT

CHOSEN, MISSED = "best network chosen", "another network chosen"


@dataclass(frozen=True)
class TimeSaved:
    """frame: one row a rule, from top to bottom: label, share, low, high (per cent), chosen. paper: its share.

    title: of the axis, with its unit. note: that the paper's data are others, or empty.
    """

    frame: pd.DataFrame
    paper: float | None
    title: str
    note: str

    @property
    def published(self) -> str:
        """The paper's share in words."""
        return f"paper: {self.paper:.0f} %{self.note}"


def prepare(early: EarlyStopping, *, compare: bool, note: str = "") -> TimeSaved | None:
    """The rules judged by the guide metric; `compare`: with the paper's saving. None where nothing was replayed."""
    rules = early.rules[(early.rules["kind"] == RULE) & (early.rules["target"] == early.guide)]
    rules = rules[rules["rule"] != "none"]
    if rules.empty:
        return None
    column = "time_share" if early.usable.timed else "epochs_share"
    frame = pd.DataFrame(
        {
            "label": rules["label"],
            "share": 100 * rules[column],
            "low": 100 * rules[f"{column}_low"],
            "high": 100 * rules[f"{column}_high"],
            "chosen": rules["best_chosen"] == 1,
        }
    )
    title = "Device time saved (%)" if early.usable.timed else "Epochs saved (%)"
    return TimeSaved(frame, 100 * paper.TIME_SAVED if compare else None, title, note)


def interactive(saved: TimeSaved) -> Spec:
    """Dots with 95 % intervals; hollow where the rule's choice is not the best network."""
    data: list[Spec] = []
    for chosen, name, symbol in ((True, CHOSEN, "circle"), (False, MISSED, "circle-open")):
        rows = saved.frame[saved.frame["chosen"] == chosen]
        if rows.empty:
            continue
        error = {"type": "data", "symmetric": False, "color": "@hms", "thickness": 1.5, "width": 4}
        error |= {"array": _arm(rows["high"] - rows["share"]), "arrayminus": _arm(rows["share"] - rows["low"])}
        data.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": _listed(rows["share"]), "y": list(rows["label"])}
            | {
                "error_x": error,
                "marker": {"symbol": symbol, "size": 10, "color": "@hms", "line": {"width": 2, "color": "@hms"}},
            }
            | {"hovertemplate": "%{y}: %{x:.1f} % saved<extra></extra>"}
        )
    spec = layout(96 + 28 * len(saved.frame), margin={"l": 20, "r": 20, "t": 26, "b": 48}, showlegend=True)
    spec["xaxis"] = axis(saved.title, range=[-2, 102])
    order = list(saved.frame["label"])
    spec["yaxis"] = axis("", categoryorder="array", categoryarray=order, autorange="reversed", ticklabelstandoff=6)
    if saved.paper is not None:
        line = {"color": "@muted", "width": 1, "dash": "dash"}
        spec["shapes"] = [
            {"type": "line", "x0": saved.paper, "x1": saved.paper, "yref": "paper", "y0": 0, "y1": 1, "line": line}
        ]
        spec["annotations"] = [
            # To the left of its line there is room in any width and font: the names of the rules end below it.
            {"x": saved.paper, "y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom", "showarrow": False}
            | {"text": saved.published, "font": {"size": 11, "color": "@muted"}}
        ]
    return {"data": data, "layout": spec}


def _listed(values: pd.Series) -> list[float]:
    return [float(value) for value in values]


def _arm(values: pd.Series) -> list[float | None]:
    """Lengths of an interval's arm; None where there is no interval."""
    return [max(0.0, float(value)) if np.isfinite(value) else None for value in values]


def printed(saved: TimeSaved) -> Figure:
    """The same for print, 5 inches wide."""
    frame, colour = saved.frame, LIGHT["hms"]
    figure, (ax,) = panels(1, 1, 5.0, 1.1 + 0.22 * len(frame))
    places = np.arange(len(frame))
    ax.hlines(places, frame["low"], frame["high"], color=colour, linewidth=1.2)
    for chosen, name in ((True, CHOSEN), (False, MISSED)):
        mask = (frame["chosen"] == chosen).to_numpy()
        if mask.any():
            face = colour if chosen else "white"
            ax.scatter(frame["share"][mask], places[mask], s=28, color=colour, facecolor=face, zorder=3, label=name)
    if saved.paper is not None:
        ax.axvline(saved.paper, color=LIGHT["muted"], linewidth=0.8, linestyle="--", label=saved.published)
    ax.set_yticks(places, frame["label"])
    ax.invert_yaxis()
    ax.set(xlim=(-2, 102), xlabel=saved.title)
    figure.legend(fontsize=7, loc="outside lower center", ncols=3)
    return figure
