"""Where a metric of each network is first stable: `search.stopping.first_stable` for all networks at once."""

from collections.abc import Sequence

import numpy as np

from search.metric_sections import StoppingSection
from search.report.early_stopping.histories import Flags, Floats, Histories, Ints
from search.stopping import Evaluation, window_sd

NEVER = -1
# Nearer to the tolerance than this, rounding could decide: there the rule's own exact arithmetic does. Relative to the
# tolerance, and to the largest value.
_CLOSE, _ROUNDING = 1e-9, 1e-14


def window_sds(histories: Histories, metric: str, window: int, ddof: int) -> Floats:
    """Standard deviation (n, E) of the metric over the window that ends at each epoch; NaN as `window_sd` has None."""
    sds = np.full(histories.evaluated.shape, np.nan)
    column = {int(epoch): i for i, epoch in enumerate(histories.epochs)}
    spans = [range(epoch - window, epoch + 1, histories.every) for epoch in column]
    whole = [i for i, span in enumerate(spans) if span[0] > 0 and all(epoch in column for epoch in span)]
    if whole:
        places = np.array([[column[epoch] for epoch in spans[i]] for i in whole])
        points = histories.values[metric][:, places]  # (n, windows, points)
        if points.shape[2] > ddof:
            sds[:, whole] = points.std(axis=2, ddof=ddof)
    return sds


def within(histories: Histories, metric: str, sds: Floats, settings: StoppingSection) -> Flags:
    """Where the window's SD (n, E) is at most the tolerance, by the same arithmetic as `search.stopping`."""
    tolerance = settings.tolerance
    inside = sds <= tolerance
    largest = np.nanmax(np.abs(histories.values[metric]), initial=0.0)
    for network, place in np.argwhere(np.abs(sds - tolerance) <= _CLOSE * tolerance + _ROUNDING * largest):
        exact = window_sd(
            evaluations(histories, metric, network),
            int(histories.epochs[place]),
            window=settings.window,
            every=histories.every,
            ddof=settings.ddof,
        )
        inside[network, place] = exact is not None and exact <= tolerance
    return inside


def evaluations(histories: Histories, metric: str, network: int) -> Sequence[Evaluation]:
    """The history of one network as the stopping rule sees it."""
    values, diverged = histories.values[metric][network], histories.diverged[metric][network]
    return [
        Evaluation(
            int(histories.epochs[i]),
            float(values[i]) if np.isfinite(values[i]) else None,
            "diverged" if diverged[i] else "ok" if np.isfinite(values[i]) else "undefined",
        )
        for i in np.flatnonzero(histories.evaluated[network])
    ]


def first_stable(histories: Histories, inside: Flags, min_epochs: int) -> Ints:
    """The first epoch (n,) from `min_epochs` on whose window is within the tolerance; `NEVER` where none is."""
    stable = inside & (histories.epochs >= min_epochs)
    if not stable.size:
        return np.full(histories.n, NEVER, dtype=np.int64)
    return np.where(stable.any(axis=1), histories.epochs[stable.argmax(axis=1)], NEVER)


def later_windows(histories: Histories, sds: Floats, stable: Ints) -> Flags:
    """The complete and defined windows (n, E) after the epoch `stable` (n,); none where it is `NEVER`."""
    return np.isfinite(sds) & (histories.epochs > stable[:, None]) & (stable != NEVER)[:, None]


def broken_off(histories: Histories, metric: str, collapsed_after: int) -> Ints:
    """The epoch (n,) at which the rule ends a run as diverged or collapsed by this metric, at most `trained`."""
    ends = histories.trained.copy()
    undefined = histories.evaluated & ~np.isfinite(histories.values[metric]) & (histories.epochs > 0)
    in_a_row = np.zeros(histories.n, dtype=np.int64)
    for i, epoch in enumerate(histories.epochs):
        in_a_row = np.where(undefined[:, i], in_a_row + 1, np.where(histories.evaluated[:, i], 0, in_a_row))
        ended = (in_a_row >= collapsed_after) | histories.diverged[metric][:, i]
        ends = np.where(ended, np.minimum(ends, epoch), ends)
    return ends
