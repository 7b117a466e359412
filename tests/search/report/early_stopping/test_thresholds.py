import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.report.early_stopping import thresholds
from search.report.early_stopping.histories import histories
from search.report.early_stopping.rules import threshold
from search.report.early_stopping.scores import resampling, score

SETTINGS = StoppingSection()


def runs_of(written, metric="hms"):
    """Five networks, flat at 0.1, 0.12, ..., with accuracies 0.2, 0.3, ...; the last is undefined there."""
    networks = [
        {
            metric: dict.fromkeys(range(0, 61, 5), 0.1 + 0.02 * i),
            "accuracy": dict.fromkeys(range(0, 61, 5), 0.2 + 0.1 * i),
        }
        for i in range(5)
    ]
    networks[4]["accuracy"] = dict.fromkeys(range(0, 61, 5))
    return histories(written(networks))


def test_the_curve_by_hand(written) -> None:
    table = thresholds.curve(runs_of(written), "hms", SETTINGS, resampling(5)).set_index("threshold")
    assert table.index[0] == pytest.approx(0.1) and table.index[-1] == pytest.approx(0.18)
    lowest, highest, paper = table.iloc[0], table.iloc[-1], table.loc[0.161]
    assert (lowest["discarded"], lowest["reaching"], lowest["time_share"]) == (0, 5, 0)
    assert (highest["discarded"], highest["reaching"], highest["best_kept"]) == (4, 1, 1)
    assert highest["time_share"] == pytest.approx(4 * 30 / 300)  # four networks save half of their time
    assert (paper["source"], paper["discarded"], paper["reaching_share"]) == ("paper", 4, pytest.approx(0.2))
    assert lowest["accuracy_mean"] == pytest.approx(np.mean([0.2, 0.3, 0.4, 0.5]))
    assert (lowest["accuracy_n"], highest["accuracy_n"]) == (4, 0)
    assert np.isnan(highest["accuracy_mean"])


def test_each_point_is_the_rule_at_that_threshold(written) -> None:
    runs, draws = runs_of(written), resampling(5)
    for row in thresholds.curve(runs, "hms", SETTINGS, draws).to_dict("records"):
        rule = score(runs, threshold(runs, "hms", SETTINGS, row["threshold"], ""), "hms", draws)
        for name in thresholds.SCORED:
            assert row[name] == pytest.approx(rule[name], nan_ok=True)


def test_where_lower_is_better_fewer_reach_a_lower_threshold(written) -> None:
    table = thresholds.curve(runs_of(written, "mse"), "mse", SETTINGS, resampling(5))
    assert table["reaching"].is_monotonic_increasing
    assert table["discarded"].is_monotonic_decreasing
    assert "paper" not in set(table["source"])


def test_the_configured_threshold_is_a_point(written) -> None:
    settings = StoppingSection(rule="threshold", threshold=0.123)
    table = thresholds.curve(runs_of(written), "hms", settings, resampling(5))
    assert table.loc[table["source"] == "configured", "threshold"].tolist() == [0.123]


def test_no_stable_network_no_curve(written) -> None:
    runs = histories(written([{"hms": {0: 0.0, 5: 0.1}}]))
    assert thresholds.curve(runs, "hms", SETTINGS, resampling(1)).empty
