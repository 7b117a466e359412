"""Table 1: mean and SD of the metrics over all networks, the best by HMS and the worst by HMS."""

import math

import numpy as np
import pandas as pd

from search.report import paper
from search.report.sample import Sample

GROUP_SIZE = 10
PAPERS = ("mse", "accuracy", "hms")  # in the order of its table
COLUMNS = ["group", "label", "n", "metric", "mean", "sd", "epoch_rule", "paper_mean", "paper_sd", "paper_note"]


def group_sizes(n: int) -> tuple[int, str]:
    """Size of the top and bottom groups and what to call it: ten, or half of fewer than twenty networks."""
    size = min(GROUP_SIZE, n // 2)
    return size, str(size) if size == GROUP_SIZE else f"{size} of {n}"


def table_1(sample: Sample, *, compare: bool = True, legacy: bool = False) -> pd.DataFrame:
    """Table 1 in long form; columns `COLUMNS`, SD with ddof 1, NaN where a group has fewer than two networks.

    Ranks by HMS with ties in the order of tid. The paper's accuracy is of the published protocol (`legacy`); beside
    ours on distinct pairs it is converted and `paper_note` says so. Without `compare` the paper's cells are empty, as
    for a sample that is not random.
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
        | {"epoch_rule": sample.rule.name}
        | _published(group, metric, compare=compare, legacy=legacy)
        for group, label, members in groups
        for metric in (*PAPERS, *(name for name in sample.measured if name not in PAPERS))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _cell(group: str, label: str, metric: str, values: np.ndarray) -> dict[str, object]:
    values = values[np.isfinite(values)]
    return {
        "group": group,
        "label": label,
        "n": len(values),
        "metric": metric,
        "mean": float(values.mean()) if len(values) else math.nan,
        "sd": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
    }


def _published(group: str, metric: str, *, compare: bool, legacy: bool) -> dict[str, object]:
    """The paper's mean and SD; its accuracy converted to distinct pairs unless ours is its own protocol's."""
    published, note = paper.TABLE_1[group].get(metric), ""
    if not compare:
        published, note = None, "no comparison: not a random sample"
    elif metric == "accuracy" and published is not None and not legacy:
        mean, published = published[0], paper.clean_accuracy(*published)
        note = f"converted from {mean:g}"
        if published is None:
            note = f"{mean:g} lies below the floor of its protocol, {paper.LEGACY_FLOOR}"
    mean, sd = published or (math.nan, math.nan)
    return {"paper_mean": mean, "paper_sd": sd, "paper_note": note}
