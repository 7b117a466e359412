"""Workers as jobs of a real Slurm of one node, which `scripts/slurm/one_node.py` sets up and takes down."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from search.mongod import embedded_server
from search.store import Store

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]
SCRIPTS = Path(__file__).parents[3] / "scripts" / "slurm"
ARRAY = ("--set", "launch.kind=slurm", "--set", "launch.slurm.cpus_per_worker=1", "--set", "search.lease_seconds=120")
TWO = (*ARRAY, "--workers", "2")
SLOW = ("--set", "training.toy_seconds=0.1")


LIMITED = """\
search: {name: limited, max_trials: 1, seed: 1, lease_seconds: 120, heartbeat_seconds: 1, grace_seconds: 5}
space: {learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {choice: [40]}}
training: {learner: toy, toy_seconds: 0.9, device: cpu}
metrics: {every: 5}
launch: {kind: slurm, workers: 1, slurm: {partition: high, minutes: 1, cpus_per_worker: 1}}
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """The folder of a running one-node Slurm."""
    with tempfile.TemporaryDirectory(prefix="slurm") as name:
        node = subprocess.Popen(
            [sys.executable, str(SCRIPTS / "one_node.py"), name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if not node.stdout.readline().startswith("export SLURM_CONF="):
            pytest.skip(node.communicate()[1].strip())
        yield Path(name)
        node.terminate()
        node.communicate(timeout=60)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("HMS_TEST_MONGOD")
    with embedded_server(tmp_path_factory.mktemp("store"), Path(given) if given else None) as address:
        yield address


@pytest.fixture
def ask(slurm: Path) -> Callable[..., str]:
    """A Slurm command; what it prints."""

    def run(*command: str) -> str:
        environment = {**os.environ, "SLURM_CONF": str(slurm / "slurm.conf")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def cluster(hms, slurm: Path, uri: str):
    """`hms` on the login node: the URI with its password stands in the environment, the hardest case."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    hms.environment |= {"HMS_MONGO": uri, "SLURM_CONF": str(slurm / "slurm.conf"), "PATH": path}
    return hms


@pytest.fixture
def running(cluster, uri: str, until) -> Iterator[Callable[..., list[str]]]:
    """Waits until so many jobs of Slurm hold so many trials of a search and a checkpoint exists; their ids."""
    with Store.connect(uri) as store:

        def wait(name: str, count: int = 2, trials: int = 2) -> list[str]:
            def jobs() -> list[str]:
                owners = [document["owner"] for document in store.jobs(name) if document["state"] == 1]
                held = sorted({owner["slurm_job"] for owner in owners})
                return held if len(held) == count and len(owners) == trials else []

            until(lambda: any((cluster.results / name / "trials").glob("*/checkpoint-*")))
            return until(jobs)

        yield wait


@pytest.fixture(scope="module", autouse=True)
def past_its_limit(slurm: Path, uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A search that needs longer than its one job may run; it begins now and is looked at by the last test.

    Slurm's shortest time limit is a minute. Nobody pre-empts the partition `high`.
    """
    folder = tmp_path_factory.mktemp("limited")
    config = folder / "limited.yaml"
    config.write_text(LIMITED)
    environment = {"HMS_MONGO": uri, "HMS_RESULTS": str(folder / "results"), "SLURM_CONF": str(slurm / "slurm.conf")}
    run = subprocess.Popen(
        [sys.executable, "-m", "search", "run", str(config)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield run
    run.kill()
    run.communicate()


def living(ask: Callable[..., str], name: str) -> str:
    return ask("squeue", "--noheader", f"--name=hms-{name}")


def command_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process is gone
        return ""


def restarts(ask: Callable[..., str], job: str) -> int:
    return int(re.search(r"Restarts=(\d+)", ask("scontrol", "show", "job", job)).group(1))


def test_an_array_of_jobs_finishes_a_search_and_never_sees_the_password(
    cluster, slurm, uri, ask, running, expect_whole, tmp_path
):
    name, secret = "array", re.search(r"//[^:]+:([^@]+)@", uri).group(1)
    run = cluster.start(
        "run", str(cluster.config), "--name", name, *TWO, *SLOW, "--set", "launch.slurm.gpus_per_worker=1"
    )
    first, second = running(name)
    assert (first.partition("_")[2], second.partition("_")[2]) == ("0", "1")
    assert f"; Slurm job {first} on " in cluster("status", name).out
    assert ask("scontrol", "show", "job", first).count("TresPerNode=gres:gpu:1") == 1
    tasks = [p.environ() for p in cluster.processes() if "submitit.core._submit" in p.cmdline() and p.name() != "srun"]
    assert sorted(task["CUDA_VISIBLE_DEVICES"] for task in tasks) == ["0", "1"]

    address = cluster.results / name / "slurm" / "address"
    assert address.read_text() == uri and address.stat().st_mode & 0o777 == 0o600
    assert address.parent.stat().st_mode & 0o777 == 0o700
    assert secret not in ask("scontrol", "show", "job", "--details")
    assert secret not in ask("scontrol", "write", "batch_script", first, "-")
    written = [*slurm.rglob("*"), *cluster.results.rglob("*")]
    files = [path for path in written if path.is_file() and not path.is_symlink() and path != address]
    assert any(path.name == "environment" for path in files), "Slurm's stored environment was not looked at"
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert [line for path in Path("/proc").glob("[0-9]*/cmdline") if secret in (line := command_line(path))] == []
    assert not [task for task in tasks if secret in str(task)]

    done = cluster.wait(run)
    assert done.code == 0, done.err
    assert "2 running" in done.out
    expect_whole(*cluster.tables(name), 4)
    assert not living(ask, name) and not address.exists() and not cluster.processes()


def test_a_cancelled_job_is_replaced_and_an_impatient_signal_is_no_crash(cluster, ask, running, until, expect_whole):
    run = cluster.start("run", str(cluster.config), "--name", "cancelled", *TWO, *SLOW, "--set", "search.max_trials=2")
    first, second = running("cancelled")
    ask("scancel", first)
    # Slurm repeats its signals, e.g. at the end of a grace time: the worker still ends its write.
    ask("scancel", "--signal=TERM", second)
    ask("scancel", "--signal=TERM", second)
    until(lambda: restarts(ask, second) == 1, timeout=20)
    done = cluster.wait(run)
    assert done.code == 0, done.err
    assert done.out.count("Slurm: submitted") == 2, "one array, and one job in the place of the cancelled one"
    trials, epochs = cluster.tables("cancelled")
    expect_whole(trials, epochs, 2)
    assert sum(trial["preemptions"] for trial in trials) == 2
    assert sum(trial["attempts"] for trial in trials) == 4
    assert not living(ask, "cancelled")


def test_a_pre_empted_job_gives_all_its_trials_back_and_is_requeued(cluster, ask, running, expect_whole):
    wide = ("--workers", "1", "--devices", "cpu,cpu", "--set", "launch.slurm.partition=low", *ARRAY)
    wide += ("--set", "launch.slurm.cpus_per_worker=3", "--set", "search.max_trials=2")
    run = cluster.start("run", str(cluster.config), "--name", "preempted", *wide, *SLOW)
    (job,) = running("preempted", 1)
    ask("srun", "--partition=high", "--cpus-per-task=4", "--job-name=urgent", "true")
    assert restarts(ask, job) == 1
    done = cluster.wait(run)
    assert done.code == 0, done.err
    assert done.out.count("Slurm: submitted") == 1
    trials, epochs = cluster.tables("preempted")
    expect_whole(trials, epochs, 2)
    assert [(trial["preemptions"], trial["attempts"]) for trial in trials] == [(1, 2), (1, 2)]


def test_a_new_driver_keeps_the_jobs_of_a_killed_one_and_ctrl_c_ends_them(cluster, ask, running, until):
    command = ("run", str(cluster.config), "--name", "adopted", *TWO, *SLOW, "--set", "search.max_trials=50")
    killed = cluster.start(*command)
    jobs = running("adopted")
    killed.kill()
    killed.communicate()
    begun = (cluster.results / "adopted" / "slurm" / "address").stat().st_mtime_ns
    again = cluster.start(*command)
    folder = cluster.results / "adopted" / "slurm"
    until(lambda: (folder / "address").stat().st_mtime_ns > begun)
    assert sorted(json.loads((folder / "jobs.json").read_text())) == jobs
    again.send_signal(signal.SIGINT)
    done = cluster.wait(again)
    assert done.code == 130 and "going on with 2 jobs of an earlier driver" in done.out, (done.out, done.err)
    assert "Slurm: submitted" not in done.out
    assert not living(ask, "adopted") and not (folder / "jobs.json").exists() and not cluster.processes()
    trials, _ = cluster.tables("adopted")
    assert not [trial for trial in trials if trial["state"] == "RUNNING"]
    assert sum(trial["preemptions"] for trial in trials) == 2


def test_jobs_that_die_at_once_end_the_run_with_their_log(cluster, ask):
    broken = ("--set", "launch.slurm.setup=['echo no module named cuda/99 >&2', 'exit 2']")
    done = cluster("run", str(cluster.config), "--name", "broken", *TWO, *broken)
    assert done.code == 2, (done.out, done.err)
    assert "no module named cuda/99" in done.err and "_0_log.out" in done.err and "Traceback" not in done.err
    assert "going on without worker" in done.out
    assert not living(ask, "broken")


def test_a_plain_array_serves_a_driver_that_runs_elsewhere(cluster, uri, ask, running, until, expect_whole, tmp_path):
    driver = cluster.start("driver", str(cluster.config), "--name", "plain", *SLOW, "--set", "search.max_trials=2")
    until(lambda: cluster("status", "plain").code == 0)
    address = tmp_path / "address"
    address.write_text(uri)
    address.chmod(0o600)
    script = ["--array=0-1", "--gpus-per-node=0", "--cpus-per-task=1", str(SCRIPTS / "workers.sh"), "plain"]
    environment = {**os.environ, **cluster.environment, "HMS_MONGO": str(address), "HMS_RESULTS": str(cluster.results)}
    subprocess.run(["sbatch", f"--chdir={tmp_path}", *script], env=environment, check=True, capture_output=True)
    jobs = running("plain")
    ask("scancel", "--signal=USR1", jobs[0])
    until(lambda: restarts(ask, jobs[0]) == 1, timeout=20)
    done = cluster.wait(driver)
    assert done.code == 0, done.err
    trials, epochs = cluster.tables("plain")
    expect_whole(trials, epochs, 2)
    assert sum(trial["preemptions"] for trial in trials) == 1


def test_the_time_limit_costs_a_checkpoint_and_not_the_trial(past_its_limit, uri, ask, cluster, expect_whole):
    out, _ = past_its_limit.communicate(timeout=120)
    assert past_its_limit.returncode == 0, out
    assert out.count("Slurm: submitted") == 1, out
    cluster.environment["HMS_MONGO"] = uri
    trials, epochs = cluster.tables("limited")
    expect_whole(trials, epochs, 1)
    assert trials[0]["preemptions"] >= 1 and trials[0]["attempts"] == trials[0]["preemptions"] + 1
