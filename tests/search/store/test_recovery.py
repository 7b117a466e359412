import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from search.process_identity import ProcessIdentity
from search.store import Job, State, Store
from search.store.fencing import crashed

Fill = Callable[..., None]
LEASE = 0.3


def reserved(store: Store, owner: Any = "w") -> Job:
    job = store.reserve("s", owner)
    assert job is not None
    return job


def stored(store: Store, tid: int = 0) -> dict[str, Any]:
    job = store.job("s", tid)
    assert job is not None
    return job


def reap(store: Store) -> list[int]:
    """Reaps as soon as leases have run out; the calls in between keep the store in touch with the server."""
    deadline = time.monotonic() + 20
    taken: list[int] = []
    while not taken and time.monotonic() < deadline:
        time.sleep(0.02)
        taken = store.reap("s")
    return taken


def test_what_is_known_of_a_crash_stands_in_the_history_and_in_the_error(
    connect: Callable[..., Store], fill: Fill
) -> None:
    store = connect()
    fill(store)
    for _ in range(3):
        reserved(store)
        assert store.release("s", "w", reason="$killed by SIGKILL") == [0]
    document = stored(store)
    assert document["state"] == State.ERROR and document["history"][0]["reason"] == "$killed by SIGKILL"
    assert document["error"]["message"].endswith("; the last one: $killed by SIGKILL")
    assert document["result"]["reason"] == document["error"]["message"]


def test_an_expired_lease_makes_the_trial_new(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=LEASE)
    fill(store)
    reserved(store, {"host": "h", "pid": 7})
    assert reap(store) == [0]
    document = stored(store)
    assert (document["state"], document["crashes"], document["token"], document["owner"]) == (State.NEW, 1, None, None)
    assert document["history"][0]["how"] == "lease_expired" and document["history"][0]["owner"] == {
        "host": "h",
        "pid": 7,
    }
    assert document["history"][0]["began"] < document["history"][0]["ended"]


def test_a_heartbeat_saves_the_trial(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=LEASE)
    fill(store)
    job = reserved(store)
    for _ in range(6):
        time.sleep(LEASE / 3)
        assert store.heartbeat(job)
    assert store.reap("s") == []


def test_nothing_is_reaped_before_one_full_lease(connect: Callable[..., Store], fill: Fill) -> None:
    owner = connect(lease_seconds=0.01)
    fill(owner)
    reserved(owner)
    time.sleep(0.05)
    reaper = connect(lease_seconds=0.6)
    assert reaper.reap("s") == []
    for _ in range(4):
        time.sleep(0.2)
        reaper.counts("s")
    reaper._continuity.lost()
    assert reaper.reap("s") == [], "a gap in the connection starts the wait anew"
    began = time.monotonic()
    assert reap(reaper) == [0]
    assert time.monotonic() - began > 0.5


def test_silence_of_the_reaper_counts_as_a_gap(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=0.4)
    fill(store)
    reserved(store)
    time.sleep(0.9)
    assert store.reap("s") == [], "a reaper that was stopped itself cannot judge the others"


def test_three_crashes_make_the_trial_lost(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=LEASE)
    fill(store)
    for _ in range(3):
        reserved(store)
        assert reap(store) == [0]
    document = stored(store)
    assert document["state"] == State.ERROR and document["error"]["message"].startswith("lost: 3 attempts")
    assert document["result"]["status"] == "fail" and len(document["history"]) == 3
    assert store.reserve("s", "w") is None
    assert store.retry("s", "failed") == [0]
    document = stored(store)
    assert (document["state"], document["crashes"], document["error"]) == (State.NEW, 0, None)
    assert len(document["history"]) == 3 and reserved(store).attempt == 4


def test_the_crash_count_restarts_past_the_checkpoint(store: Store, fill: Fill) -> None:
    fill(store)
    counts = []
    for epoch in (5, 10, 15, 15, 15, 15):
        job = reserved(store)
        store.begin_attempt(job, job.checkpoint["epoch"] if job.checkpoint else 0)
        store.set_checkpoint(job, {"epoch": epoch})
        assert store.release("s", "w") == [0]
        counts.append((stored(store)["crashes"], stored(store)["state"]))
        if counts[-1][1] == State.ERROR:
            break
    # Three attempts that each got further, then two that did not: the count goes on from the last progress.
    assert counts == [(1, 0), (1, 0), (1, 0), (2, 0), (3, State.ERROR)]


def test_preemption_is_no_crash(store: Store, fill: Fill) -> None:
    fill(store)
    for _ in range(10):
        store.requeue(reserved(store), "SIGTERM")
    document = stored(store)
    assert (document["state"], document["crashes"], document["preemptions"]) == (State.NEW, 0, 10)


def test_release_takes_only_the_owner_that_died(store: Store, fill: Fill) -> None:
    fill(store, 3)
    me = ProcessIdentity.current()
    owners = [{**me.to_dict(), "pid": pid, "device": f"cuda:{pid}"} for pid in (10, 11, 10)]
    for owner in owners:
        reserved(store, owner)
    assert store.release("s", {**me.to_dict(), "pid": 10}) == [0, 2]
    assert store.counts("s")["RUNNING"] == 1
    assert stored(store)["history"][0]["how"] == "worker_died"


def test_a_trial_reserved_anew_meanwhile_is_not_taken_back(
    connect: Callable[..., Store], fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = connect(), connect()
    fill(store)
    reserved(store)
    fresh: list[Job] = []

    def slow(how: str, reason: str | None) -> Any:
        # Between the first store's look and its write, another launcher acts.
        if not fresh:
            fresh.append(reserved_again())
        return crashed(how, reason)

    def reserved_again() -> Job:
        other._jobs.update_one({"tid": 0}, crashed("worker_died"))
        return reserved(other)

    monkeypatch.setattr("search.store.recovery.crashed", slow)
    assert store.release("s", "w") == []
    assert other.heartbeat(fresh[0]) and stored(store)["crashes"] == 1


def test_release_dead_finds_local_processes_that_ended(store: Store, fill: Fill) -> None:
    fill(store, 3)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = ProcessIdentity.of(child.pid)
        assert identity is not None
        reserved(store, identity.to_dict())
        reserved(store, {**identity.to_dict(), "realm": "another machine"})
        reserved(store, ProcessIdentity.current().to_dict())
        assert store.release_dead("s") == []
        child.communicate(b"\n")
    assert store.release_dead("s") == [0]
    assert store.counts("s")["RUNNING"] == 2


def test_cancel_and_retry_stale(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=0.05)
    fill(store, 4)
    running = reserved(store)
    assert store.cancel("s", 0) == [0] and store.cancel("s", 0) == []
    assert store.heartbeat(running) is False
    assert stored(store)["history"][0]["how"] == "cancelled"
    reserved(store)
    time.sleep(0.1)
    assert store.retry("s", "stale") == [1]
    assert store.cancel("s") == [1, 2, 3]
    assert store.counts("s")["CANCEL"] == 4
    assert stored(store, 3)["history"] == []


@pytest.mark.parametrize("which", ["failed", "stale"])
def test_retry_leaves_finished_trials_alone(store: Store, fill: Fill, which: Any) -> None:
    fill(store)
    store.finish(reserved(store), {"status": "fail", "reason": "diverged"})
    assert store.retry("s", which) == []
