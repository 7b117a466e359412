"""The Pareto front over HMS, MSE and accuracy: the networks that no other equals or beats in all and beats in one."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.metric import Metric
from search.report.sample import Sample
from search.report.summaries import PAPERS


def front(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each of n points (n, m), higher = better in every column, is dominated by none; equal points both are."""
    on_front = np.zeros(len(values), dtype=bool)
    for i, point in enumerate(values):
        as_good = (values >= point).all(axis=1)
        on_front[i] = not (as_good & (values > point).any(axis=1)).any()
    return on_front


def towards_better(frame: pd.DataFrame, names: tuple[str, ...], metrics: Mapping[str, Metric]) -> NDArray[np.float64]:
    """Columns of `frame` as (n, m), turned so that higher is better."""
    signs = [1.0 if metrics[name].higher_is_better else -1.0 for name in names]
    return frame[list(names)].to_numpy(dtype=np.float64) * signs


def pareto_metrics(sample: Sample) -> tuple[str, ...]:
    """Which of the paper's three were measured, HMS first."""
    return tuple(name for name in sample.measured if name in PAPERS)


def pareto_table(sample: Sample) -> pd.DataFrame:
    """The networks on the front, best HMS first: tid, metrics, planned and trained epochs, hyperparameters, epoch rule.

    Empty with fewer than two metrics: the best network is then all there is to a front.
    """
    names, frame = pareto_metrics(sample), sample.frame
    parameters = [column for column in frame.columns if column.startswith("param.")]
    columns = ["tid", *names, "epochs_planned", "epochs_trained", *parameters]
    if len(names) < 2 or frame.empty:
        return pd.DataFrame(columns=[*columns, "epoch_rule"])
    members = frame[front(towards_better(frame, names, sample.metrics))]
    ordered = members.sort_values([names[0], "tid"], ascending=[not sample.metrics[names[0]].higher_is_better, True])
    return ordered[columns].assign(epoch_rule=sample.rule.name).reset_index(drop=True)
