"""Average-linkage trees of RDMs, with the category of each leaf below it."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from search.report.figures.arrangement import mark_categories
from search.report.figures.style import panels
from search.report.palette import LIGHT

_LEAF = 10.0  # scipy's distance between two leaves


def printed(rdms: Mapping[str, NDArray[np.float64]], categories: Sequence[str], labels: Sequence[str]) -> Figure:
    """One tree below the other for each title -> RDM (n, n), 7 inches wide; leaves have labels where all are one kind.

    Average linkage (UPGMA; Sokal & Michener 1958): the height of a fork is the mean dissimilarity of its two sides.
    """
    named = len(set(categories)) == 1
    figure, axes = panels(len(rdms), 1, 7.0, (3.0 if named else 2.4) * len(rdms) + 0.5)
    for ax, (title, rdm) in zip(axes, rdms.items(), strict=True):
        tree = linkage(squareform(rdm, checks=False), method="average")
        drawn = dendrogram(tree, ax=ax, no_labels=True, color_threshold=0, above_threshold_color=LIGHT["muted"])
        for lines in ax.collections:
            lines.set_linewidth(0.6)
        places = (np.arange(len(labels)) + 0.5) * _LEAF
        leaves = drawn["leaves"] or []
        ax.set(title=title, ylabel="mean dissimilarity")
        if named:
            ax.set_xticks(places, [labels[leaf] for leaf in leaves], rotation=90, fontsize=4)
        else:
            bottom = -0.06 * float(tree[-1, 2])
            order = np.argsort(leaves)
            mark_categories(ax, np.column_stack([places[order], np.full(len(order), bottom)]), categories)
            ax.set_ylim(bottom=2 * bottom)
        ax.spines["bottom"].set_visible(False)
    handles, names = axes[0].get_legend_handles_labels()
    if len(handles) > 1:
        figure.legend(handles, names, fontsize=7, loc="outside lower center", ncols=3)
    return figure
