import json

import pandas as pd
import pytest

from search.errors import UsageError
from search.plan.saving import earliest_stop, evaluated_epochs, expected_epochs, replayed_ends, scenarios
from search.stopping import Evaluation, decide


def test_the_earliest_stop_is_where_the_rule_ends_a_constant_hms(configured):
    # Six points of a 25-epoch window, epoch 0 not among them: epochs 5..30.
    assert earliest_stop(configured(), 100) == 30
    assert earliest_stop(configured(), 20) == 20
    assert earliest_stop(configured(stopping={"min_epochs": 41}), 100) == 45
    assert earliest_stop(configured(stopping={"rule": "none"}), 100) == 100


@pytest.mark.parametrize("rule", ["stability", "threshold"])
def test_no_history_ends_a_trial_before_the_earliest_stop(configured, rule):
    config = configured(stopping={"rule": rule, "threshold": 0.1} if rule == "threshold" else {"rule": rule})
    earliest = earliest_stop(config, 100)
    assert earliest == 30
    for hms in (-1.0, 0.0, 0.05, 1.0):
        history = [Evaluation(epoch, hms) for epoch in range(0, earliest, 5)]
        assert decide(history, config.stopping, every=5, epochs_planned=100).finish is None


def test_a_relative_threshold_discards_nothing_before_enough_networks_have_finished(configured):
    config = configured(stopping={"rule": "threshold", "threshold_sd": 1.0, "threshold_after": 20})
    assert earliest_stop(config, 100, finished=19) == 100
    assert earliest_stop(config, 100, finished=20) == 30


def test_expectations_lie_between_the_bounds(configured):
    planned = [10, 60, 200, 390]
    whole, earliest, expected = scenarios(configured(), planned)
    assert whole.epochs == tuple(planned)
    assert earliest.epochs == (10, 30, 30, 30)
    for least, likely, most in zip(earliest.epochs, expected.epochs, planned, strict=True):
        assert least <= likely <= most
    # As the paper's 95: no more than 67 % of these epochs are saved.
    assert sum(expected.epochs) >= 0.33 * sum(planned)
    assert [s.name for s in scenarios(configured(stopping={"rule": "none"}), planned)] == [whole.name]


def test_short_trials_are_expected_to_stop_where_the_papers_networks_were_stable(configured):
    assert scenarios(configured(), [60, 80, 100])[2].epochs == (35, 35, 35)


def tables(folder, histories, *, every=5, finish="max_epochs"):
    trials = [
        {
            "tid": tid,
            "point": tid,
            "replicate": 0,
            "state": "DONE",
            "finish": finish,
            "epochs_planned": max(hms),
            "epochs_trained": max(hms),
            "hms": list(hms.values())[-1],
            **dict.fromkeys(
                ["reason", "hms_status", "mse_status", "accuracy_status", "device", "precision", "error"], ""
            ),
            **dict.fromkeys(["mse", "accuracy", "seconds"], 1.0),
            "unmoved": False,
        }
        for tid, hms in enumerate(histories)
    ]
    epochs = [
        {"tid": tid, "epoch": epoch, "hms": value, "mse": 1.0, "mse_previous_frame": 1.0, "accuracy": 0.5}
        for tid, hms in enumerate(histories)
        for epoch, value in hms.items()
    ]
    folder.mkdir()
    pd.DataFrame(trials).to_csv(folder / "trials.csv", index=False)
    pd.DataFrame(epochs).to_csv(folder / "epochs.csv", index=False)
    record = {"name": "earlier", "config": {"metrics": {"every": every}}}
    (folder / "search.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def test_the_rule_is_replayed_on_an_earlier_search(configured, tmp_path):
    steady = dict.fromkeys(range(0, 81, 5), 0.1)
    settles = {epoch: (0.1 if epoch >= 25 else epoch / 100) for epoch in range(0, 81, 5)}
    restless = {epoch: (epoch // 5 % 2) / 10 for epoch in range(0, 41, 5)}
    folder = tables(tmp_path / "tables", [steady, settles, restless])
    assert replayed_ends(configured(), folder) == [(30, True), (50, True), (40, False)]
    # The third would have trained on: nothing of it is saved.
    assert expected_epochs(80, [(30, True), (50, True), (40, False)]) == pytest.approx((30 + 50 + 80) / 3)
    expected = scenarios(configured(), [80, 40], folder)[-1]
    assert expected.replayed and expected.epochs == (53, 37)


def test_a_network_that_diverged_had_ended(configured, tmp_path):
    folder = tables(tmp_path / "tables", [{0: 0.1, 5: 0.2}], finish="diverged")
    assert replayed_ends(configured(), folder) == [(5, True)]


def test_a_search_that_was_evaluated_too_rarely_is_refused(configured, tmp_path):
    folder = tables(tmp_path / "tables", [{0: 0.1, 10: 0.2}], every=10)
    with pytest.raises(UsageError, match=r"every 10 epochs, this one is every 5.*divides 5"):
        replayed_ends(configured(), folder)


def test_a_search_without_a_finished_trial_is_refused(configured, tmp_path):
    folder = tables(tmp_path / "tables", [{0: 0.1, 5: 0.2}])
    trials = pd.read_csv(folder / "trials.csv").assign(state="RUNNING")
    trials.to_csv(folder / "trials.csv", index=False)
    with pytest.raises(UsageError, match="no trial of that search is finished"):
        replayed_ends(configured(), folder)


def test_evaluated_epochs_hold_the_first_and_the_last():
    assert evaluated_epochs(12, 5) == [0, 5, 10, 12]
    assert evaluated_epochs(10, 5) == [0, 5, 10]
