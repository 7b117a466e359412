import threading

import pytest

from prednet.cost import flops_per_sequence
from search.driver import Driver
from search.mongod import embedded_server
from search.plan.trials import planned_trials
from search.run import open_search
from search.store import Store


def params_of(trials):
    return [trial.params for trial in trials]


@pytest.mark.parametrize("replicates", [1, 2])
def test_planned_points_are_those_that_a_real_driver_proposes(configured, facts, tmp_path, replicates):
    config = configured(search={"replicates": replicates, "max_trials": 5})
    stop = threading.Event()
    with embedded_server(tmp_path) as uri, Store.connect(uri) as store:
        _, lock = open_search(store, config, "hms driver")

        def take_all(documents):
            # Cancelled trials count as ended, so that the driver proposes the next without any being trained.
            for document in documents:
                store.cancel(config.search.name, document["tid"])
            if len(documents) == config.search.max_trials:
                stop.set()

        Driver(store, config).run(lock, stop, take_all)
        enqueued = {job["tid"]: job["params"] for job in store.jobs(config.search.name)}
    planned = planned_trials(config, facts)
    assert {trial.tid: trial.params for trial in planned} == enqueued and len(enqueued) == 5


def test_another_seed_gives_other_points_and_a_larger_budget_the_same_ones_first(configured, facts):
    six = params_of(planned_trials(configured(), facts))
    assert params_of(planned_trials(configured(search={"max_trials": 8}), facts))[:6] == six
    assert params_of(planned_trials(configured(search={"seed": 4}), facts)) != six


def test_tpe_and_anneal_are_planned_from_the_prior(configured, facts):
    six = params_of(planned_trials(configured(), facts))
    for algorithm in ("tpe", "anneal"):
        assert params_of(planned_trials(configured(search={"algorithm": algorithm}), facts)) == six


def test_work_of_one_trial_adds_up(configured, facts):
    config = configured(space={"epochs": {"choice": [12]}, "train_sequences": {"choice": [7]}})
    trial = planned_trials(config, facts)[0]
    batch = trial.plan.batch_size
    one = flops_per_sequence(trial.plan.network, 8, 16, 4)
    clip = flops_per_sequence(trial.plan.network, 8, 16, 5)
    assert trial.training.flops == pytest.approx(3 * 7 * one)
    assert (trial.training.steps, trial.training.frames) == (-(-7 // batch) * 4, 28)
    assert trial.validation.flops == pytest.approx(5 * one)
    assert trial.evaluation.flops == pytest.approx((92 + 100) * clip + 4 * one)
    assert trial.evaluations(12) == 4  # epochs 0, 5, 10 and 12
    assert trial.evaluations(10) == 3
    conclusion = trial.evaluation.flops + (2 + 3) * one
    assert trial.flops["evaluation"] == pytest.approx(4 * trial.evaluation.flops + conclusion)
    assert trial.flops["training"] == pytest.approx(12 * trial.training.flops)


def test_no_more_validation_sequences_count_than_there_are(configured, facts):
    asked = configured(training={"nt": 4, "val_sequences": 500, "device": "cpu"})
    trial = planned_trials(asked, facts)[0]
    assert trial.validation.frames == facts.val_windows * 4


def test_a_slot_on_a_gpu_also_holds_its_graphs(configured, facts):
    on_cpu = planned_trials(configured(), facts)[0]
    on_gpu = planned_trials(configured(training={"device": "cuda"}), facts)[0]
    assert on_gpu.device_bytes > on_cpu.device_bytes
