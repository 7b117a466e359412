"""The RDM of a network beside those that it was compared with, all as percentile ranks of their dissimilarities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata

from search.report.artifacts import Brain
from search.report.compared import Compared
from search.report.figures.style import PANELS_A_ROW, Spec, axis, layout, numbers, panel_rows
from search.report.palette import SEQUENTIAL


@dataclass(frozen=True)
class Rdms:
    """`panels`: title and ranks (n, n) in [0, 1], diagonal NaN; `blocks`: category, first and last index + 1."""

    panels: list[tuple[str, NDArray[np.float64]]]
    blocks: list[tuple[str, int, int]]
    labels: list[str]


def prepare(
    brain: Brain | None, network: NDArray[np.float64] | None, tid: int | None, compared: Compared
) -> Rdms | None:
    """Rank all; network or brain may be missing, None when both are. The order of stimuli is the reference's."""
    shown = []
    if network is not None:
        shown.append((f"Network (trial {tid})", network))
    if brain is not None:
        several = brain.subjects is not None and len(brain.subjects) > 1
        mean = f" (mean of {compared.subjects} and sessions)" if several else ""
        shown.append((f"{compared.title[0].upper()}{compared.title[1:]}{mean}", brain.rdm))
        shown += [(f"{name} (hms_{name})", rdm) for name, rdm in brain.beside.items()]
    if not shown:
        return None
    n = len(shown[0][1])
    categories = [""] * n if brain is None else [str(category) for category in brain.categories]
    labels = [str(i + 1) for i in range(n)] if brain is None else [str(label) for label in brain.labels]
    return beside(dict(shown), categories, labels)


def beside(rdms: Mapping[str, NDArray[np.float64]], categories: Sequence[str], labels: Sequence[str]) -> Rdms:
    """Title -> RDM (n, n) as panels, stimuli grouped by category in the order in which categories first come."""
    first = {category: index for index, category in enumerate(dict.fromkeys(categories))}
    order = sorted(range(len(categories)), key=lambda index: first[categories[index]])
    blocks, start = [], 0
    for category, members in groupby(categories[index] for index in order):
        stop = start + len(list(members))
        blocks.append((category, start, stop))
        start = stop
    panels = [(title, _ranked(rdm[np.ix_(order, order)])) for title, rdm in rdms.items()]
    return Rdms(panels, blocks, [labels[index] for index in order])


def _ranked(rdm: NDArray[np.float64]) -> NDArray[np.float64]:
    ranked = np.full(rdm.shape, np.nan)
    upper = np.triu_indices(len(rdm), 1)
    ranks = rankdata(rdm[upper])
    ranked[upper] = (ranks - 1) / max(1, len(ranks) - 1)
    ranked.T[upper] = ranked[upper]
    return ranked


_COLORBAR: Spec = {
    "title": {"text": "Dissimilarity (percentile rank)", "side": "right", "font": {"size": 12}},
    "thickness": 10,
    "outlinewidth": 0,
    "len": 0.9,
}


def interactive(rdms: Rdms) -> Spec:
    """Square panels side by side; `page.js` stacks them on narrow screens."""
    spec = layout(470, margin={"l": 8, "r": 8, "t": 40, "b": 8})
    data, shapes, annotations = [], [], []
    for i, (title, ranks) in enumerate(rdms.panels):
        suffix = "" if i == 0 else str(i + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        last = i == len(rdms.panels) - 1
        data.append(
            {"type": "heatmap", "z": numbers(ranks), "x": rdms.labels, "y": rdms.labels, "xaxis": x, "yaxis": y}
            | {"zmin": 0, "zmax": 1, "colorscale": SEQUENTIAL, "showscale": last}
            | {"hovertemplate": "%{y} – %{x}<br>rank %{z:.2f}<extra></extra>"}
            | {"colorbar": _COLORBAR}
        )
        plain = {"showticklabels": False, "ticks": "", "showgrid": False, "constrain": "domain", "type": "category"}
        spec[f"xaxis{suffix}"] = axis("", anchor=y, **plain)
        spec[f"yaxis{suffix}"] = axis("", anchor=x, autorange="reversed", scaleanchor=x, **plain)
        for _, _, stop in rdms.blocks[:-1]:
            edge = stop - 0.5
            line = {"type": "line", "xref": x, "yref": y, "line": {"color": "#FFFFFF", "width": 1}}
            ends = (-0.5, len(ranks) - 0.5)
            shapes.append(line | {"x0": edge, "x1": edge, "y0": ends[0], "y1": ends[1]})
            shapes.append(line | {"y0": edge, "y1": edge, "x0": ends[0], "x1": ends[1]})
        annotations.append(
            {"text": f"<b>{title}</b>", "xref": f"{x} domain", "yref": f"{y} domain", "x": 0.5, "y": 1.02}
            | {"yanchor": "bottom", "xanchor": "center", "showarrow": False}
        )
    return {
        "data": data,
        "layout": spec | {"shapes": shapes, "annotations": annotations},
        "panels": len(rdms.panels),
        "square": True,
    }


def printed(rdms: Rdms) -> Figure:
    """The same for print, with category names on the left panels."""
    figure, axes = panel_rows(len(rdms.panels), 3.4 * min(len(rdms.panels), PANELS_A_ROW), 3.1)
    # In inches: labels at the edge are drawn a little wider than they were measured.
    figure.set_layout_engine("constrained", w_pad=0.1)
    for index, (ax, (title, ranks)) in enumerate(zip(axes, rdms.panels, strict=True)):
        image = ax.imshow(ranks, cmap="cividis", vmin=0, vmax=1)
        ax.set_title(title)
        for _, _, stop in rdms.blocks[:-1]:
            ax.axhline(stop - 0.5, color="white", linewidth=0.5)
            ax.axvline(stop - 0.5, color="white", linewidth=0.5)
        middles = [(start + stop - 1) / 2 for _, start, stop in rdms.blocks]
        names = [name.replace("_", " ") for name, _, _ in rdms.blocks]
        left = index % PANELS_A_ROW == 0
        ax.set_yticks(middles if left else [], names if left else [])
        ax.set_xticks([])
        ax.tick_params(length=0, labelsize=6)
    figure.colorbar(image, ax=axes, label="Dissimilarity (percentile rank)", shrink=0.8)
    return figure
