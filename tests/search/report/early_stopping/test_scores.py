import math

import numpy as np
import pytest
from scipy import stats

from search.report.early_stopping.controls import RandomDiscarding
from search.report.early_stopping.histories import histories
from search.report.early_stopping.outcome import Outcome, fixed_epoch, unstopped
from search.report.early_stopping.scores import COLUMNS, resampling, score, score_random

NO = resampling(0)


def runs_of(written, curves, metric="hms", **options):
    return histories(written([{metric: dict(zip(range(0, 5 * len(c), 5), c, strict=True))} for c in curves], **options))


def outcome_of(stop, discarded=None, judged=None) -> Outcome:
    n = len(stop)
    flags = [np.zeros(n, bool) if given is None else np.array(given, bool) for given in (discarded, judged)]
    return Outcome("rule", "a rule", "hms", np.array(stop), flags[0], ~flags[1] if judged is None else flags[1])


CURVES = [[0, 0.1, 0.2, 0.3], [0, 0.4, 0.2, 0.2], [0, 0.2, 0.3, 0.5], [0, 0.3, 0.3, 0.4]]


def test_savings_by_hand(written) -> None:
    runs = runs_of(written, CURVES, seconds={0: 15, 1: 30, 2: 45, 3: 60})  # 1, 2, 3, 4 s an epoch
    row = score(runs, outcome_of([5, 10, 15, 5], judged=[True, True, False, True]), "hms", NO)
    assert (row["n"], row["ended_early"], row["discarded"], row["too_short"]) == (4, 3, 0, 1)
    assert row["epochs_saved"] == 10 + 5 + 0 + 10
    assert row["epochs_share"] == pytest.approx(25 / 60)
    assert row["hours_saved"] == pytest.approx((10 * 1 + 5 * 2 + 10 * 4) / 3600)
    assert row["time_share"] == pytest.approx(60 / 150)


def test_regret_by_hand(written) -> None:
    runs = runs_of(written, CURVES)
    at_5 = score(runs, fixed_epoch(runs, 5), "hms", NO)
    # At epoch 5 network 1 leads with 0.4, and ends with 0.2; network 2 is best in the end, with 0.5.
    assert (at_5["best_tid"], at_5["chosen_tid"], at_5["best_kept"], at_5["best_chosen"]) == (2, 1, 1, 0)
    assert at_5["regret_final"] == pytest.approx(0.3)
    assert at_5["regret_at_stop"] == pytest.approx(0.1)
    nothing = score(runs, unstopped(runs), "hms", NO)
    assert (nothing["best_chosen"], nothing["regret_final"], nothing["regret_at_stop"]) == (1, 0, 0)
    assert math.isnan(nothing["rho"]) and nothing["rho_n"] == 0


def test_a_discarded_network_is_no_candidate(written) -> None:
    runs = runs_of(written, CURVES)
    row = score(runs, outcome_of([15, 5, 10, 15], discarded=[False, True, True, False]), "hms", NO)
    assert (row["best_kept"], row["best_chosen"], row["chosen_tid"]) == (0, 0, 3)
    assert row["regret_final"] == pytest.approx(0.1)
    none_left = score(runs, outcome_of([5] * 4, discarded=[True] * 4), "hms", NO)
    assert none_left["chosen_tid"] is None
    assert math.isnan(none_left["regret_final"]) and math.isnan(none_left["best_chosen"])
    assert none_left["best_kept"] == 0


def test_lower_is_better(written) -> None:
    runs = runs_of(written, CURVES, metric="mse")
    row = score(runs, fixed_epoch(runs, 5), "mse", NO)
    assert (row["best_tid"], row["chosen_tid"]) == (1, 0)
    assert row["regret_final"] == pytest.approx(0.1)
    assert row["regret_at_stop"] == pytest.approx(-0.1)  # it stood at 0.1, better than all final values


def test_equal_networks_are_equally_good(written) -> None:
    runs = runs_of(written, [[0, 0.1, 0.5], [0, 0.3, 0.5]])
    row = score(runs, fixed_epoch(runs, 5), "hms", NO)
    assert (row["chosen_tid"], row["best_chosen"], row["regret_final"]) == (1, 1, 0)


