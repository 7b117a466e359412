import math

import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.report.early_stopping import holds, sensitivity
from search.report.early_stopping.histories import histories
from search.report.early_stopping.rules import stability
from search.report.early_stopping.scores import resampling, score

SETTINGS = StoppingSection()


def steps(last: int, **values: float) -> dict[int, float]:
    """0.1 up to the first given epoch, then the given values: `e40=0.2` from epoch 40 on."""
    curve, value = {}, 0.1
    for epoch in range(0, last + 1, 5):
        value = values.get(f"e{epoch}", value)
        curve[epoch] = value
    return curve


CURVES = [
    steps(60),  # stable at 30, and stays so
    steps(60, e40=0.2),  # stable at 30, unstable again at 40
    steps(60, e40=0.105),  # a small step: stays stable, and ends 0.005 away
    steps(30),  # stable at its end: no later window
    steps(25),  # too short
    {e: 0.01 * e for e in range(0, 61, 5)},  # never
]


def test_whether_a_stable_metric_stays_so_by_hand(written) -> None:
    runs = histories(written([{"hms": curve} for curve in CURVES]))
    table = holds.networks(runs, "hms", SETTINGS)
    np.testing.assert_array_equal(table["stable_epoch"], [30, 30, 30, 30, np.nan, np.nan])
    np.testing.assert_array_equal(table["unstable_again"], [0, 1, 0, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(table["difference"], [0, 0.1, 0.005, 0, np.nan, np.nan], atol=1e-12)
    assert table["later_windows"].tolist() == [6, 6, 6, 0, 0, 0]
    assert table["largest_later_sd"][1] == pytest.approx(np.std([0.1] * 3 + [0.2] * 3))
    row = holds.summary(runs, "hms", SETTINGS)
    assert (row["n"], row["stable"], row["never_stable"], row["too_short"]) == (6, 4, 1, 1)
    assert (row["testable"], row["unstable_again"], row["unstable_share"]) == (3, 1, pytest.approx(1 / 3))
    assert (row["epoch_mean"], row["epoch_sd"], row["paper_epoch_mean"]) == (30, 0, 32)
    assert (row["difference_n"], row["difference_max"], row["beyond_tolerance"]) == (4, pytest.approx(0.1), 1)


def test_wilsons_interval(written) -> None:
    row = holds.summary(histories(written([{"hms": curve} for curve in CURVES])), "hms", SETTINGS)
    z, p, n = 1.959964, 1 / 3, 3
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    limits = [(centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)]
    assert [row["unstable_low"], row["unstable_high"]] == pytest.approx(limits, abs=1e-6)


def test_a_later_window_with_an_undefined_value_is_no_window(written) -> None:
    curve = steps(60) | {40: None}
    table = holds.networks(histories(written([{"hms": curve}])), "hms", SETTINGS)
    assert table["later_windows"].tolist() == [1]  # that of epoch 35 alone: 40 lies in all others up to 65


def test_a_metric_that_is_never_stable(written) -> None:
    row = holds.summary(histories(written([{"hms": CURVES[5]}])), "hms", SETTINGS)
    assert (row["stable"], row["testable"]) == (0, 0)
    assert math.isnan(row["unstable_share"]) and math.isnan(row["epoch_mean"]) and math.isnan(row["difference_max"])


def random_runs(written, count: int = 40):
    rng = np.random.default_rng(5)
    walks = [np.cumsum(rng.normal(0, 0.008, int(rng.integers(8, 40)))) for _ in range(count)]
    return histories(written([{"hms": dict(zip(range(0, 5 * len(w), 5), w.tolist(), strict=True))} for w in walks]))


def test_the_configured_row_is_the_rule_itself(written) -> None:
    runs = random_runs(written)
    table = sensitivity.sensitivity(runs, "hms", SETTINGS)
    own = table[table["configured"]]
    assert len(own) == 1
    rule = score(runs, stability(runs, "hms", SETTINGS, ""), "hms", resampling(runs.n))
    held = holds.summary(runs, "hms", SETTINGS)
    for name in ("time_share", "regret_final", "regret_at_stop", "best_chosen", "rho", "rho_n", "n"):
        assert own[name].item() == pytest.approx(rule[name])
    for name in ("stable", "epoch_mean", "testable", "unstable_again", "difference_median"):
        assert own[name].item() == pytest.approx(held[name])


def test_a_wider_tolerance_stops_no_later(written) -> None:
    table = sensitivity.sensitivity(random_runs(written), "hms", SETTINGS)
    assert {4, 5, 6, 8, 11} == set(table["points"]) and {0, 1} == set(table["ddof"])
    for _, rows in table.groupby(["window", "ddof", "min_epochs"]):
        assert rows.sort_values("tolerance")["stable"].is_monotonic_increasing
        assert rows.sort_values("tolerance")["epochs_share"].is_monotonic_increasing
    for _, rows in table.groupby(["window", "tolerance", "min_epochs"]):
        by_ddof = rows.set_index("ddof")["stable"]
        assert by_ddof[1] <= by_ddof[0]  # an SD with n - 1 is larger
