"""What is asked of Slurm, how its answers are read, what is refused. `processes/test_slurm.py` runs a real one."""

import signal
from typing import Any

import pytest

import search.worker
from search.config import SearchConfig
from search.config_reader import parse_config
from search.errors import ConfigError, UsageError
from search.launch_choice import RunOptions
from search.place import Place
from search.run import run_search
from search.serve_slots import WorkerOptions, serve
from search.slots import Slot
from search.slurm import sbatch_parameters
from search.slurm_queue import QueuedJob, current_job, own_environment, parse_job
from search.worker import Worker


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def inside(monkeypatch):
    for name, value in {"JOB_ID": "77", "ARRAY_JOB_ID": "70", "ARRAY_TASK_ID": "4", "RESTART_COUNT": "2"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def config(device: str = "cpu", **slurm: Any) -> SearchConfig:
    launch = {"kind": "slurm", "slurm": slurm}
    space = {"learning_rate": {"log_uniform": [1e-4, 1e-2]}}
    training = {"learner": "toy", "device": device}
    return parse_config({"search": {"name": "s"}, "space": space, "training": training, "launch": launch}, "test")


# As Slurm 22.05 prints them.
@pytest.mark.parametrize(
    ("line", "job", "living"),
    [
        ("7_1      RUNNING      0      1:02:03      None", QueuedJob("7_1", "RUNNING", "None", 3723, 0), True),
        ("7_0      COMPLETING   15     0:02         None", QueuedJob("7_0", "COMPLETING", "None", 2, -15), True),
        (
            "12       FAILED       512    0:00  NonZeroExitCode",
            QueuedJob("12", "FAILED", "NonZeroExitCode", 0, 2),
            False,
        ),
        ("9  TIMEOUT  0:15  1-00:00:30  TimeLimit", QueuedJob("9", "TIMEOUT", "TimeLimit", 86430, -15), False),
        (
            "13       PENDING      0      0:00   ReqNodeNotAvail, UnavailableNodes:gpu3   ",
            QueuedJob("13", "PENDING", "ReqNodeNotAvail, UnavailableNodes:gpu3", 0, 0),
            True,
        ),
        ("14  CANCELLED  0  INVALID  None", QueuedJob("14", "CANCELLED", "None", 0, 0), False),
    ],
)
def test_squeue_is_understood(line, job, living):
    assert parse_job(line) == job
    assert job.living is living


def test_what_a_job_asks_for():
    asked = sbatch_parameters(
        config(
            "cuda", partition="gpu", memory_gb=1.5, setup=["module load cuda"], additional={"nice": 5, "hold": False}
        )
    )
    assert (asked["partition"], asked["mem"], asked["setup"]) == ("gpu", "1536M", ["module load cuda"])
    assert asked["gpus_per_node"] == 1 and asked["cpus_per_task"] == 4 and asked["time"] == 1440
    assert asked["additional_parameters"] == {"signal": "USR1@55", "requeue": True, "nice": 5}
    plain = sbatch_parameters(config("cpu", requeue=False))
    assert plain["gpus_per_node"] is None and plain["additional_parameters"] == {
        "signal": "USR1@55",
        "no_requeue": True,
    }
    assert sbatch_parameters(config("cpu", gpus_per_worker=2))["gpus_per_node"] == 2


def test_where_workers_run_changes_no_hash():
    elsewhere = config(partition="other", minutes=7)
    local = elsewhere.model_copy(update={"launch": type(elsewhere.launch)()})
    assert elsewhere.hashes() == local.hashes()


@pytest.mark.parametrize("key", ["output", "job-name", "signal"])
def test_options_that_hms_needs_are_not_taken_away(key):
    with pytest.raises(ConfigError, match=f"{key}: set by `hms` itself"):
        config(additional={key: "x"})


def test_a_misspelt_option_is_named():
    with pytest.raises(ConfigError, match=r"launch.slurm.partiton: unknown key: did you mean `partition`"):
        config(partiton="gpu")


def run(place: Place, workers: int | None) -> None:
    options = RunOptions("hms run", workers=workers)
    run_search(place, config(), options, say=print, progress=print, watcher=None)  # type: ignore[arg-type]


def test_the_embedded_server_is_refused_before_anything_is_started(tmp_path):
    with pytest.raises(UsageError, match=r"loopback only.*docs/cluster.md.*HMS_MONGO"):
        run(Place(tmp_path), 2)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="--workers N"):
        run(Place(tmp_path, "mongodb://server/"), None)


def test_the_job_of_this_process(inside):
    assert current_job() == {"slurm_job": "70_4", "slurm_restart": 2}
    assert not [key for key in own_environment() if key.startswith("SLURM_")]


def test_a_job_without_array(monkeypatch):
    assert current_job() == {}
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    assert current_job() == {"slurm_job": "77", "slurm_restart": 0}


def test_requeue_outside_slurm_is_refused(tmp_path):
    with pytest.raises(UsageError, match="SLURM_JOB_ID"):
        serve(Place(tmp_path), "s", WorkerOptions(requeue=True), print)


@pytest.fixture
def worker(tmp_path):
    def make(say=print) -> Worker:
        return Worker(None, config(), Slot("cpu", 1), folder=tmp_path, data_root=tmp_path, say=say)  # type: ignore[arg-type]

    return make


def test_an_idle_worker_leaves_its_job_when_the_driver_is_long_gone(inside, worker, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(search.worker, "DRIVERLESS_SECONDS", 60.0)
    clock = [1000.0]
    monkeypatch.setattr(search.worker.time, "monotonic", lambda: clock[0])
    idle = worker(said.append)
    for until in range(5):  # a living driver renews its lock
        clock[0] += 50
        assert not idle._left_alone({"until": until})
    clock[0] += 59
    assert not idle._left_alone({"until": 4})
    clock[0] += 2
    assert idle._left_alone({"until": 4}) and "since 1 min" in said[0]
    monkeypatch.delenv("SLURM_JOB_ID")
    outside = worker()
    outside._left_alone(None)
    clock[0] += 10_000
    assert not outside._left_alone(None)


def test_slurm_repeats_its_signals_and_the_worker_stays_calm(inside, worker):
    before = {
        number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)
    }
    patient = worker()
    patient.stop_on_signals()
    try:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert patient.stopping.is_set()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
