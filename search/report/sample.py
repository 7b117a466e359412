"""Which networks a statistic is about: finished ones, those with an undefined metric named, points averaged."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from metrics.metric import OK, Metric, is_status
from metrics.registry import METRICS
from search.report.tables import SearchTables

EPOCH_RULE = "last"
ILLUSTRATIVE_BELOW = 30


@dataclass(frozen=True)
class Sample:
    """The rows of a statistic.

    frame: one row a network, or a sampled point when points were averaged; columns tid, point, the metrics, the
    hyperparameters and epochs_trained. Every measured metric is defined in every row.
    measured: the metrics that this search evaluates; metrics: all of the search, as described. excluded: tids left out,
    `reason` says why.
    """

    frame: pd.DataFrame
    unit: str
    measured: tuple[str, ...]
    excluded: tuple[int, ...]
    reason: str
    undefined_scored: bool
    metrics: Mapping[str, Metric] = field(default_factory=lambda: dict(METRICS))

    @property
    def n(self) -> int:
        """Number of rows: networks, or points."""
        return len(self.frame)


def undefined_networks(tables: SearchTables) -> pd.DataFrame:
    """Finished networks that lack a metric that others have: columns tid, metric, status, finish."""
    done = tables.finished
    rows = [
        {"tid": int(row["tid"]), "metric": metric, "status": _status(row, metric), "finish": row["finish"]}
        for metric in measured_metrics(tables)
        for _, row in done[done[metric].isna()].iterrows()
    ]
    table = pd.DataFrame(rows, columns=["tid", "metric", "status", "finish"])
    return table.sort_values(["tid", "metric"], ignore_index=True)


def measured_metrics(tables: SearchTables) -> tuple[str, ...]:
    """The metrics with a value, or a status that says why there is none, in any finished network or evaluation.

    One beside the paper's three that no finished network has is left out: it would leave no network to look at.
    """
    done, epochs = tables.finished, tables.epochs[tables.epochs["tid"].isin(tables.finished["tid"])]
    return tuple(
        metric
        for metric in tables.metrics
        if done[metric].notna().any()
        or (metric in METRICS and (epochs[metric].notna().any() or done[f"{metric}_status"].map(_undefined).any()))
    )


def networks(tables: SearchTables, *, undefined_scored: bool = False) -> Sample:
    """Finished networks whose measured metrics are all defined.

    With `undefined_scored`, an undefined HMS counts as 0 and an undefined accuracy as chance, as the paper
    probably counted them; an undefined MSE has no such value and still leaves the network out.
    """
    frame = tables.finished.copy()
    measured = measured_metrics(tables)
    if undefined_scored:
        scored = {metric: 0.0 for metric in measured if metric == "hms" or metric.startswith("hms_")}
        scored |= {"accuracy": tables.record.chance_accuracy} if "accuracy" in measured else {}
        for metric, value in scored.items():
            named = frame.apply(_status, axis=1, metric=metric).map(_undefined)
            frame.loc[frame[metric].isna() & named.astype(bool), metric] = value
    complete = frame[list(measured)].notna().all(axis=1) if measured else pd.Series(False, index=frame.index)
    left_out = frame[~complete]
    reasons = [
        f"{metric} {status} ({len(group)})"
        for metric in measured
        for status, group in left_out[left_out[metric].isna()].groupby(
            left_out[left_out[metric].isna()].apply(_status, axis=1, metric=metric)
        )
    ]
    return Sample(
        frame=frame[complete].reset_index(drop=True),
        unit="network",
        measured=measured,
        excluded=tuple(int(tid) for tid in left_out["tid"]),
        reason="; ".join(reasons),
        undefined_scored=undefined_scored,
        metrics=tables.metrics,
    )


def points(sample: Sample, replicates: int) -> Sample:
    """Average the replicates of each sampled point; the sample itself when points were trained once."""
    if replicates <= 1 or sample.n == 0:
        return sample
    varying = [*sample.metrics, "epochs_trained"]
    steady = [column for column in sample.frame.columns if column.startswith("param.")]
    grouped = sample.frame.groupby("point", sort=True)
    frame = pd.concat([grouped[varying].mean(), grouped[steady].first(), grouped["tid"].min()], axis=1).reset_index()
    return replace(sample, frame=frame, unit="point")


def numeric_factors(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Hyperparameters that can be ranked, and the trained epochs, as float columns by their name in `trials`."""
    names = [*[column for column in frame.columns if column.startswith("param.")], "epochs_trained"]
    columns: dict[str, np.ndarray] = {}
    for name in names:
        values = pd.to_numeric(frame[name].map(_as_number), errors="coerce").to_numpy(dtype=np.float64)
        if len(values) and np.isfinite(values).all():
            columns[name] = values
    return columns


def _as_number(value: object) -> object:
    return float(value) if isinstance(value, bool | np.bool_) else value


def _undefined(status: str) -> bool:
    return status != OK and is_status(status)


def _status(row: pd.Series, metric: str) -> str:
    status = row[f"{metric}_status"]
    if status not in ("", "ok"):
        return str(status)
    return "diverged" if row["finish"] == "diverged" else "not evaluated"
