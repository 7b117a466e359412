"""Median pruning and ASHA by hand; networks in the order of their numbers."""

import numpy as np
import pytest

from search.report.early_stopping.histories import histories
from search.report.early_stopping.pruning import asha, median_pruning, rungs


def curve(*values: float | None) -> dict[int, float | None]:
    return {5 * i: value for i, value in enumerate(values)}


def test_median_pruning_by_hand(written) -> None:
    networks = [
        curve(9, 1.0, 2.0, 3.0),  # finishes: the first two are never judged
        curve(9, 3.0, 4.0, 5.0),  # finishes: medians are now 2, 3
        curve(9, 1.9, 9.0, 9.0),  # 1.9 < 2 at epoch 5: discarded there, and in no median
        curve(9, 2.0, 2.0, 9.0),  # as good as the median at 5; its best, 2, is below 3 at epoch 10
        curve(9, 2.5, 1.0, 1.0),  # at 10 its best so far, 2.5, is below 3
        curve(9, 3.5, 0.0, 0.0),  # its best so far stays above: finishes; medians become 3, 2
        curve(9, 2.9, 9.0, 9.0),  # 2.9 < 3 at epoch 5
        curve(9, 3.0, 3.0, 3.0),  # even medians of finished ones: 3 at epoch 5, 2 at epoch 10
    ]
    runs = histories(written([{"hms": network} for network in networks]))
    outcome = median_pruning(runs, "hms", "", startup=2)
    assert outcome.stop.tolist() == [15, 15, 5, 10, 10, 15, 5, 15]
    assert outcome.discarded.tolist() == [False, False, True, True, True, False, True, False]
    late = median_pruning(runs, "hms", "", startup=2, warmup=10)
    # The third network now finishes too: medians at epoch 10 are 4, and 6.5 once the seventh has.
    assert late.stop.tolist() == [15, 15, 15, 10, 10, 10, 15, 10]


def test_median_pruning_where_lower_is_better_and_where_nothing_is_defined(written) -> None:
    networks = [curve(9, 1, 1, 1), curve(9, 3, 3, 3), curve(9, None, 0, 0), curve(9, 2.5, 0, 0), curve(9, 2, 2, 2)]
    runs = histories(written([{"mse": network} for network in networks]))
    outcome = median_pruning(runs, "mse", "", startup=2)
    # Without any value so far a network is worse than every median.
    assert outcome.stop.tolist() == [15, 15, 5, 5, 15]


def test_a_network_without_a_final_value_is_no_finished_one(written) -> None:
    networks = [curve(9, 5, 5, None), curve(9, 1, 1, 1), curve(9, 0, 0, 0), curve(9, -1, 0, 0)]
    runs = histories(written([{"hms": network} for network in networks]))
    assert median_pruning(runs, "hms", "", startup=2).stop.tolist() == [15, 15, 15, 5]


def test_asha_by_hand(written) -> None:
    networks = [
        curve(9, 1, 1, 1, 1),  # the first at rung 5: best so far; the same at rung 10; ends at rung 20
        curve(9, 2, 2, 2, 2),  # best of two (one may go on of two) at both rungs
        curve(9, 1.5, 9, 9, 9),  # second of three at rung 5, one may go on: ends
        curve(9, 1.8, 9, 9, 9),  # second of four, two may go on; at rung 10 the best of three
        curve(9, None, 9, 9, 9),  # undefined at a rung: ends
        curve(9, 2, 0, 0, 0),  # as good as the best at rung 5; at rung 10 the last of four
    ]
    runs = histories(written([{"hms": network} for network in networks]))
    assert rungs(runs, 5, 2) == [5, 10, 20]
    outcome = asha(runs, "hms", "", first_rung=5, factor=2)
    assert outcome.stop.tolist() == [20, 20, 5, 20, 5, 10]
    assert outcome.discarded.tolist() == [False, False, True, False, True, True]


def test_networks_too_short_for_a_rung_are_not_judged(written) -> None:
    short, long = curve(9, 1), curve(9, 0, 0, 0)
    runs = histories(written([{"hms": network} for network in (short, short, long, long)]))
    outcome = asha(runs, "hms", "", first_rung=5, factor=2)
    # Networks that end at a rung are not judged there, but those that come later compete with them.
    assert outcome.stop.tolist() == [5, 5, 5, 5]
    assert outcome.discarded.tolist() == [False, False, True, True]
    assert outcome.judged.tolist() == [False, False, True, True]


@pytest.mark.parametrize("rule", ["median", "asha"])
def test_no_network(written, rule: str) -> None:
    runs = histories(written([]))
    outcome = median_pruning(runs, "hms", "") if rule == "median" else asha(runs, "hms", "", first_rung=5, factor=2)
    assert len(outcome.stop) == 0
    assert np.array_equal(outcome.discarded, np.zeros(0, dtype=bool))
