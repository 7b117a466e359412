"""Random discarding against the enumeration of all draws; the fixed epoch by hand."""

from itertools import combinations

import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.report.early_stopping.controls import RandomDiscarding, same_number_at_random, same_saving_at_one_epoch
from search.report.early_stopping.histories import histories
from search.report.early_stopping.outcome import Outcome, fixed_epoch
from search.report.early_stopping.rules import threshold


@pytest.mark.parametrize("discarded", range(6))
def test_the_expected_best_is_that_of_all_draws(discarded: int) -> None:
    values = np.array([0.9, 0.7, 0.7, 0.3, 0.1, -np.inf])
    control = RandomDiscarding("", np.ones(6, dtype=bool), discarded, 0.0)
    bests = [max(values[list(kept)]) for kept in combinations(range(6), 6 - discarded)]
    defined = [best for best in bests if np.isfinite(best)]
    found = control.expected_best(values, np.ones((1, 6)))
    assert found == pytest.approx([np.mean(defined)])


@pytest.mark.parametrize("discarded", range(5))
def test_only_networks_of_the_pool_are_discarded(discarded: int) -> None:
    values, pool = np.array([0.9, 0.1, 0.7, 0.5, 0.3]), np.array([True, True, True, False, True])
    control = RandomDiscarding("", pool, discarded, 0.0)
    draws = combinations(np.flatnonzero(pool), discarded)
    bests = [np.delete(values, list(gone)).max() for gone in draws]
    assert control.expected_best(values, np.ones((1, 5))) == pytest.approx([np.mean(bests)])
    assert control.chance.tolist() == pytest.approx([discarded / 4, discarded / 4, discarded / 4, 0, discarded / 4])


def test_the_expected_best_of_resamples() -> None:
    values = np.array([0.9, 0.5, 0.3, 0.1])
    counts = np.array([[2.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 4.0]])
    sample = np.repeat(values, counts[0].astype(int))
    expected = np.mean([max(sample[list(kept)]) for kept in combinations(range(4), 2)])
    found = RandomDiscarding("", np.ones(4, dtype=bool), 2, 0.0).expected_best(values, counts)
    assert found == pytest.approx([expected, 0.1])


def test_nothing_is_found_where_all_are_discarded() -> None:
    control = RandomDiscarding("", np.ones(3, dtype=bool), 3, 0.0)
    assert np.isnan(control.expected_best(np.array([3.0, 2.0, 1.0]), np.ones((1, 3)))).all()
    assert control.saved(np.array([2.0, 2.0, 5.0])) == pytest.approx([2.0, 2.0, 5.0])


def runs_of(written, lasts, seconds=None):
    networks = [{"hms": dict.fromkeys(range(0, last + 1, 5), 0.1 * i)} for i, last in enumerate(lasts)]
    return histories(written(networks, seconds=seconds or dict(enumerate(lasts))))


def test_as_many_are_discarded_after_the_same_share(written) -> None:
    runs = runs_of(written, [100, 100, 50, 200])
    outcome = threshold(runs, "hms", StoppingSection(), 0.15, "")
    assert outcome.stop.tolist() == [30, 30, 50, 200]
    control = same_number_at_random(runs, outcome)
    assert (control.discarded, control.pool.tolist(), control.trained) == (2, [True] * 4, pytest.approx(0.3))
    # Two of four, each on average 112.5 epochs long, lose 70 % of them.
    assert control.saved(runs.trained.astype(float)).sum() == pytest.approx(2 * 112.5 * 0.7)


def test_a_network_too_short_for_the_rule_is_not_discarded_at_random_either(written) -> None:
    runs = runs_of(written, [100, 100, 20, 200])
    outcome = threshold(runs, "hms", StoppingSection(), 0.15, "")
    control = same_number_at_random(runs, outcome)
    assert (control.discarded, control.pool.tolist()) == (2, [True, True, False, True])


def test_beside_a_rule_that_discards_none_as_many_stay_untrained_as_save_the_same(written) -> None:
    runs = runs_of(written, [100, 100, 100, 100])
    half = Outcome("", "", "hms", np.array([50, 50, 50, 50]), np.zeros(4, bool), np.ones(4, bool))
    assert (same_number_at_random(runs, half).discarded, same_number_at_random(runs, half).trained) == (2, 0)
    everything = Outcome("", "", "hms", np.zeros(4, int), np.zeros(4, bool), np.ones(4, bool))
    assert same_number_at_random(runs, everything).discarded == 3


def test_one_epoch_saves_what_the_rule_saves(written) -> None:
    runs = runs_of(written, [20, 40, 60])
    for epoch in (5, 20, 35, 60):
        outcome = fixed_epoch(runs, epoch)
        assert same_saving_at_one_epoch(runs, outcome).stop.tolist() == outcome.stop.tolist()
    stop = np.array([20, 20, 40])  # saves 40 epochs: one epoch for all, 30, saves 10 + 30
    outcome = Outcome("", "", "hms", stop, np.zeros(3, bool), np.ones(3, bool))
    assert same_saving_at_one_epoch(runs, outcome).stop.tolist() == [20, 30, 30]


def test_the_saving_is_device_time(written) -> None:
    runs = runs_of(written, [40, 40], seconds={0: 400, 1: 40})  # 10 and 1 s an epoch
    outcome = Outcome("", "", "hms", np.array([20, 40]), np.zeros(2, bool), np.ones(2, bool))
    # 200 s: all at epoch 20 save 220, at 25 save 165.
    assert same_saving_at_one_epoch(runs, outcome).stop.tolist() == [20, 20]
    untimed = runs_of(written, [40, 40], seconds={0: None, 1: None})
    assert same_saving_at_one_epoch(untimed, outcome).stop.tolist() == [30, 30]
