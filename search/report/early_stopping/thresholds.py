"""The threshold rule over a range of thresholds (the paper's Figure 5): time saved, and what is kept."""

import math

import numpy as np
import pandas as pd

from search.metric_sections import StoppingSection
from search.report import paper
from search.report import rank_correlation as rank
from search.report.early_stopping.histories import Flags, Floats, Histories
from search.report.early_stopping.outcome import Outcome
from search.report.early_stopping.rules import stable_epochs, threshold
from search.report.early_stopping.scores import Resampling, choice, savings
from search.report.early_stopping.stability import NEVER

STEPS = 20
SCORED = (
    "n", "discarded", "too_short", "time_share", "time_share_low", "time_share_high", "epochs_share", "best_kept",
    "best_kept_resampled", "regret_final", "regret_final_low", "regret_final_high",
)  # fmt: skip
COLUMNS = [
    "metric", "threshold", "source", *SCORED, "reaching", "reaching_share", "accuracy_mean", "accuracy_low",
    "accuracy_high", "accuracy_n", "method",
]  # fmt: skip
METHOD = (
    "rule: discarded where the metric is first stable and worse; reaching: final value at least as good; "
    "accuracy: mean final accuracy of those; bootstrap over networks, 95 %"
)


def curve(histories: Histories, metric: str, settings: StoppingSection, draws: Resampling) -> pd.DataFrame:
    """One row (`COLUMNS`) a threshold, from the worst to the best value where the metric was first stable."""
    rows = []
    for limit, source in _limits(histories, metric, settings):
        outcome = threshold(histories, metric, settings, limit, "")
        row = {"metric": metric, "threshold": limit, "source": source, "method": METHOD}
        rows.append(row | _scored(histories, outcome, metric, draws) | _reaching(histories, metric, limit, draws))
    return pd.DataFrame(rows, columns=COLUMNS)


def _limits(histories: Histories, metric: str, settings: StoppingSection) -> list[tuple[float, str]]:
    stable, _ = stable_epochs(histories, metric, settings)
    values = histories.at(metric, stable)[stable != NEVER]
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    found = {float(value): "" for value in np.linspace(values.min(), values.max(), STEPS + 1)}
    if metric == "hms":
        found[paper.THRESHOLD] = "paper"
    if settings.metric == metric and settings.threshold is not None:
        found[settings.threshold] = "configured"
    return sorted(found.items())


def _scored(histories: Histories, outcome: Outcome, metric: str, draws: Resampling) -> dict[str, object]:
    row = savings(histories, outcome, draws) | choice(histories, outcome, metric, draws)
    counts = {"n": histories.n, "discarded": outcome.discarded.sum(), "too_short": (~outcome.judged).sum()}
    return {name: (counts | row)[name] for name in SCORED}


def _reaching(histories: Histories, metric: str, limit: float, draws: Resampling) -> dict[str, object]:
    """The networks whose final value reaches the threshold, and their mean final accuracy."""
    sign, final = histories.signs[metric], histories.final[metric]
    reaching = np.isfinite(final) & (sign * final >= sign * limit)
    row: dict[str, object] = {
        "reaching": int(reaching.sum()),
        "reaching_share": float(reaching.mean()) if histories.n else math.nan,
    }
    accuracy = histories.final.get("accuracy", np.full(histories.n, np.nan))
    return row | _mean(accuracy, reaching & np.isfinite(accuracy), draws)


def _mean(values: Floats, chosen: Flags, draws: Resampling) -> dict[str, object]:
    n = int(chosen.sum())
    mean = float(values[chosen].mean()) if n else math.nan
    low = high = math.nan
    if n > 1 and len(draws.counts):
        counts = draws.counts[:, chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = rank.interval((counts @ values[chosen]) / counts.sum(axis=1))
    return {"accuracy_mean": mean, "accuracy_low": low, "accuracy_high": high, "accuracy_n": n}
