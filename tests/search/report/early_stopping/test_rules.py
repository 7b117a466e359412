import statistics

import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.report.early_stopping.histories import histories
from search.report.early_stopping.outcome import fixed_epoch, unstopped
from search.report.early_stopping.rules import earliest, limits_of_others, stability, threshold

SETTINGS = StoppingSection()


def flat_from(epoch: int, value: float, last: int, step: float = 0.1) -> dict[int, float]:
    """Rises by `step` each evaluation up to `epoch`, flat from there on: stable at `epoch` + 25."""
    return {e: value - step * max(0, (epoch - e) // 5) for e in range(0, last + 1, 5)}


def test_stability_by_hand(written) -> None:
    curves = [
        flat_from(5, 0.2, 60),
        flat_from(20, 0.1, 60),
        flat_from(50, 0.3, 60),
        flat_from(5, 0.2, 30),
        {0: 0.1, 5: 0.1},
    ]
    runs = histories(written([{"hms": curve} for curve in curves]))
    outcome = stability(runs, "hms", SETTINGS, "HMS stable")
    assert outcome.stop.tolist() == [30, 45, 60, 30, 5]
    assert outcome.judged.tolist() == [True, True, True, False, False]  # 30 epochs end where the rule could at best
    assert not outcome.discarded.any()


def test_threshold_by_hand(written) -> None:
    curves = [flat_from(5, 0.2, 60), flat_from(20, 0.1, 60), flat_from(50, 0.0, 60), flat_from(5, 0.1, 30)]
    runs = histories(written([{"hms": curve, "mse": curve} for curve in curves]))
    outcome = threshold(runs, "hms", SETTINGS, 0.15, "")
    assert outcome.stop.tolist() == [60, 45, 60, 30]
    # The last is worse too, but was through when it was judged: it is not discarded, since nothing was saved.
    assert outcome.discarded.tolist() == [False, True, False, False]
    lower_is_better = threshold(runs, "mse", SETTINGS, 0.15, "")
    assert lower_is_better.discarded.tolist() == [True, False, False, False]
    exactly = threshold(runs, "hms", SETTINGS, runs.final["hms"][1], "")
    assert not exactly.discarded.any()
    each = threshold(runs, "hms", SETTINGS, np.array([0.3, 0.0, np.nan, np.nan]), "")
    assert each.discarded.tolist() == [True, False, False, False]


@pytest.mark.parametrize("sign", [1, -1])
def test_limits_leave_the_network_itself_out(sign: int) -> None:
    final = np.array([0.3, np.nan, 0.1, 0.5, 0.4, 0.2])
    limits = limits_of_others(final, 1.5, sign, 2)
    for i in range(len(final)):
        others = [float(v) for j, v in enumerate(final) if j != i and np.isfinite(v)]
        assert limits[i] == pytest.approx(statistics.fmean(others) + sign * 1.5 * statistics.stdev(others))
    assert np.isnan(limits_of_others(final, 1.5, sign, 5)).tolist() == [True, False, True, True, True, True]
    assert np.isnan(limits_of_others(final[:2], 0.0, sign, 0)).all()
    assert len(limits_of_others(final[:0], 0.0, sign, 0)) == 0


def test_the_first_epoch_at_which_the_rule_can_judge() -> None:
    assert (earliest(25, 5), earliest(20, 5), earliest(30, 10)) == (30, 25, 40)


def test_no_stopping_and_one_epoch(written) -> None:
    runs = histories(written([{"hms": {0: 0.0, 5: 0.1, 10: 0.2}}, {"hms": {0: 0.0, 5: 0.3}}]))
    assert unstopped(runs).stop.tolist() == [10, 5]
    assert fixed_epoch(runs, 5).stop.tolist() == [5, 5]
    assert fixed_epoch(runs, 5).judged.tolist() == [True, False]
