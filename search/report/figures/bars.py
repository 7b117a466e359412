"""Horizontal bars: HMS of the best networks beside baselines, and seconds by part of the work."""

from dataclasses import dataclass

from matplotlib.figure import Figure

from search.report.figures.style import Spec, axis, layout, panels
from search.report.palette import LIGHT


@dataclass(frozen=True)
class Bars:
    """Labels from top to bottom with their values, a colour token each, and the text at the end of each bar."""

    title: str
    labels: list[str]
    values: list[float]
    colours: list[str]
    texts: list[str]


def interactive(bars: Bars) -> Spec:
    """Values are written at the bars' ends."""
    data = {
        "type": "bar",
        "orientation": "h",
        "x": bars.values,
        "y": bars.labels,
        "marker": {
            "color": [f"@{colour}" for colour in bars.colours],
            "opacity": [0.55 if colour == "muted" else 1.0 for colour in bars.colours],
        },
        "text": bars.texts,
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"color": "@ink"},
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }
    room = 16 + 7 * max(len(text) for text in bars.texts)  # px, for the longest bar's text
    spec = layout(70 + 27 * len(bars.labels), margin={"l": 20, "r": room, "t": 8, "b": 46}, bargap=0.35)
    spec["xaxis"] = axis(bars.title)
    spec["yaxis"] = axis("", autorange="reversed", showgrid=False, ticklabelstandoff=6)
    return {"data": [data], "layout": spec}


def printed(bars: Bars) -> Figure:
    """The same for print, 4.4 inches wide."""
    figure, (ax,) = panels(1, 1, 4.4, 0.7 + 0.2 * len(bars.labels))
    drawn = ax.barh(bars.labels, bars.values, color=[LIGHT[colour] for colour in bars.colours], height=0.65)
    ax.bar_label(drawn, bars.texts, padding=2, fontsize=7)
    ax.invert_yaxis()
    ax.margins(x=0.2)
    ax.set_xlabel(bars.title)
    ax.axvline(0, color=LIGHT["muted"], linewidth=0.6)
    return figure
