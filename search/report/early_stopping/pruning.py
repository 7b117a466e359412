"""Median pruning and successive halving (ASHA), replayed in the order of tid as one worker would meet the networks.

Both as Optuna 4 decides (`MedianPruner`, `SuccessiveHalvingPruner`), on the epochs evaluated after training began. A
network is not judged at its own last epoch: nothing would be saved.
"""

import math
from bisect import bisect_right, insort

import numpy as np

from search.report.early_stopping.histories import Floats, Histories
from search.report.early_stopping.outcome import Outcome

STARTUP = 5  # networks that finish before the median rule judges any, as in Optuna


def median_pruning(
    histories: Histories, metric: str, label: str, *, startup: int = STARTUP, warmup: int = 0
) -> Outcome:
    """Median rule (Golovin et al., KDD 2017): a network ends where its best value so far is worse than the median,
    at that epoch, of the networks that finished before it.

    Args:
        startup: networks that must have finished, undiscarded and with a value.
        warmup: epochs before which nothing is judged.
    """
    values = _oriented(histories, metric)
    best = np.fmax.accumulate(values, axis=1) if values.size else values
    seen: list[list[float]] = [[] for _ in histories.epochs]
    stop, discarded, finished = histories.trained.copy(), np.zeros(histories.n, dtype=bool), 0
    for i in range(histories.n):
        judging = histories.evaluated[i] & (histories.epochs < histories.trained[i]) & (histories.epochs >= warmup)
        for j in np.flatnonzero(judging & (histories.epochs > 0)) if finished >= startup else ():
            if np.isnan(best[i, j]) or (seen[j] and best[i, j] < _median(seen[j])):
                stop[i], discarded[i] = histories.epochs[j], True
                break
        if not discarded[i] and math.isfinite(histories.final[metric][i]):
            finished += 1
            for j in np.flatnonzero(np.isfinite(values[i])):
                insort(seen[j], values[i, j])
    judged = histories.planned > max(warmup, histories.every)
    return Outcome("median", label, metric, stop, discarded, judged)


def asha(histories: Histories, metric: str, label: str, *, first_rung: int, factor: int) -> Outcome:
    """Successive halving without waiting (Li et al., MLSys 2020): at each rung, `first_rung * factor**k` epochs, a
    network goes on only if it is in the best 1 / `factor` of those that have reached that rung, itself included; the
    first `factor - 1` go on if they are the best so far. A rung's value is that of the first evaluation from it on.
    """
    values = _oriented(histories, metric)
    stop, discarded = histories.trained.copy(), np.zeros(histories.n, dtype=bool)
    columns = [np.searchsorted(histories.epochs, rung) for rung in rungs(histories, first_rung, factor)]
    reached: list[list[float]] = [[] for _ in columns]
    for i in range(histories.n):
        for rung, j in zip(reached, columns, strict=True):
            if histories.epochs[j] >= histories.trained[i]:
                if histories.evaluated[i, j] and np.isfinite(values[i, j]):
                    insort(rung, values[i, j])
                break
            if np.isfinite(values[i, j]):
                insort(rung, values[i, j])
                ahead = len(rung) - bisect_right(rung, values[i, j])
                promoted = ahead < max(1, len(rung) // factor)
            else:
                promoted = not histories.evaluated[i, j]
            if not promoted:
                stop[i], discarded[i] = histories.epochs[j], True
                break
    judged = histories.planned > (histories.epochs[columns[0]] if columns else np.inf)
    return Outcome("asha", label, metric, stop, discarded, judged)


def rungs(histories: Histories, first_rung: int, factor: int) -> list[int]:
    """The rungs that any network was evaluated at or beyond, in epochs."""
    last, found, rung = int(histories.epochs.max(initial=0)), [], first_rung
    while rung <= last:
        found.append(rung)
        rung *= factor
    return found


def _oriented(histories: Histories, metric: str) -> Floats:
    """The metric (n, E), higher is better, without the untrained state."""
    return np.where(histories.epochs > 0, histories.signs[metric] * histories.values[metric], np.nan)


def _median(ascending: list[float]) -> float:
    middle = len(ascending) // 2
    return ascending[middle] if len(ascending) % 2 else (ascending[middle - 1] + ascending[middle]) / 2
