"""Which deaths of workers end a run: those of workers that cannot run, not those of workers whose trial killed them."""

import errno
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from search.errors import HmsError, MachineFailed, UsageError
from search.launch import QUICK_DEATHS, SPAWN_TRIES, LocalProcesses, _Running
from search.process_identity import ProcessIdentity
from search.store import State, Store
from search.store.contract import MAX_CRASHES


@pytest.fixture
def launcher(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalProcesses:
    """Its workers only wait to be killed."""
    made = LocalProcesses(["cpu"], name="s", uri=None, logs=tmp_path, results=tmp_path, threads=1, store=store)
    store.create_or_resume("s", config={}, hashes={"space": "", "training": ""}, provenance={})
    (tmp_path / "worker-0.log").write_text("the last words\n")

    def spawn(number: int) -> _Running:
        process = subprocess.Popen(["sleep", "600"])
        return _Running(process, time.monotonic(), ProcessIdentity.of(process.pid))

    monkeypatch.setattr(made, "_spawn", spawn)
    made.start()
    return made


def kill(launcher: LocalProcesses) -> None:
    launcher.running[0].process.kill()
    launcher.running[0].process.wait()
    launcher.check()


def test_a_trial_that_kills_its_worker_at_once_ends_as_lost_and_the_run_goes_on(
    launcher: LocalProcesses, store: Store, fill: Callable[..., None]
) -> None:
    fill(store, 2)
    for _ in range(MAX_CRASHES):
        identity = launcher.running[0].identity
        assert identity is not None
        job = store.reserve("s", identity.to_dict())
        assert job is not None and job.tid == 0
        kill(launcher)
    assert [job["state"] for job in store.jobs("s")] == [State.ERROR, State.NEW]
    assert launcher.running[0].process.poll() is None
    launcher.stop(1.0)


def test_a_worker_that_keeps_dying_before_it_takes_a_trial_ends_the_run(launcher: LocalProcesses) -> None:
    for _ in range(QUICK_DEATHS - 1):
        kill(launcher)
    with pytest.raises(HmsError, match=r"worker 0 cannot run \(exit code -9\)(.|\n)*the last words"):
        kill(launcher)


def end(launcher: LocalProcesses, code: int) -> None:
    """Have the worker end by itself, as it does with an error."""
    kept = launcher.running[0]
    kept.process.kill()
    kept.process.wait()
    kept.process = subprocess.Popen(["sh", "-c", f"exit {code}"])
    kept.process.wait()
    launcher.check()


def test_wrong_usage_ends_the_run_at_once_but_not_by_a_worker_that_held_a_trial(
    launcher: LocalProcesses, store: Store, fill: Callable[..., None]
) -> None:
    fill(store)
    identity = launcher.running[0].identity
    assert identity is not None and store.reserve("s", identity.to_dict()) is not None
    end(launcher, UsageError.exit_code)
    assert launcher.running[0].process.poll() is None
    with pytest.raises(HmsError, match=r"exit code 2\)") as raised:
        end(launcher, UsageError.exit_code)
    assert raised.value.exit_code == UsageError.exit_code


def test_workers_that_their_machine_fails_again_and_again_end_the_run_however_long_each_tried(
    launcher: LocalProcesses,
) -> None:
    for turn in range(QUICK_DEATHS):
        launcher.running[0].started -= 60
        if turn < QUICK_DEATHS - 1:
            end(launcher, MachineFailed.exit_code)
    with pytest.raises(HmsError, match=r"exit code 5\)"):
        end(launcher, MachineFailed.exit_code)


@pytest.mark.parametrize("failures", [1, SPAWN_TRIES - 1, SPAWN_TRIES])
def test_where_no_process_can_be_started_now_it_is_tried_again_for_a_while(
    launcher: LocalProcesses, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    monkeypatch.setattr("search.launch.SPAWN_PAUSE", 0.01)
    spawn, left = launcher._spawn, iter(range(failures))

    def without_memory(number: int) -> _Running:
        if next(left, None) is not None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return spawn(number)

    monkeypatch.setattr(launcher, "_spawn", without_memory)
    launcher.running[0].started -= 60
    first = launcher.running[0].process
    kill(launcher)

    def replaced() -> bool:
        launcher.check()
        return launcher.running[0].process is not first

    deadline = time.monotonic() + 10
    if failures == SPAWN_TRIES:
        with pytest.raises(OSError, match="Cannot allocate memory"):
            while time.monotonic() < deadline:
                replaced()
    else:
        while not replaced():
            assert time.monotonic() < deadline
        assert launcher.running[0].process.poll() is None
