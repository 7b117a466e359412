"""Which networks a statistic is about: finished ones, those with an undefined metric named, points averaged."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from metrics.metric import OK, Metric, is_status
from metrics.registry import METRICS
from search.report.epoch_rule import LEFT_OUT, EpochRule, cut_off, finished_at
from search.report.tables import SearchTables

ILLUSTRATIVE_BELOW = 30
LAST = EpochRule()


@dataclass(frozen=True)
class Sample:
    """The rows of a statistic.

    frame: one row a network, or a sampled point when points were averaged; columns tid, point, the metrics, the
    hyperparameters and epochs_trained. Every measured metric is defined in every row.
    measured: the metrics that this search evaluates; metrics: all of the search, as described. excluded: tids left out,
    `reason` says why. rule: of which evaluation the values are; cut_off: networks that it leaves out because stopping
    ended them early, so that the others are no random sample.
    """

    frame: pd.DataFrame
    unit: str
    measured: tuple[str, ...]
    excluded: tuple[int, ...]
    reason: str
    undefined_scored: bool
    metrics: Mapping[str, Metric] = field(default_factory=lambda: dict(METRICS))
    rule: EpochRule = LAST
    cut_off: int = 0

    @property
    def n(self) -> int:
        """Number of rows: networks, or points."""
        return len(self.frame)


def undefined_networks(tables: SearchTables, rule: EpochRule = LAST) -> pd.DataFrame:
    """Finished networks that lack a metric that others have, as of the rule: columns tid, metric, status, finish."""
    done = finished_at(tables, rule)
    done = done[done[LEFT_OUT] == ""]
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


def networks(tables: SearchTables, rule: EpochRule = LAST, *, undefined_scored: bool = False) -> Sample:
    """Finished networks whose measured metrics are all defined at the evaluation of the rule.

    With `undefined_scored`, an undefined HMS counts as 0 and an undefined accuracy as chance, as the paper
    probably counted them; an undefined MSE has no such value and still leaves the network out.
    """
    frame = finished_at(tables, rule)
    ruled_out = frame[LEFT_OUT] != ""
    measured = measured_metrics(tables)
    if undefined_scored:
        scored = {metric: 0.0 for metric in measured if metric == "hms" or metric.startswith("hms_")}
        scored |= {"accuracy": tables.record.chance_accuracy} if "accuracy" in measured else {}
        for metric, value in scored.items():
            named = frame.apply(_status, axis=1, metric=metric).map(_undefined)
            frame.loc[frame[metric].isna() & named.astype(bool) & ~ruled_out, metric] = value
    complete = frame[list(measured)].notna().all(axis=1) if measured else pd.Series(False, index=frame.index)
    complete &= ~ruled_out
    left_out = frame[~complete & ~ruled_out]
    reasons = [f"{why} ({len(group)})" for why, group in frame[ruled_out].groupby(LEFT_OUT)]
    reasons += [
        f"{metric} {status} ({len(group)})"
        for metric in measured
        for status, group in left_out[left_out[metric].isna()].groupby(
            left_out[left_out[metric].isna()].apply(_status, axis=1, metric=metric)
        )
    ]
    return Sample(
        frame=frame[complete].drop(columns=LEFT_OUT).reset_index(drop=True),
        unit="network",
        measured=measured,
        excluded=tuple(int(tid) for tid in frame.loc[~complete, "tid"]),
        reason="; ".join(reasons),
        undefined_scored=undefined_scored,
        metrics=tables.metrics,
        rule=rule,
        cut_off=cut_off(frame),
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


def _undefined(status: str) -> bool:
    return status != OK and is_status(status)


def _status(row: pd.Series, metric: str) -> str:
    status = row[f"{metric}_status"]
    if status not in ("", "ok"):
        return str(status)
    return "diverged" if row["finish"] == "diverged" else "not evaluated"
