"""The stability rule on recorded histories, against verdicts worked out by hand."""

import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.stopping import Evaluation, decide, discard_threshold, first_stable, unmoved, window_sd

RULE = StoppingSection()


def history(*values: float | None, start: int = 0) -> list[Evaluation]:
    return [
        Evaluation(epoch, value, "ok" if value is not None else "undefined_collapsed")
        for epoch, value in zip(range(start, start + 5 * len(values), 5), values, strict=True)
    ]


# By hand: epochs 5..30 are 0.08 0.10 0.12 0.13 0.13 0.13 (mean 0.115, SD 0.018929694); 10..35 are 0.10 0.12 0.13 0.13
# 0.13 0.13 (mean 0.740/6, SD 0.011055416); 15..40 are 0.12 and five 0.13 (mean 0.77/6, SD 0.00372678).
RECORDED = history(0.02, 0.08, 0.10, 0.12, 0.13, 0.13, 0.13, 0.13, 0.13)


@pytest.mark.parametrize(("epoch", "sd"), [(30, 0.018929694487), (35, 0.011055415967), (40, 0.003726779962)])
def test_window_sd_equals_the_hand_computed_one(epoch, sd):
    assert window_sd(RECORDED, epoch, window=25, every=5) == pytest.approx(sd, abs=1e-11)


def test_recorded_history_is_stable_at_40():
    assert first_stable(RECORDED, RULE, 5) == 40
    assert decide(RECORDED, RULE, every=5, epochs_planned=100).finish == "hms_stable"
    assert decide(RECORDED[:-1], RULE, every=5, epochs_planned=100).finish is None


def test_epoch_0_is_never_part_of_a_window():
    constant = history(*[0.1] * 7)
    assert window_sd(constant, 25, window=25, every=5) is None
    assert first_stable(constant, RULE, 5) == 30


def test_tolerance_is_inclusive_and_one_ulp_more_is_not():
    values = [0.0, 0.02] * 3
    evaluations = history(None, *values)
    sd = float(np.std(values))
    at_edge = StoppingSection(tolerance=sd)
    below = StoppingSection(tolerance=float(np.nextafter(sd, 0)))
    assert sd == pytest.approx(0.01)
    assert first_stable(evaluations, at_edge, 5) == 30
    assert first_stable(evaluations, below, 5) is None


def test_ddof_1_divides_by_five_of_six():
    values = [0.10, 0.12, 0.13, 0.13, 0.13, 0.13]
    got = window_sd(history(None, *values), 30, window=25, every=5, ddof=1)
    assert got == pytest.approx(np.std(values, ddof=1), abs=1e-15)


def test_a_missing_evaluation_makes_the_window_incomplete_not_shorter():
    evaluations = [e for e in history(*[0.1] * 12) if e.epoch != 20]
    assert window_sd(evaluations, 30, window=25, every=5) is None
    assert window_sd(evaluations, 45, window=25, every=5) is None
    assert first_stable(evaluations, RULE, 5) == 50


def test_an_undefined_value_inside_the_window_is_not_stable():
    evaluations = history(0.1, 0.1, 0.1, None, 0.1, 0.1, 0.1, 0.1, 0.1)
    assert window_sd(evaluations, 40, window=25, every=5) is None
    assert first_stable(evaluations, RULE, 5) is None
    assert first_stable([*evaluations, Evaluation(45, 0.1)], RULE, 5) == 45


def test_six_undefined_in_a_row_end_the_run_as_collapsed():
    evaluations = history(0.1, 0.1, *[None] * 6)
    assert decide(evaluations, RULE, every=5, epochs_planned=100).finish == "collapsed"
    assert decide(evaluations[:-1], RULE, every=5, epochs_planned=100).finish is None


def test_undefined_at_epoch_0_does_not_count_towards_collapse():
    evaluations = history(*[None] * 6)
    assert decide(evaluations, RULE, every=5, epochs_planned=100).finish is None


def test_diverged_ends_at_once():
    evaluations = [*history(0.1, 0.1), Evaluation(10, None, "diverged")]
    assert decide(evaluations, RULE, every=5, epochs_planned=100).finish == "diverged"


def test_min_epochs_delays_the_verdict():
    evaluations = history(*[0.1] * 12)
    assert first_stable(evaluations, StoppingSection(min_epochs=42), 5) == 45


def test_planned_epochs_end_an_unstable_run():
    evaluations = history(0.0, 0.1, 0.3)
    assert decide(evaluations, RULE, every=5, epochs_planned=10).finish == "max_epochs"
    assert decide(evaluations, RULE, every=5, epochs_planned=15).finish is None


def test_rule_none_never_stops_a_stable_run():
    decision = decide(RECORDED, StoppingSection(rule="none"), every=5, epochs_planned=100)
    assert (decision.finish, decision.stable_epoch) == (None, 40)


def test_threshold_discards_only_stable_runs_below_it():
    low = StoppingSection(rule="threshold", threshold=0.161)
    assert decide(RECORDED, low, every=5, epochs_planned=100).finish == "below_threshold"
    assert decide(RECORDED[:-1], low, every=5, epochs_planned=100).finish is None
    passed = StoppingSection(rule="threshold", threshold=0.12)
    assert decide(RECORDED, passed, every=5, epochs_planned=100).finish is None


def test_relative_threshold_waits_for_twenty_networks():
    settings = StoppingSection(rule="threshold", threshold_sd=1.0)
    finished = list(np.linspace(0.05, 0.15, 20))
    assert discard_threshold(settings, finished[:19]) is None
    assert discard_threshold(settings, finished) == pytest.approx(0.1 + np.std(finished, ddof=1))


def test_unmoved_means_within_tolerance_of_epoch_0_throughout():
    assert unmoved(history(0.100, 0.109, 0.091), 0.01)
    assert not unmoved(history(0.100, 0.109, 0.089), 0.01)
    assert not unmoved(history(0.100, None), 0.01)
    assert not unmoved(history(0.100), 0.01)
