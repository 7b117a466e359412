"""Which deaths of workers end a run: those of workers that cannot run, not those of workers whose trial killed them."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from search.errors import HmsError
from search.launch import QUICK_DEATHS, LocalProcesses, _Running
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
