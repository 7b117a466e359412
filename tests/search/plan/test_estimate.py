import importlib
import io
import json

import numpy as np
import pytest
from rich.console import Console

from metrics.stimulus_sets import prepare_brain
from prednet.cost import flops_per_sequence
from search.errors import UsageError
from search.plan.estimate import PlanOptions, evaluation_share, plan_search, trial_seconds, wall_seconds
from search.plan.speed import given_speed
from search.plan.text import print_plan

BLUR = """
from metrics.metric import Metric

METRIC = Metric("blur", "Blur", "px", False, 0.0, 9.0, "", lambda network, inputs: {"blur": 0.5})
"""


def silent(what, done, total):
    pass


@pytest.fixture
def planned(configured, tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_DATA", str(tmp_path))

    def make(options=None, **sections):
        config = configured(data={"dataset": "not-there"}, **sections)
        return plan_search(config, options or PlanOptions(gflops=1.0), silent)

    return make


def test_trials_go_in_order_to_the_slot_that_is_free_first():
    assert wall_seconds([3, 1, 1, 1, 5], 2) == 8
    assert wall_seconds([3, 1, 1, 1, 5], 1) == 11
    assert wall_seconds([3, 1], 5) == 3


def test_share_of_evaluation_is_of_the_epochs_that_it_follows():
    assert evaluation_share(10.0, 18.0, 5) == pytest.approx(0.1)


def test_at_the_advised_interval_the_median_share_is_a_tenth(planned):
    plan = planned()
    assert np.median(plan.shares) > 0.1
    at = planned(metrics={"every": plan.advised_every}, stopping={"window": 5 * plan.advised_every})
    before = planned(metrics={"every": plan.advised_every - 1}, stopping={"window": 5 * (plan.advised_every - 1)})
    assert np.median(at.shares) <= 0.1 < np.median(before.shares)
    assert at.advised_every is None


def test_seconds_of_a_given_speed_are_flops_over_it(planned):
    plan = planned()
    for trial in plan.trials:
        parts = trial_seconds(trial, given_speed("cpu", 1.0), trial.plan.epochs)
        assert sum(parts.values()) == pytest.approx(sum(trial.flops.values()) / 1e9)
    assert plan.seconds(plan.scenarios[1]) < plan.seconds(plan.scenarios[0])


def test_the_disk_holds_all_finished_trials_and_a_running_one_a_slot(planned):
    one, two = planned(PlanOptions(gflops=1.0, workers=1)), planned(PlanOptions(gflops=1.0, workers=2))
    running = sorted(trial.running_disk_bytes for trial in one.trials)
    assert two.disk_bytes - one.disk_bytes == running[-2]
    assert one.disk_bytes == running[-1] + sum(trial.finished_disk_bytes for trial in one.trials)


def test_the_plan_for_machines_is_json_with_every_trial(planned):
    document = json.loads(json.dumps(planned().to_dict(), allow_nan=False))
    assert [trial["tid"] for trial in document["trials"]] == list(range(6))
    assert [len(scenario["trial_seconds"]) for scenario in document["scenarios"]] == [6, 6, 6]
    assert document["data_prepared"] is False


def test_without_measuring_there_are_no_hours(planned):
    plan = planned(PlanOptions(measure=False))
    assert plan.speed is None and plan.shares == [] and plan.advised_every is None
    assert plan.to_dict()["scenarios"][0]["device_seconds"] is None


def test_a_learner_that_trains_nothing_is_refused(planned):
    with pytest.raises(UsageError, match="'toy', which trains no network"):
        planned(training={"learner": "toy"})


def test_a_speed_of_nothing_is_refused(planned):
    with pytest.raises(UsageError, match="--gflops is 0"):
        planned(PlanOptions(gflops=0.0))


def test_an_earlier_search_that_is_not_there_is_refused(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_RESULTS", str(tmp_path))
    with pytest.raises(UsageError, match="hms export"):
        planned(PlanOptions(measure=False, like="nowhere"))


def test_other_stimuli_and_own_objects_are_counted(planned, tmp_path):
    assert planned().data.stimuli == 92
    assumed = planned(metrics={"hms": {"stimuli": "mine"}})
    assert (assumed.data.stimuli, assumed.data.stimuli_prepared) == (92, False)
    rdm = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0.0]])
    np.savez(tmp_path / "mine.npz", labels=np.array(["a", "b", "c"]), rdm=rdm)
    prepare_brain(tmp_path / "brains", tmp_path / "mine.npz", name="mine")
    for name in ("cup", "jug"):
        folder = tmp_path / "own" / "objects" / name
        folder.mkdir(parents=True)
        for view in range(3):
            (folder / f"{view}.png").touch()
    matching = {"folder": str(tmp_path / "own"), "gallery": 2, "objects": 50, "views": 2}
    plan = planned(metrics={"hms": {"stimuli": "mine"}, "matching": matching})
    document = plan.to_dict()
    assert (document["stimuli"], document["object_images"], plan.data.stimuli_prepared) == (3, 6, True)
    one, other = assumed.trials[0], plan.trials[0]
    image = flops_per_sequence(one.plan.network, 8, 16, 5)
    assert one.evaluation.flops - other.evaluation.flops == pytest.approx((92 - 3 + 100 - 6) * image)
    assert one.finished_disk_bytes - other.finished_disk_bytes == 4 * (92**2 - 3**2)


def test_metrics_of_packages_are_said_to_be_left_out(planned, install_metric, monkeypatch):
    monkeypatch.syspath_prepend(install_metric(BLUR, metric="blur"))
    importlib.invalidate_caches()
    plan = planned(metrics={"also": ["blur"]})
    assert plan.to_dict()["not_counted"] == ["blur"] and planned().to_dict()["not_counted"] == []
    console = Console(record=True, width=300, file=io.StringIO())
    print_plan(console, plan)
    assert "not counted: what blur (metrics.also) takes at each evaluation" in console.export_text()
