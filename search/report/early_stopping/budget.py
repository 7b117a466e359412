"""The best network found against device time spent: an equal budget for every rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from search.report.early_stopping.controls import RandomDiscarding
from search.report.early_stopping.histories import Floats, Histories, Ints
from search.report.early_stopping.outcome import Outcome
from search.report.early_stopping.scores import candidates, finals

SEED = 26
ORDERS = 200
POINTS = 60
FOUND_IN = 0.95  # of the orders; before that, the mean would be over those whose first networks happen to be quick
COLUMNS = [
    "rule", "kind", "label", "control_of", "target", "hours", "epochs", "budget_share", "best", "low", "high", "n",
    "method",
]  # fmt: skip
METHOD = (
    f"mean over {ORDERS} random orders of the networks, what a rule made of each held fixed; low, high: 5 % and 95 % "
    "of the orders"
)


@dataclass(frozen=True)
class Orders:
    """Random orders of n networks, (R, n), and a uniform number for each place, for draws of their own."""

    places: Ints
    uniform: Floats


def orders(n: int) -> Orders:
    """`ORDERS` random orders; the same n gives the same ones."""
    rng = np.random.default_rng(SEED)
    return Orders(np.array([rng.permutation(n) for _ in range(ORDERS)], dtype=np.int64), rng.random((ORDERS, n)))


def spent(histories: Histories) -> Floats:
    """What an epoch of each network costs (n,): device hours, or epochs where nothing was timed."""
    return histories.seconds_per_epoch / 3600 if histories.timed else np.ones(histories.n)


def rule_curve(histories: Histories, outcome: Outcome, target: str, drawn: Orders) -> pd.DataFrame:
    """The expected best value in hand after each budget, of networks as the rule left them.

    Columns hours (epochs where nothing was timed), best, low, high. It ends where all networks are through.
    """
    cost = outcome.stop * spent(histories)
    value = candidates(histories, outcome, target)
    return _curve(histories, target, cost[drawn.places], value[drawn.places])


def random_curve(histories: Histories, control: RandomDiscarding, target: str, drawn: Orders) -> pd.DataFrame:
    """The same for networks discarded at random, anew in every order."""
    cost, value = (histories.trained * spent(histories))[drawn.places], finals(histories, target)[drawn.places]
    gone = np.zeros_like(drawn.places, dtype=bool)
    if control.discarded:
        lots = np.where(control.pool[drawn.places], drawn.uniform, np.inf)
        last = np.partition(lots, control.discarded - 1, axis=1)[:, control.discarded - 1]
        gone = lots <= last[:, None]
    return _curve(histories, target, np.where(gone, cost * control.trained, cost), np.where(gone, -np.inf, value))


def _curve(histories: Histories, target: str, cost: Floats, value: Floats) -> pd.DataFrame:
    used, best = np.cumsum(cost, axis=1), np.maximum.accumulate(value, axis=1)
    end = float(used[:, -1].mean()) if used.size else 0.0
    whole = float((histories.trained * spent(histories)).sum())
    budgets = np.unique(np.r_[np.linspace(0, whole, POINTS + 1)[1:], end])
    budgets = budgets[budgets <= end * (1 + 1e-9)]
    sign = histories.signs[target]
    rows: list[dict[str, float]] = []
    through = [np.searchsorted(row, budgets * (1 + 1e-9), side="right") for row in used]
    there = np.array(through).reshape(len(used), len(budgets))
    if not used.size or not len(budgets):
        return pd.DataFrame(rows, columns=["hours", "best", "low", "high"], dtype=np.float64)
    last = np.maximum(there - 1, 0)
    found = np.where(there > 0, np.take_along_axis(best, last, axis=1), -np.inf)
    for budget, values in zip(budgets, found.T, strict=True):
        defined = values[np.isfinite(values)]
        if len(defined) >= FOUND_IN * len(values):
            low, high = np.sort(sign * np.quantile(defined, [0.05, 0.95]))
            rows.append({"hours": budget, "best": sign * defined.mean(), "low": low, "high": high})
    return pd.DataFrame(rows, columns=["hours", "best", "low", "high"], dtype=np.float64)


def described(curve: pd.DataFrame, histories: Histories, target: str, named: Mapping[str, str]) -> pd.DataFrame:
    """A curve with the columns `COLUMNS`; `named` are those that say whose it is."""
    whole = float((histories.trained * spent(histories)).sum())
    facts: dict[str, Any] = {"target": target, "n": histories.n, "method": METHOD, **named}
    table = curve.assign(budget_share=curve["hours"] / whole if whole else np.nan, **facts)
    if not histories.timed:
        table = table.rename(columns={"hours": "epochs"})
    return table.reindex(columns=COLUMNS).astype({"hours": np.float64, "epochs": np.float64})
