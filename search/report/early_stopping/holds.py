"""The paper's claim tested: once stable, a metric stays so. And when the metrics become stable."""

import math
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from search.metric_sections import StoppingSection
from search.report import paper
from search.report.early_stopping.histories import Histories
from search.report.early_stopping.rules import earliest, stable_before
from search.report.early_stopping.stability import NEVER, broken_off, later_windows, window_sds, within

NETWORK_COLUMNS = [
    "tid", "metric", "stable_epoch", "trained", "value_at_stop", "final", "difference", "later_windows",
    "largest_later_sd", "unstable_again",
]  # fmt: skip
COLUMNS = [
    "metric", "n", "too_short", "stable", "never_stable", "epoch_mean", "epoch_sd", "paper_epoch_mean",
    "paper_epoch_sd", "testable", "unstable_again", "unstable_share", "unstable_low", "unstable_high", "difference_n",
    "difference_median", "difference_mean", "difference_q90", "difference_max", "beyond_tolerance", "window",
    "tolerance", "ddof", "min_epochs", "method",
]  # fmt: skip
METHOD = "share: Wilson 95 %; differences: |at stop - at end|; SD with ddof 1"


def networks(histories: Histories, metric: str, settings: StoppingSection) -> pd.DataFrame:
    """One row (`NETWORK_COLUMNS`) a network.

    `unstable_again`: the window's SD exceeds the tolerance at a later evaluation, of those (`later_windows`) whose
    window is complete and defined; NaN in a network that never was stable or has no later window.
    """
    sds = window_sds(histories, metric, settings.window, settings.ddof)
    inside = within(histories, metric, sds, settings)
    ends = broken_off(histories, metric, settings.collapsed_after)
    stable = stable_before(histories, inside, settings.min_epochs, ends)
    was = stable != NEVER
    later = later_windows(histories, sds, stable)
    windows = later.sum(axis=1)
    again = (later & ~inside).any(axis=1)
    at_stop = np.where(was, histories.at(metric, stable), np.nan)
    final = histories.final[metric]
    return pd.DataFrame(
        {
            "tid": histories.tids,
            "metric": metric,
            "stable_epoch": np.where(was, stable, np.nan),
            "trained": histories.trained,
            "value_at_stop": at_stop,
            "final": final,
            "difference": np.abs(at_stop - final),
            "later_windows": windows,
            "largest_later_sd": np.where(later, sds, -np.inf).max(axis=1, initial=-np.inf),
            "unstable_again": np.where(windows > 0, again.astype(float), np.nan),
        },
        columns=NETWORK_COLUMNS,
    ).replace({"largest_later_sd": {-np.inf: np.nan}})


def summary(histories: Histories, metric: str, settings: StoppingSection) -> dict[str, Any]:
    """One row (`COLUMNS`) a metric."""
    table = networks(histories, metric, settings)
    stable = table.dropna(subset=["stable_epoch"])
    again, differences = stable["unstable_again"].dropna(), stable["difference"].dropna()
    epochs, published = stable["stable_epoch"], paper.STABLE_EPOCH.get(metric, (math.nan, math.nan))
    low, high = proportion_confint(again.sum(), len(again), method="wilson") if len(again) else (math.nan, math.nan)
    short = int((histories.planned < max(earliest(settings.window, histories.every), settings.min_epochs)).sum())
    return {
        "metric": metric,
        "n": histories.n,
        "too_short": short,
        "stable": len(stable),
        "never_stable": histories.n - len(stable) - short,
        "epoch_mean": epochs.mean(),
        "epoch_sd": epochs.std(ddof=1),
        "paper_epoch_mean": published[0],
        "paper_epoch_sd": published[1],
        "testable": len(again),
        "unstable_again": int(again.sum()),
        "unstable_share": again.mean(),
        "unstable_low": low,
        "unstable_high": high,
        "difference_n": len(differences),
        "difference_median": differences.median(),
        "difference_mean": differences.mean(),
        "difference_q90": differences.quantile(0.9),
        "difference_max": differences.max(),
        "beyond_tolerance": int((differences > settings.tolerance).sum()),
        **{name: getattr(settings, name) for name in ("window", "tolerance", "ddof", "min_epochs")},
        "method": METHOD,
    }
