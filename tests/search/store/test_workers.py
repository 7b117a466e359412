"""Who lives: greeted, working, idle, silent, dead. Judged by the server's clock."""

import time

import psutil
import pytest

from search.presence import present
from search.process_identity import ProcessIdentity
from search.workers import all_workers, living_workers

HERE = {**ProcessIdentity.current().to_dict(), "device": "cpu"}
ELSEWHERE = {"host": "elsewhere", "realm": "r", "pid": 1, "started": 1.0, "slot": 0, "device": "cuda:0"}


def test_an_idle_worker_is_seen_until_it_leaves(store):
    with present(store, "s", {**HERE, "slot": 0}, every=0.05):
        deadline = time.monotonic() + 10
        while not (found := all_workers(store, "s")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [(worker.condition, worker.tid, worker.alive) for worker in found] == [("idle", None, True)]
        seen = store.workers("s")[0]["seen"]
        while store.workers("s")[0]["seen"] == seen and time.monotonic() < deadline:
            time.sleep(0.02)
        assert store.workers("s")[0]["seen"] > seen
        assert store.workers("s")[0]["since"] <= seen
        assert all_workers(store, "other") == []
    assert store.workers("s") == []


def test_a_worker_that_holds_a_trial_works_and_is_listed_once(store, fill):
    fill(store, 2)
    owners = [{**HERE, "slot": number} for number in range(2)]
    store.greet("s", owners[0])
    jobs = [store.reserve("s", owner) for owner in owners]
    found = all_workers(store, "s")
    seen = [(worker.owner["slot"], worker.tid, worker.condition) for worker in found]
    assert seen == [(0, 0, "works"), (1, 1, "works")]
    for job in jobs:
        store.finish(job, {"status": "ok", "loss": 0.0})
    assert [(worker.owner["slot"], worker.condition) for worker in all_workers(store, "s")] == [(0, "idle")]


def test_a_silent_worker_is_told_from_a_living_one(connect, fill):
    store = connect(lease_seconds=0.2)
    fill(store)
    store.greet("s", ELSEWHERE)
    store.reserve("s", ELSEWHERE)
    assert [worker.condition for worker in all_workers(store, "s")] == ["works"]
    time.sleep(0.4)
    (silent,) = all_workers(store, "s")
    assert (silent.condition, silent.tid, living_workers(store, "s")) == ("silent", 0, [])


def test_a_worker_whose_process_ended_here_is_dead_before_its_lease_ends(store):
    gone = psutil.Popen(["sleep", "60"])
    identity = ProcessIdentity.of(gone.pid)
    store.greet("s", {**identity.to_dict(), "slot": 0})
    assert [worker.condition for worker in all_workers(store, "s")] == ["idle"]
    gone.kill()
    gone.wait()
    assert [worker.condition for worker in all_workers(store, "s")] == ["dead"]


@pytest.mark.parametrize(("age_seconds", "stays"), [(3500, True), (3700, False)])
def test_who_was_silent_for_an_hour_is_cleared_away(connect, age_seconds, stays):
    store = connect(lease_seconds=-age_seconds)
    store.greet("s", ELSEWHERE)
    store.lease_seconds = 180
    store.greet("s", {**ELSEWHERE, "pid": 2})
    assert [worker["owner"]["pid"] for worker in store.workers("s")] == ([1, 2] if stays else [2])


def test_the_servers_clock_is_aware_of_its_zone(store):
    assert abs(store.server_time().timestamp() - time.time()) < 60
