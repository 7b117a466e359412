"""Stimuli as points by classical multidimensional scaling of RDMs, marked by category."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from metrics.mds import classical_mds
from search.report.figures.style import panels
from search.report.palette import CATEGORY_MARKS


def printed(rdms: Mapping[str, NDArray[np.float64]], categories: Sequence[str]) -> Figure:
    """One panel for each title -> RDM (n, n); `categories` (n,). 3.4 inches wide each.

    Axes have the unit of the distances; their share of the variance says how much of the RDM the picture shows.
    """
    figure, axes = panels(1, len(rdms), 3.4 * len(rdms), 3.9)
    for ax, (title, rdm) in zip(axes, rdms.items(), strict=True):
        points, share = classical_mds(rdm)
        mark_categories(ax, points, categories)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_title(f"{title}\ntwo dimensions hold {100 * share:.0f} % of the variance")
        ax.set(xlabel="dimension 1 (dissimilarity)", ylabel="dimension 2 (dissimilarity)")
    handles, names = axes[0].get_legend_handles_labels()
    if len(handles) > 1:
        figure.legend(handles, names, fontsize=7, loc="outside lower center", ncols=3)
    return figure


def mark_categories(ax: Axes, points: NDArray[np.float64], categories: Sequence[str]) -> None:
    """Points (n, 2) with the colour and shape of their category, and a label for the legend."""
    kinds = np.array(categories)
    for index, category in enumerate(dict.fromkeys(categories)):
        colour, marker = CATEGORY_MARKS[index % len(CATEGORY_MARKS)]
        own = points[kinds == category]
        ax.scatter(
            own[:, 0], own[:, 1], s=16, marker=marker, color=colour, linewidths=0, label=category.replace("_", " ")
        )
