"""How confident people were: the share of each of three levels, by condition."""

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from search.report.figures.style import Spec, axis, layout, panels
from search.report.palette import LIGHT

# From light to dark, apart for any colour vision; the level stands in every bar too.
SHADES = {1: "#C9D9E8", 2: "#6FA3CC", 3: "#1F5F95"}
_INK = {1: "#1F2933", 2: "#1F2933", 3: "#FFFFFF"}
_ROOM = 0.06  # share below which a bar has no room for its text


@dataclass(frozen=True)
class Confidence:
    """labels (c,), top to bottom; shares: level -> (c,)."""

    labels: list[str]
    shares: dict[int, list[float]]


def prepare(table: pd.DataFrame, conditions: list[str]) -> Confidence:
    """From `confidence_shares`."""
    share = table.set_index(["condition", "confidence"])["share"]
    return Confidence(conditions, {level: [float(share[c, level]) for c in conditions] for level in (1, 2, 3)})


def _text(level: int, share: float) -> str:
    return f"{level}: {share:.0%}".replace("%", " %") if share >= _ROOM else ""


def interactive(data: Confidence) -> Spec:
    """Stacked bars of 100 %."""
    traces = [
        {"type": "bar", "orientation": "h", "name": f"confidence {level}", "y": data.labels}
        | {"x": shares, "marker": {"color": SHADES[level], "line": {"width": 1, "color": "@paper"}}}
        | {"text": [_text(level, share) for share in shares], "textposition": "inside", "insidetextanchor": "middle"}
        | {"textfont": {"color": _INK[level]}, "hovertemplate": "%{y}: %{x:.1%}<extra></extra>"}
        for level, shares in data.shares.items()
    ]
    spec = layout(110 + 34 * len(data.labels), barmode="stack", bargap=0.3, showlegend=True)
    spec["margin"] = spec["margin"] | {"r": 28}
    spec["legend"] = spec["legend"] | {"traceorder": "normal"}
    spec["xaxis"] = axis("Share of answers", tickformat=".0%", range=[0, 1.001], dtick=0.25)
    spec["yaxis"] = axis("", autorange="reversed", showgrid=False)
    return {"data": traces, "layout": spec}


def printed(data: Confidence) -> Figure:
    """The same for print, 4.4 inches wide."""
    figure, (ax,) = panels(1, 1, 4.4, 1.0 + 0.3 * len(data.labels))
    left = [0.0] * len(data.labels)
    for level, shares in data.shares.items():
        bars = ax.barh(data.labels, shares, left=left, color=SHADES[level], height=0.7, label=f"confidence {level}")
        texts = [_text(level, share) for share in shares]
        ax.bar_label(bars, texts, label_type="center", fontsize=6.5, color=_INK[level])
        left = [a + b for a, b in zip(left, shares, strict=True)]
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.set_xlabel("Share of answers", color=LIGHT["ink"])
    figure.legend(fontsize=7, loc="outside lower center", ncols=3)
    return figure
