"""Trials that jobs of Slurm hold: taken back by job id, and from the earlier runs of a requeued job."""

import time

from search.config_reader import parse_config
from search.run import resolve_device
from search.slurm_task import release_earlier_runs

CONFIG = {"hashes": {"space": "s", "training": "t"}, "provenance": {}}


def owner(job: str, restart: int, pid: int) -> dict[str, object]:
    return {"host": "node1", "realm": "r", "pid": pid, "started": 1.0, "slurm_job": job, "slurm_restart": restart}


def test_a_requeued_job_takes_back_what_its_earlier_runs_held(store, fill, monkeypatch):
    fill(store, 4)
    for holder in (owner("7_1", 0, 10), owner("7_1", 1, 11), owner("7_2", 0, 12), owner("7_1", 2, 13)):
        assert store.reserve("s", holder) is not None
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    release_earlier_runs(store, "s")
    assert [job["state"] for job in store.jobs("s")] == [0, 0, 1, 1]


def test_a_dead_job_loses_its_trials_and_no_other(store, fill):
    fill(store, 3)
    for holder in (owner("7_1", 0, 10), owner("7_10", 0, 11), owner("7_1", 0, 12)):
        assert store.reserve("s", holder) is not None
    assert store.release("s", {"slurm_job": "7_1"}) == [0, 2]


def test_whether_a_driver_runs(store):
    store.create_or_resume("s", config={}, **CONFIG)
    assert not store.driver_runs("s")
    lock = store.acquire_driver("s", {"host": "login", "pid": 1}, 0.5)
    assert store.driver_runs("s")
    time.sleep(0.7)
    assert not store.driver_runs("s")
    store.renew_driver("s", lock, 30)
    assert store.driver_runs("s")
    store.release_driver("s", lock)
    assert not store.driver_runs("s")


def test_what_workers_ask_for_decides_the_device_where_a_login_node_has_none(store):
    document = {"search": {"name": "s"}, "space": {"learning_rate": {"log_uniform": [1e-4, 1e-2]}}}
    slurm = parse_config({**document, "launch": {"kind": "slurm"}}, "test")
    assert resolve_device(store, slurm).training.device == "cuda"
    none = parse_config({**document, "launch": {"kind": "slurm", "slurm": {"gpus_per_worker": 0}}}, "test")
    assert resolve_device(store, none).training.device == "cpu"
