"""Equal-budget curves against the enumeration of all orders."""

from itertools import permutations

import numpy as np
import pytest

from search.report.early_stopping import budget
from search.report.early_stopping.budget import Orders
from search.report.early_stopping.controls import RandomDiscarding
from search.report.early_stopping.histories import histories
from search.report.early_stopping.outcome import Outcome, fixed_epoch, unstopped

LASTS, FINALS = (10, 20, 30, 15), (0.1, 0.4, 0.3, 0.2)
ALL = np.array(list(permutations(range(4))))
EVERY_ORDER = Orders(ALL, np.random.default_rng(0).random(ALL.shape))


def runs_of(written, metric="hms"):
    networks = [
        {metric: {e: v * e / last for e in range(0, last + 1, 5)}} for last, v in zip(LASTS, FINALS, strict=True)
    ]
    return histories(written(networks, seconds={i: 3600 * last for i, last in enumerate(LASTS)}))  # 1 h an epoch


def expected(costs, values, hours: float) -> float | None:
    """Mean over all orders of the best of what is through after `hours`; None where some order has nothing."""
    bests = []
    for order in permutations(range(len(costs))):
        used = np.cumsum([costs[i] for i in order])
        through = [values[i] for i, spent in zip(order, used, strict=True) if spent <= hours + 1e-9]
        if not through:
            return None
        bests.append(max(through))
    return float(np.mean(bests))


@pytest.mark.parametrize("epoch", [5, 10, 30])
def test_the_curve_is_the_mean_over_orders(written, epoch: int) -> None:
    runs = runs_of(written)
    outcome = fixed_epoch(runs, epoch)
    curve = budget.rule_curve(runs, outcome, "hms", EVERY_ORDER)
    costs, values = np.minimum(LASTS, epoch), runs.at("hms", outcome.stop)
    for row in curve.itertuples():
        assert row.best == pytest.approx(expected(costs, values, row.hours))
    assert curve["hours"].iloc[0] <= max(costs) + 75 / 60  # from the first point where every order has a network
    assert (curve["hours"].iloc[-1], curve["best"].iloc[-1]) == (pytest.approx(costs.sum()), pytest.approx(max(values)))
    assert curve["best"].is_monotonic_increasing


def test_a_discarded_network_costs_time_and_is_not_found(written) -> None:
    runs = runs_of(written)
    outcome = Outcome("", "", "hms", np.array([10, 5, 30, 15]), np.array([False, True, False, False]), np.ones(4, bool))
    curve = budget.rule_curve(runs, outcome, "hms", EVERY_ORDER)
    assert curve["hours"].iloc[-1] == pytest.approx(10 + 5 + 30 + 15)
    assert curve["best"].iloc[-1] == pytest.approx(0.3)


def test_where_lower_is_better(written) -> None:
    curve = budget.rule_curve(runs := runs_of(written, "mse"), unstopped(runs), "mse", EVERY_ORDER)
    assert curve["best"].is_monotonic_decreasing
    assert curve["best"].iloc[-1] == pytest.approx(0.1)
    assert (curve["low"] <= curve["best"] + 1e-9).all() and (curve["best"] <= curve["high"] + 1e-9).all()


def test_random_discarding_ends_at_its_exact_expectation(written) -> None:
    runs, control = runs_of(written), RandomDiscarding("", np.ones(4, dtype=bool), 2, 0.5)
    drawn = Orders(*(np.concatenate([part] * 200) for part in (ALL, ALL)))
    drawn = Orders(drawn.places, np.random.default_rng(1).random(drawn.places.shape))
    curve = budget.random_curve(runs, control, "hms", drawn)
    exact = control.expected_best(np.sort(FINALS)[::-1], np.ones((1, 4)))[0]
    end = budget.random_curve(runs, RandomDiscarding("", np.ones(4, dtype=bool), 0, 0.0), "hms", EVERY_ORDER)
    assert end["best"].iloc[-1] == pytest.approx(0.4)
    # At the mean total some orders, whose longest were kept, still have a network to go: a little below.
    assert exact - 0.03 < curve["best"].iloc[-1] <= exact + 0.005


def test_without_times_the_budget_is_in_epochs(written) -> None:
    runs = histories(written([{"hms": {0: 0, 5: 0.1}}] * 3, seconds=dict.fromkeys(range(3))))
    curve = budget.rule_curve(runs, unstopped(runs), "hms", budget.orders(3))
    table = budget.described(curve, runs, "hms", {"rule": "none", "kind": "rule", "label": "no stopping"})
    assert table["hours"].isna().all() and table["epochs"].iloc[-1] == 15
    assert list(table.columns) == budget.COLUMNS


def test_no_network_no_curve(written) -> None:
    runs = histories(written([]))
    assert budget.rule_curve(runs, unstopped(runs), "hms", budget.orders(0)).empty


def test_nothing_defined_no_curve(written) -> None:
    runs = histories(written([{"hms": {0: 0.1, 5: None}}]))
    assert budget.rule_curve(runs, unstopped(runs), "hms", budget.orders(1)).empty
