"""Stopping rules: pure functions of a metric history (Blanchard et al., CVPR 2019).

A metric, HMS in the paper, is *stable* at the first evaluation at which its standard deviation over the trailing window
is at most the tolerance. A window of 25 epochs evaluated every 5 holds six points, both ends included. Epoch 0 (before
training) is never part of a window; a missing evaluation makes a window incomplete, never shorter; an undefined value
inside it means not stable. Any logged metric may stand for HMS (`stopping.metric`), in its own direction.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from search.metric_sections import StoppingSection


@dataclass(frozen=True)
class Evaluation:
    """The metric of the rule at one epoch: a number, or None with the status that says why it is undefined."""

    epoch: int
    value: float | None
    status: str = "ok"


@dataclass(frozen=True)
class Decision:
    """What becomes of a run.

    `finish`: `hms_stable` (`stable` where the rule looks at another metric), `below_threshold` (worse than the
    threshold), `max_epochs`, `collapsed` or `diverged`; None to train on. `stable_epoch`: where the metric was first
    stable.
    """

    finish: str | None
    stable_epoch: int | None
    rule: str


def window_sd(history: Sequence[Evaluation], epoch: int, *, window: int, every: int, ddof: int = 0) -> float | None:
    """Standard deviation of the metric over the window that ends at `epoch`; None where it is incomplete or undefined.

    Args:
        history: evaluations in any order; the last one of an epoch counts.
        window: length in epochs, a multiple of `every`; it holds `window / every + 1` points.
        ddof: 0 divides by n, 1 by n - 1.
    """
    known = {evaluation.epoch: evaluation.value for evaluation in history}
    epochs = range(epoch - window, epoch + 1, every)
    if epochs[0] <= 0:
        return None
    values = [known.get(point) for point in epochs]
    if any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not None]
    return statistics.pstdev(numbers) if ddof == 0 else statistics.stdev(numbers)


def first_stable(history: Sequence[Evaluation], settings: StoppingSection, every: int) -> int | None:
    """The first evaluated epoch at which the metric is stable, or None."""
    for epoch in sorted({evaluation.epoch for evaluation in history}):
        if epoch < settings.min_epochs:
            continue
        sd = window_sd(history, epoch, window=settings.window, every=every, ddof=settings.ddof)
        if sd is not None and sd <= settings.tolerance:
            return epoch
    return None


def decide(
    history: Sequence[Evaluation],
    settings: StoppingSection,
    *,
    every: int,
    epochs_planned: int,
    finished: Sequence[float] = (),
    sign: int = 1,
) -> Decision:
    """What becomes of a run after its newest evaluation.

    Args:
        history: all evaluations of the run so far, epoch 0 included.
        finished: last values of the networks that already finished; only `threshold_sd` reads them.
        sign: 1 where a higher value is better, -1 where a lower one is.
    """
    latest = max(history, key=lambda evaluation: evaluation.epoch)
    if latest.status == "diverged":
        return Decision("diverged", None, settings.rule)
    if _undefined_in_a_row(history) >= settings.collapsed_after:
        return Decision("collapsed", None, settings.rule)
    stable = first_stable(history, settings, every)
    finish: str | None = None
    if stable is not None and settings.rule == "stability":
        finish = "hms_stable" if settings.metric == "hms" else "stable"
    if stable is not None and settings.rule == "threshold":
        threshold = discard_threshold(settings, finished, sign)
        at_stable = next(e.value for e in history if e.epoch == stable)
        if threshold is not None and at_stable is not None and sign * at_stable < sign * threshold:
            finish = "below_threshold"
    if finish is None and latest.epoch >= epochs_planned:
        finish = "max_epochs"
    return Decision(finish, stable, settings.rule)


def discard_threshold(settings: StoppingSection, finished: Sequence[float], sign: int = 1) -> float | None:
    """The value that a stable network must reach: absolute, or k SD better than the mean once enough have finished."""
    if settings.threshold is not None:
        return settings.threshold
    if settings.threshold_sd is None or len(finished) < max(2, settings.threshold_after):
        return None
    return statistics.fmean(finished) + sign * settings.threshold_sd * statistics.stdev(finished)


def unmoved(history: Sequence[Evaluation], tolerance: float) -> bool:
    """Whether the metric stayed within `tolerance` of its value before training: stable because nothing was learned."""
    start = next((e.value for e in history if e.epoch == 0), None)
    later = [e.value for e in history if e.epoch > 0]
    if start is None or not later:
        return False
    return all(value is not None and abs(value - start) <= tolerance for value in later)


def _undefined_in_a_row(history: Sequence[Evaluation]) -> int:
    count = 0
    for evaluation in sorted(history, key=lambda e: e.epoch, reverse=True):
        if evaluation.value is not None or evaluation.epoch == 0:
            break
        count += 1
    return count
