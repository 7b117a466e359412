"""Table 1: mean and SD of the metrics over all networks, the best by HMS and the worst by HMS."""

import math

import numpy as np
import pandas as pd

from search.report import paper
from search.report.sample import Sample

GROUP_SIZE = 10
PAPERS = ("mse", "accuracy", "hms")  # in the order of its table
COLUMNS = ["group", "label", "n", "metric", "mean", "sd", "paper_mean", "paper_sd", "paper_note"]


def group_sizes(n: int) -> tuple[int, str]:
    """Size of the top and bottom groups and what to call it: ten, or half of fewer than twenty networks."""
    size = min(GROUP_SIZE, n // 2)
    return size, str(size) if size == GROUP_SIZE else f"{size} of {n}"


def table_1(sample: Sample) -> pd.DataFrame:
    """Table 1 in long form; columns `COLUMNS`, SD with ddof 1, NaN where a group has fewer than two networks.

    Ranks by HMS with ties in the order of tid. The paper's accuracy is of the published protocol; for ours, on
    distinct pairs, it is converted and `paper_note` says so.
    """
    frame = sample.frame
    if "hms" in sample.measured:
        ordered = frame.sort_values(["hms", "tid"], ascending=[False, True])
        size, words = group_sizes(sample.n)
        groups = [("all", "All networks", frame)]
        if size:
            groups.append(("top", f"Top {words} by HMS", ordered.head(size)))
            groups.append(("bottom", f"Bottom {words} by HMS", ordered.tail(size)))
    else:
        groups = [("all", "All networks", frame)]
    rows = [
        _cell(group, label, metric, members[metric].to_numpy(dtype=np.float64))
        for group, label, members in groups
        for metric in (*PAPERS, *(name for name in sample.measured if name not in PAPERS))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _cell(group: str, label: str, metric: str, values: np.ndarray) -> dict[str, object]:
    values = values[np.isfinite(values)]
    published: tuple[float, float] | None = paper.TABLE_1[group].get(metric)
    note = ""
    if metric == "accuracy":
        published = paper.clean_accuracy(*paper.TABLE_1[group][metric])
        note = f"converted from {paper.TABLE_1[group][metric][0]:g}"
        if published is None:
            note = f"{paper.TABLE_1[group][metric][0]:g} lies below the floor of its protocol, {paper.LEGACY_FLOOR}"
    return {
        "group": group,
        "label": label,
        "n": len(values),
        "metric": metric,
        "mean": float(values.mean()) if len(values) else math.nan,
        "sd": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        "paper_mean": published[0] if published else math.nan,
        "paper_sd": published[1] if published else math.nan,
        "paper_note": note,
    }
