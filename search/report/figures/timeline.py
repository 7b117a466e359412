"""The timeline of workers: a bar an attempt at a trial, a row a worker."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from search.report.figures.style import Spec, axis, layout, numbers, panels
from search.report.palette import LIGHT
from search.report.timeline import FAILED, FINISHED, INTERRUPTED, OUTCOMES, RUNNING
from search.report.wording import duration

COLOURS = {FINISHED: "hms", FAILED: "mse", INTERRUPTED: "fourth", RUNNING: "accuracy"}
HEIGHT = 0.75  # of a bar; rows are 1 apart
NAMED_UP_TO = 40  # workers; more names than that would not be legible


@dataclass(frozen=True)
class Timeline:
    """rows: of `search.report.timeline`; workers from the top; unit: of the axis, with its seconds."""

    rows: pd.DataFrame
    workers: list[str]
    unit: str
    seconds: float

    @property
    def labels(self) -> list[str]:
        """The workers' names, or nothing where there are too many."""
        return self.workers if len(self.workers) <= NAMED_UP_TO else []


def prepare(rows: pd.DataFrame) -> Timeline | None:
    """None without rows."""
    if rows.empty:
        return None
    total = float((rows["start"] + rows["seconds"]).max())
    unit, seconds = ("hours", 3600.0) if total > 2 * 3600 else ("minutes", 60.0) if total > 120 else ("seconds", 1.0)
    return Timeline(rows, list(dict.fromkeys(rows["worker"])), unit, seconds)


def _title(timeline: Timeline) -> str:
    return f"Time since the first trial began ({timeline.unit})"


def interactive(timeline: Timeline) -> Spec:
    """Bars by outcome; the hover names trial and attempt."""
    data = []
    for outcome in OUTCOMES:
        rows = timeline.rows[timeline.rows["outcome"] == outcome]
        if rows.empty:
            continue
        text = [f"trial {row.tid}, attempt {row.attempt}, {duration(row.seconds)}" for row in rows.itertuples()]
        data.append(
            {"type": "bar", "orientation": "h", "name": outcome, "text": text, "textposition": "none"}
            | {"base": numbers(rows["start"] / timeline.seconds), "x": numbers(rows["seconds"] / timeline.seconds)}
            | {"y": [timeline.workers.index(worker) for worker in rows["worker"]]}
            | {"marker": {"color": f"@{COLOURS[outcome]}", "line": {"color": "@paper", "width": 1}}}
            | {"hovertemplate": f"%{{text}}<br>{outcome}<extra></extra>"}
        )
    count = len(timeline.workers)
    spec = layout(90 + min(count * 22, 700), margin={"l": 20, "r": 16, "t": 8, "b": 46}, showlegend=True)
    spec |= {"barmode": "overlay", "bargap": 0.25}
    spec["xaxis"] = axis(_title(timeline), rangemode="tozero")
    named = {"tickvals": list(range(count)), "ticktext": timeline.labels} if timeline.labels else {"dtick": 10}
    title = "" if timeline.labels else "Worker"
    spec["yaxis"] = axis(title, range=[count - 0.5, -0.5], showgrid=False, ticklabelstandoff=6, **named)
    return {"data": data, "layout": spec}


def printed(timeline: Timeline) -> Figure:
    """The same for print, 7 inches wide."""
    count = len(timeline.workers)
    figure, (ax,) = panels(1, 1, 7.0, 0.9 + min(0.2 * count, 6.0))
    for outcome in OUTCOMES:
        rows = timeline.rows[timeline.rows["outcome"] == outcome]
        if len(rows):
            bars = PolyCollection(
                list(_corners(timeline, rows)), facecolors=LIGHT[COLOURS[outcome]], edgecolors="white", linewidths=0.3,
                label=outcome,
            )  # fmt: skip
            ax.add_collection(bars)
    if timeline.labels:
        ax.set_yticks(range(count), timeline.labels, fontsize=6)
    else:
        ax.set_ylabel("Worker")
    ax.autoscale_view()
    ax.set(xlim=(0, None), ylim=(count - 0.5, -0.5))
    ax.set_xlabel(_title(timeline))
    figure.legend(fontsize=7, loc="outside lower center", ncols=2)
    return figure


def _corners(timeline: Timeline, rows: pd.DataFrame) -> NDArray[np.float64]:
    """(n, 4, 2) places of the bars' corners; one collection draws thousands as quickly as a few."""
    left, wide = (rows[name].to_numpy(dtype=np.float64) / timeline.seconds for name in ("start", "seconds"))
    middle = np.array([timeline.workers.index(worker) for worker in rows["worker"]], dtype=np.float64)
    x = np.stack([left, left + wide, left + wide, left], axis=1)
    y = middle[:, None] + HEIGHT / 2 * np.array([-1, -1, 1, 1])
    return np.stack([x, y], axis=-1)
