"""Workers that are killed, stopped for longer than their lease, and continued: nothing is lost, nothing done twice."""

import pytest

from search.store import State

pytestmark = pytest.mark.chaos
SLOW = ("--set", "training.toy_seconds=0.05")


def test_kill_9_of_a_worker_loses_nothing(hms, until, expect_undisturbed):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    workers = until(lambda: len(hms.workers()) == 2 and hms.workers())
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    victim = workers[0]
    children = victim.children(recursive=True)
    victim.kill()
    until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children), timeout=10)
    done = hms.wait(run)
    assert done.code == 0, done.err
    trials = expect_undisturbed(hms)
    assert sorted(trial["attempts"] for trial in trials)[-1] == 2
    assert not hms.processes()


def test_a_worker_that_was_stopped_for_longer_than_its_lease_wakes_up_fenced_off(hms, until, expect_undisturbed):
    lease = ("--set", "search.lease_seconds=4")
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW, *lease)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    with hms.store() as store:
        job = until(lambda: next((job for job in store.jobs("toy") if job["state"] == State.RUNNING), None))
        pid, tid = job["owner"]["pid"], job["tid"]
        (victim,) = [worker for worker in hms.workers() if worker.pid == pid]
        victim.suspend()  # its trial's process trains on, and nobody writes down what it says
        until(lambda: store.job("toy", tid)["attempt"] == 2)
        victim.resume()
        done = hms.wait(run)
        assert done.code == 0, done.err
        hows = [attempt["how"] for attempt in store.job("toy", tid)["history"]]
    assert hows == ["lease_expired", "finished"]
    expect_undisturbed(hms)
    logs = "".join(log.read_text() for log in (hms.results / "toy" / "logs").glob("worker-*.log"))
    assert f"trial {tid}: taken over or cancelled; nothing more is written" in logs
