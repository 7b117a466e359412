"""How much of a metric is the point and how much the seed: the intraclass correlation over replicates.

ICC(1), one-way random effects, single measurement (Shrout & Fleiss 1979; McGraw & Wong 1996): at most 1, where
seeds do not matter; about 0 where they explain everything; it can be negative.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from search.report.epoch_rule import LEFT_OUT, EpochRule, finished_at
from search.report.sample import LAST
from search.report.tables import SearchTables

COLUMNS = ["metric", "icc", "ci_low", "ci_high", "points", "networks", "replicates", "epoch_rule", "reason"]


@dataclass(frozen=True)
class Intraclass:
    """ICC(1) with its 95 % interval; NaN with a `reason` where undefined. `replicates` is the mean per point."""

    icc: float
    ci_low: float
    ci_high: float
    points: int
    networks: int
    replicates: float
    reason: str = ""


def intraclass(values: NDArray[np.float64], groups: NDArray[np.int64], level: float = 0.95) -> Intraclass:
    """ICC(1) of `values` (n,) grouped by point `groups` (n,); NaN values are dropped, single replicates too."""
    frame = pd.DataFrame({"value": values, "group": groups}).dropna()
    frame = frame[frame.groupby("group")["value"].transform("size") >= 2]
    sizes = frame.groupby("group")["value"].size().to_numpy(dtype=np.float64)
    points, n = len(sizes), len(frame)
    nothing = Intraclass(math.nan, math.nan, math.nan, points, n, n / points if points else math.nan)
    if points < 2:
        return _because(nothing, "fewer than two points with two defined replicates")
    means = frame.groupby("group")["value"].transform("mean")
    between = float(((means - frame["value"].mean()) ** 2).sum()) / (points - 1)
    within = float(((frame["value"] - means) ** 2).sum()) / (n - points)
    # The mean group size, corrected for unequal numbers of replicates.
    k = (n - float((sizes**2).sum()) / n) / (points - 1)
    if between + within == 0:
        return _because(nothing, "all values are equal")
    icc = (between - within) / (between + (k - 1) * within)
    if within == 0:
        return Intraclass(icc, 1.0, 1.0, points, n, n / points)
    ratio, tail = between / within, (1 + level) / 2
    low = ratio / stats.f.ppf(tail, points - 1, n - points)
    high = ratio * stats.f.ppf(tail, n - points, points - 1)
    return Intraclass(icc, _from_ratio(low, k), _from_ratio(high, k), points, n, n / points)


def _because(result: Intraclass, reason: str) -> Intraclass:
    return Intraclass(math.nan, math.nan, math.nan, result.points, result.networks, result.replicates, reason)


def _from_ratio(ratio: float, k: float) -> float:
    return float((ratio - 1) / (ratio + k - 1))


def replicate_table(tables: SearchTables, rule: EpochRule = LAST) -> pd.DataFrame:
    """ICC of each metric over seeds; columns `COLUMNS`. Empty when every point was trained once."""
    if tables.record.replicates <= 1:
        return pd.DataFrame(columns=COLUMNS)
    done = finished_at(tables, rule)
    done = done[done[LEFT_OUT] == ""]
    points = done["point"].fillna(-1).to_numpy(dtype=np.int64)
    rows = [
        {"metric": metric}
        | vars(intraclass(done[metric].to_numpy(dtype=np.float64), points))
        | {"epoch_rule": rule.name}
        for metric in tables.metrics
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
