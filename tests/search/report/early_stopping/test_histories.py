import numpy as np
import pytest

from search.report.early_stopping.histories import cut_short, histories


def test_curves_become_matrices(written) -> None:
    tables = written(
        [
            {"hms": {0: 0.0, 5: 0.1, 10: 0.2}, "mse": {0: 1.0, 5: 0.5, 10: "diverged"}},
            {"hms": {0: 0.3, 5: None, 7: 0.4}},
        ],
        seconds={0: 50, 1: 70},
        planned={1: 20},
    )
    found = histories(tables)
    assert found.epochs.tolist() == [0, 5, 7, 10]
    assert found.evaluated.tolist() == [[True, True, False, True], [True, True, True, False]]
    np.testing.assert_array_equal(found.values["hms"], [[0, 0.1, np.nan, 0.2], [0.3, np.nan, 0.4, np.nan]])
    assert found.diverged["mse"].tolist() == [[False, False, False, True], [False] * 4]
    assert (found.trained.tolist(), found.planned.tolist()) == ([10, 7], [10, 20])
    assert found.seconds_per_epoch.tolist() == [5.0, 10.0]
    assert (found.timed, found.every, found.metrics) == (2, 5, ["hms", "mse"])
    np.testing.assert_array_equal(found.at("hms", np.array([5, 5])), [0.1, np.nan])
    np.testing.assert_array_equal(found.at("hms", np.array([7, 7])), [np.nan, 0.4])
    np.testing.assert_array_equal(found.at("mse", np.array([5, 7])), [0.5, np.nan])


def test_the_final_value_is_the_trials_own(written) -> None:
    found = histories(written([{"hms": {0: 0.0, 5: 0.1}}], trained={0: 8}, planned={0: 20}, final={0: {"hms": None}}))
    assert np.isnan(found.at("hms", np.array([8]))).all()
    assert found.at("hms", np.array([5])).tolist() == [0.1]


def test_time_that_was_not_measured_is_the_median_of_the_others(written) -> None:
    curves = {"hms": {0: 0.0, 10: 0.1}}
    found = histories(written([curves] * 4, seconds={0: 10, 1: 20, 2: 50, 3: None}))
    assert (found.seconds_per_epoch.tolist(), found.timed) == ([1.0, 2.0, 5.0, 2.0], 3)
    nothing = histories(written([curves], seconds={0: None}))
    assert nothing.timed == 0


def test_which_runs_the_rule_of_the_search_ended(written) -> None:
    curves = {"hms": {0: 0.0, 5: 0.1}}
    finishes = ["hms_stable", "stable", "below_threshold", "hms_stable", "max_epochs", "collapsed", "diverged"]
    planned = dict.fromkeys(range(7), 50) | {3: 5, 4: 5}
    tables = written([curves] * 7, finish=dict(enumerate(finishes)), planned=planned)
    found = histories(tables)
    assert cut_short(tables, found.tids).tolist() == [True, True, True, False, False, False, False]
    assert found.where(found.tids > 4).tids.tolist() == [5, 6]


@pytest.mark.parametrize("networks", [[], [{}]])
def test_without_evaluations_there_is_no_history(written, networks) -> None:
    found = histories(written(networks))
    assert (found.n, found.metrics) == (0, [])


def test_the_step_is_what_was_logged_where_nothing_says_so(written) -> None:
    tables = written([{"hms": {0: 0.0, 3: 0.1, 6: 0.2, 8: 0.2}}], record={"config": {}})
    assert histories(tables).every == 2
