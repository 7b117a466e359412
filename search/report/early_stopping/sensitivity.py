"""How the verdict on the stability rule depends on what the paper leaves open: window, tolerance, ddof, first epoch."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from search.metric_sections import StoppingSection
from search.report.early_stopping.histories import Floats, Histories, Ints
from search.report.early_stopping.rules import stable_before, stopped_at
from search.report.early_stopping.scores import Resampling, resampling, score
from search.report.early_stopping.stability import NEVER, broken_off, later_windows, window_sds, within

POINTS = (4, 5, 6, 8, 11)  # in a window; the paper's 25 epochs hold six with both ends, five without one
TOLERANCES = (0.0025, 0.005, 0.01, 0.02, 0.04)
FIRST_EPOCHS = (0, 50)
COLUMNS = [
    "metric", "window", "points", "tolerance", "ddof", "min_epochs", "n", "stable", "epoch_mean", "epochs_share",
    "time_share", "testable", "unstable_again", "difference_median", "regret_final", "regret_at_stop", "best_chosen",
    "rho", "rho_n", "configured", "method",
]  # fmt: skip
METHOD = "stability rule replayed; point values without intervals"
VARIED = ("window", "tolerance", "ddof", "min_epochs")
SCORED = (
    "n", "epochs_share", "time_share", "regret_final", "regret_at_stop", "best_chosen", "rho", "rho_n",
)  # fmt: skip


def sensitivity(histories: Histories, metric: str, settings: StoppingSection) -> pd.DataFrame:
    """One row (`COLUMNS`) a setting; judged by the metric that the rule looks at. `configured`: the search's own."""
    rows, none = [], resampling(histories.n, intervals=False)
    ends = broken_off(histories, metric, settings.collapsed_after)
    for window, ddof in product(sorted({settings.window, *((p - 1) * histories.every for p in POINTS)}), (0, 1)):
        sds = window_sds(histories, metric, window, ddof)
        for tried in _settings(settings, window, ddof):
            facts = {name: getattr(tried, name) for name in VARIED}
            own = all(getattr(settings, name) == value for name, value in facts.items())
            facts |= {"points": window // histories.every + 1, "configured": own, "metric": metric, "method": METHOD}
            rows.append(facts | _verdict(histories, metric, tried, sds, ends, none))
    return pd.DataFrame(rows, columns=COLUMNS)


def _settings(settings: StoppingSection, window: int, ddof: int) -> Iterator[StoppingSection]:
    for tolerance in sorted({settings.tolerance, *TOLERANCES}):
        for first in sorted({settings.min_epochs, *FIRST_EPOCHS}):
            tried = {"window": window, "ddof": ddof, "tolerance": tolerance, "min_epochs": first}
            yield settings.model_copy(update=tried)


def _verdict(
    histories: Histories, metric: str, tried: StoppingSection, sds: Floats, ends: Ints, none: Resampling
) -> dict[str, object]:
    inside = within(histories, metric, sds, tried)
    stable = stable_before(histories, inside, tried.min_epochs, ends)
    outcome = stopped_at(histories, metric, tried, stable, ends, "")
    later, was = later_windows(histories, sds, stable), stable != NEVER
    differences = np.abs(histories.at(metric, outcome.stop) - histories.final[metric])[was]
    scored = score(histories, outcome, metric, none)
    return {name: scored[name] for name in SCORED} | {
        "stable": int(was.sum()),
        "epoch_mean": float(stable[was].mean()) if was.any() else np.nan,
        "testable": int(later.any(axis=1).sum()),
        "unstable_again": int((later & ~inside).any(axis=1).sum()),
        "difference_median": pd.Series(differences).median(),
    }
