"""What all figures share: plotly specifications with colour tokens, and matplotlib settings for print."""

import base64
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from search.atomic import replacing
from search.report.palette import LIGHT

Spec = dict[str, Any]

PANELS_A_ROW = 3
DPI = 200


def numbers(values: Any) -> Spec | list[Any]:
    """Floats as plotly's base64 float32 array: a third of the size of JSON digits; NaN draws a gap."""
    array = np.ascontiguousarray(values, dtype="<f4")
    spec: Spec = {"dtype": "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    if array.ndim > 1:
        spec["shape"] = ", ".join(map(str, array.shape))
    return spec


def axis(title: str, **more: Any) -> Spec:
    """A quiet axis: title with unit, thin grid in the scheme's colour."""
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 12}},
        "gridcolor": "@grid",
        "linecolor": "@grid",
        "zerolinecolor": "@grid",
        "tickcolor": "@grid",
        "automargin": True,
        **more,
    }


def layout(height: int, **more: Any) -> Spec:
    """A transparent figure of fixed height (px) that takes the width of its box."""
    return {
        "height": height,
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "@ink", "size": 13, "family": "system-ui, -apple-system, Segoe UI, sans-serif"},
        "hoverlabel": {"bgcolor": "@paper", "bordercolor": "@muted", "font": {"color": "@ink"}},
        "margin": {"l": 56, "r": 16, "t": 24, "b": 48},
        "legend": {"orientation": "h", "y": -0.2, "x": 0, "yanchor": "top"},
        "showlegend": False,
        "hovermode": "closest",
        **more,
    }


def is_wide(values: Any) -> bool:
    """True when positive values span so much that a logarithmic axis reads better."""
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[np.isfinite(defined)]
    return len(defined) > 0 and bool(defined.min() > 0 and defined.max() > 5 * defined.min())


def log_axis(title: str, values: Any, **more: Any) -> Spec:
    """A logarithmic axis with ticks at 1, 2 and 5 of each decade, written as plain decimals."""
    defined = np.asarray(values, dtype=np.float64)
    decades = range(int(np.floor(np.log10(np.nanmin(defined)))), int(np.ceil(np.log10(np.nanmax(defined)))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    labels = {"tickvals": ticks, "ticktext": [f"{tick:.6g}" for tick in ticks]}
    return axis(title, type="log", **labels, **more)


def print_settings() -> AbstractContextManager[None]:
    """matplotlib settings of every printed figure: editable text in PDF, one typeface, quiet axes."""
    return mpl.rc_context(
        {
            "pdf.fonttype": 42,
            "font.family": "DejaVu Sans",
            "font.size": 8,
            "axes.titlesize": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": LIGHT["muted"],
            "axes.labelcolor": LIGHT["ink"],
            "xtick.color": LIGHT["muted"],
            "ytick.color": LIGHT["muted"],
            "xtick.labelcolor": LIGHT["ink"],
            "ytick.labelcolor": LIGHT["ink"],
            "legend.frameon": False,
        }
    )


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """An empty printed figure (inches) without pyplot's global state, and its axes row by row."""
    # Text is laid out at the resolution in which it is written: hinting makes small letters wider in others.
    figure = Figure(figsize=(width, height), layout="constrained", dpi=DPI)
    FigureCanvasAgg(figure)
    return figure, list(np.atleast_1d(figure.subplots(rows, columns)).ravel())


def panel_rows(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """`count` panels, at most `PANELS_A_ROW` beside each other; `height` (inches) is that of one row."""
    rows = -(-count // PANELS_A_ROW)
    figure, axes = panels(rows, min(count, PANELS_A_ROW), width, height * rows)
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]


def save(figure: Figure, folder: Path, name: str, formats: Sequence[str] = ("png", "pdf")) -> list[Path]:
    """Write `name`.png (`DPI` dots an inch) and `name`.pdf; no creation date, so that equal figures are equal files."""
    written = []
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not again for every format
    for suffix in formats:
        path = folder / f"{name}.{suffix}"
        metadata = {"CreationDate": None} if suffix == "pdf" else {"Software": None}
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=DPI, metadata=metadata)
        written.append(path)
    return written
