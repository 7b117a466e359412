"""The rules of `search.stopping`, replayed: stability, and stability with a threshold."""

import numpy as np

from search.metric_sections import StoppingSection
from search.report.early_stopping.histories import Flags, Floats, Histories, Ints
from search.report.early_stopping.outcome import Outcome
from search.report.early_stopping.stability import NEVER, broken_off, first_stable, window_sds, within


def stability(histories: Histories, metric: str, settings: StoppingSection, label: str) -> Outcome:
    """Every network ended where its metric is first stable."""
    return stopped_at(histories, metric, settings, *stable_epochs(histories, metric, settings), label)


def stopped_at(
    histories: Histories, metric: str, settings: StoppingSection, stable: Ints, ends: Ints, label: str
) -> Outcome:
    """Every network ended at the epoch `stable` (n,), or at `ends` (n,) where that is `NEVER`."""
    stop, nothing = np.where(stable == NEVER, ends, stable), np.zeros(histories.n, dtype=bool)
    return Outcome("stability", label, metric, stop, nothing, long_enough(histories, settings))


def threshold(
    histories: Histories, metric: str, settings: StoppingSection, limits: Floats | float, label: str
) -> Outcome:
    """A network whose metric, where it is first stable, is worse than its limit is discarded there; others train on.

    Args:
        limits: (n,) or one number, in the metric's unit; NaN discards nothing.
    """
    stable, ends = stable_epochs(histories, metric, settings)
    sign, value = histories.signs[metric], histories.at(metric, stable)
    worse = (stable != NEVER) & (sign * value < sign * np.asarray(limits))
    stop = np.where(worse, stable, ends)
    discarded = worse & (stable < histories.trained)
    return Outcome("threshold", label, metric, stop, discarded, long_enough(histories, settings))


def limits_of_others(final: Floats, k: float, sign: int, after: int) -> Floats:
    """k SD better than the mean of all other networks' final values, (n,): leave-one-out; SD with ddof 1.

    NaN where fewer than `after` others (at least two) have a value: the rule then discards nothing.
    """
    known = np.isfinite(final)
    values = np.where(known, final, 0.0)
    count = known.sum() - known
    centre = values.sum() / max(1, known.sum())
    shifted = np.where(known, values - centre, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (shifted.sum() - shifted) / count
        squares = (shifted**2).sum() - shifted**2
        sd = np.sqrt(np.maximum(squares - count * mean**2, 0.0) / (count - 1))
        limits = centre + mean + sign * k * sd
    return np.where(count >= max(2, after), limits, np.nan)


def stable_epochs(histories: Histories, metric: str, settings: StoppingSection) -> tuple[Ints, Ints]:
    """Where each network is first stable, `NEVER` where it is not before its end; and where it ends otherwise."""
    sds = window_sds(histories, metric, settings.window, settings.ddof)
    ends = broken_off(histories, metric, settings.collapsed_after)
    return stable_before(histories, within(histories, metric, sds, settings), settings.min_epochs, ends), ends


def stable_before(histories: Histories, inside: Flags, min_epochs: int, ends: Ints) -> Ints:
    """The first epoch (n,) with a window within the tolerance (`inside`, (n, E)), up to `ends` (n,); or `NEVER`."""
    stable = first_stable(histories, inside, min_epochs)
    return np.where(stable <= ends, stable, NEVER)


def long_enough(histories: Histories, settings: StoppingSection) -> Flags:
    """Networks (n,) planned for more epochs than the rule needs at least: they could be ended early."""
    return histories.planned > max(earliest(settings.window, histories.every), settings.min_epochs)


def earliest(window: int, every: int) -> int:
    """The first epoch with a complete window: epoch 0 is never part of one."""
    return (window // every + 1) * every
