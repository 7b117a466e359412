"""Which networks a statistic is about: finished ones, those with an undefined metric named, points averaged."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from search.report.tables import METRICS, SearchTables

EPOCH_RULE = "last"
ILLUSTRATIVE_BELOW = 30

_UNDEFINED = {"undefined_constant", "undefined_collapsed", "undefined_zero", "diverged"}


@dataclass(frozen=True)
class Sample:
    """The rows of a statistic.

    frame: one row a network, or a sampled point when points were averaged; columns tid, point, the metrics, the
    hyperparameters and epochs_trained. Every measured metric is defined in every row.
    measured: the metrics that this search evaluates. excluded: tids left out, `reason` says why.
    """

    frame: pd.DataFrame
    unit: str
    measured: tuple[str, ...]
    excluded: tuple[int, ...]
    reason: str
    undefined_scored: bool

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
    """The metrics with a value, or a status that says why there is none, in any finished network or evaluation."""
    done, epochs = tables.finished, tables.epochs[tables.epochs["tid"].isin(tables.finished["tid"])]
    return tuple(
        metric
        for metric in METRICS
        if done[metric].notna().any() or epochs[metric].notna().any() or done[f"{metric}_status"].isin(_UNDEFINED).any()
    )


def networks(tables: SearchTables, *, undefined_scored: bool = False) -> Sample:
    """Finished networks whose measured metrics are all defined.

    With `undefined_scored`, an undefined HMS counts as 0 and an undefined accuracy as chance, as the paper
    probably counted them; an undefined MSE has no such value and still leaves the network out.
    """
    frame = tables.finished.copy()
    measured = measured_metrics(tables)
    if undefined_scored:
        for metric, value in (("hms", 0.0), ("accuracy", tables.record.chance_accuracy)):
            if metric in measured:
                named = frame.apply(_status, axis=1, metric=metric).isin(_UNDEFINED)
                frame.loc[frame[metric].isna() & named, metric] = value
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
    )


def points(sample: Sample, replicates: int) -> Sample:
    """Average the replicates of each sampled point; the sample itself when points were trained once."""
    if replicates <= 1 or sample.n == 0:
        return sample
    varying = [*METRICS, "epochs_trained"]
    steady = [column for column in sample.frame.columns if column.startswith("param.")]
    grouped = sample.frame.groupby("point", sort=True)
    frame = pd.concat([grouped[varying].mean(), grouped[steady].first(), grouped["tid"].min()], axis=1).reset_index()
    return Sample(frame, "point", sample.measured, sample.excluded, sample.reason, sample.undefined_scored)


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


def _status(row: pd.Series, metric: str) -> str:
    status = row[f"{metric}_status"]
    if status not in ("", "ok"):
        return str(status)
    return "diverged" if row["finish"] == "diverged" else "not evaluated"