def test_undefined_values_are_never_best_and_never_chosen(written) -> None:
    runs = runs_of(written, [[0, 0.9, None], [0, None, 0.8], [0, 0.2, 0.3]])
    end = score(runs, unstopped(runs), "hms", NO)
    assert (end["best_tid"], end["chosen_tid"]) == (1, 1)
    early = score(runs, fixed_epoch(runs, 5), "hms", NO)
    assert early["chosen_tid"] == 0  # it leads at epoch 5, and what it ends with is not known
    assert math.isnan(early["regret_final"])
    assert early["rho_n"] == 1
    nothing = runs_of(written, [[0, None, None]])
    row = score(nothing, unstopped(nothing), "hms", NO)
    assert (row["best_tid"], row["chosen_tid"]) == (None, None)
    assert math.isnan(row["best_kept"]) and math.isnan(row["regret_final"])


def test_the_order_is_scipys_and_of_networks_ended_early(written) -> None:
    rng = np.random.default_rng(3)
    curves = np.round(rng.normal(size=(40, 4)), 1)
    runs = runs_of(written, curves.tolist())
    stop = np.where(np.arange(40) < 25, 5, 15)
    row = score(runs, outcome_of(stop), "hms", resampling(40))
    assert row["rho_n"] == 25
    assert row["rho"] == pytest.approx(stats.spearmanr(curves[:25, 1], curves[:25, 3]).statistic)
    assert row["rho_low"] < row["rho"] < row["rho_high"]


def test_intervals_are_those_of_a_plain_bootstrap(written) -> None:
    rng = np.random.default_rng(4)
    curves = rng.normal(size=(30, 4))
    runs = runs_of(written, curves.tolist(), seconds={i: float(rng.uniform(10, 99)) for i in range(30)})
    outcome = outcome_of(rng.choice([5, 10, 15], 30))
    draws = resampling(30)
    row = score(runs, outcome, "hms", draws)
    at_stop, final = curves[np.arange(30), outcome.stop // 5], curves[:, 3]
    saved, regret, chosen = [], [], []
    for counts in draws.counts.astype(int):
        drawn = np.repeat(np.arange(30), counts)
        cost = 15 * runs.seconds_per_epoch[drawn]
        saved.append(((15 - outcome.stop[drawn]) * runs.seconds_per_epoch[drawn]).sum() / cost.sum())
        choice = drawn[at_stop[drawn].argmax()]
        regret.append(final[drawn].max() - final[choice])
        chosen.append(final[drawn].max() == final[choice])
    assert [row["time_share_low"], row["time_share_high"]] == pytest.approx(np.quantile(saved, [0.025, 0.975]))
    assert [row["regret_final_low"], row["regret_final_high"]] == pytest.approx(np.quantile(regret, [0.025, 0.975]))
    assert row["best_chosen_resampled"] == pytest.approx(np.mean(chosen))
    assert row["best_kept_resampled"] == 1


def test_random_discarding_by_hand(written) -> None:
    runs = runs_of(written, CURVES)
    row = score_random(runs, RandomDiscarding("", np.ones(4, dtype=bool), 2, 0.25), "hms", resampling(4))
    # Final 0.5, 0.4, 0.3, 0.2: of six draws of two the best is 0.5 in three, 0.4 in two, 0.3 in one.
    assert row["regret_final"] == pytest.approx(0.5 - (3 * 0.5 + 2 * 0.4 + 0.3) / 6)
    assert (row["best_kept"], row["best_chosen"]) == (0.5, 0.5)
    assert row["epochs_saved"] == pytest.approx(2 * 15 * 0.75)
    assert row["time_share"] == pytest.approx(0.375)
    assert row["regret_final_low"] <= row["regret_final"] <= row["regret_final_high"]


@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_network(written, count: int) -> None:
    runs, draws = runs_of(written, CURVES[:count]), resampling(count)
    row = score(runs, fixed_epoch(runs, 5), "hms", draws)
    assert set(row) <= set(COLUMNS)
    assert row["epochs_saved"] == (10 if count else 0)
    assert math.isnan(row["time_share_low"]) and math.isnan(row["regret_final_low"])
    alone = score_random(runs, RandomDiscarding("", np.ones(count, dtype=bool), 0, 0.0), "hms", draws)
    assert alone["regret_final"] == 0 if count else math.isnan(alone["regret_final"])


def test_time_that_nobody_measured_is_unknown(written) -> None:
    runs = runs_of(written, CURVES, seconds=dict.fromkeys(range(4)))
    row = score(runs, fixed_epoch(runs, 5), "hms", resampling(4))
    assert math.isnan(row["hours_saved"]) and math.isnan(row["time_share"])
    assert row["epochs_share"] == pytest.approx(2 / 3)
