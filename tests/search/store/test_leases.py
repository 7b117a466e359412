import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from search.errors import DocumentRefused, LeaseLost, StoreUnreachable
from search.store import Job, State, Store, new_job_document
from search.store.contract import MAX_PREEMPTIONS

Fill = Callable[..., None]
OWNER = {"host": "h", "pid": 1}


def reserved(store: Store, owner: Any = OWNER) -> Job:
    job = store.reserve("s", owner)
    assert job is not None
    return job


def stored(store: Store, tid: int = 0) -> dict[str, Any]:
    job = store.job("s", tid)
    assert job is not None
    return job


def test_fifty_threads_reserve_twenty_jobs_once_each(store: Store, fill: Fill) -> None:
    fill(store, 20)
    got: list[Job] = []
    barrier = threading.Barrier(50)

    def worker(number: int) -> None:
        barrier.wait()
        job = store.reserve("s", f"w{number}")
        if job is not None:
            got.append(job)

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job.tid for job in got) == list(range(20))
    assert len({job.token for job in got}) == 20
    assert store.counts("s") == {"NEW": 0, "RUNNING": 20, "DONE": 0, "ERROR": 0, "CANCEL": 0}


def test_lowest_tid_first_and_the_fields_of_the_job(store: Store) -> None:
    store.insert(
        [new_job_document("s", tid, params={"lr": tid / 10}, seed=tid, point=1, replicate=tid) for tid in (2, 1)]
    )
    job = reserved(store)
    assert (job.name, job.tid, job.attempt, job.seed, job.point, job.replicate) == ("s", 1, 1, 1, 1, 1)
    assert job.params == {"lr": 0.1} and job.checkpoint is None and job.misc["tid"] == 1
    assert reserved(store).tid == 2
    assert store.reserve("s", OWNER) is None


def test_a_worker_takes_only_what_it_offers(store: Store) -> None:
    needs: list[dict[str, Any]] = [{"device_class": "cuda", "precision": "bf16"}, {"device_class": "cpu"}, {}]
    store.insert(new_job_document("s", tid, params={}, seed=0, requires=need) for tid, need in enumerate(needs))
    cpu = {"device_class": "cpu", "precision": "fp32"}
    assert [getattr(store.reserve("s", "cpu", require=cpu), "tid", None) for _ in range(3)] == [1, 2, None]
    mixed = store.reserve("s", "cpu", require=cpu, allow_mixed=True)
    assert mixed is not None and mixed.tid == 0 and mixed.requires == needs[0]
    assert stored(store)["offer"] == cpu


def test_offered_lists_match_any_of_their_values(store: Store) -> None:
    store.insert([new_job_document("s", 0, params={}, seed=0, requires={"precision": "bf16"})])
    assert store.reserve("s", "a", require={"precision": ["fp32"]}) is None
    assert store.reserve("s", "a", require={"precision": ["fp32", "bf16"]}) is not None


def test_a_stale_token_writes_nothing(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=0.4)
    fill(store)
    stale = reserved(store, "first")
    store.record(stale, 5, {"hms": 0.1})
    deadline = time.monotonic() + 10
    while store.reap("s") != [0]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    fresh = reserved(store, "second")
    assert fresh.attempt == 2 and fresh.token != stale.token
    before = stored(store)
    assert store.heartbeat(stale) is False
    for write in (
        lambda: store.begin_attempt(stale, 0),
        lambda: store.record(stale, 10, {"hms": 0.9}),
        lambda: store.record(stale, 5, {"hms": 0.9}),
        lambda: store.set_checkpoint(stale, {"epoch": 10}),
        lambda: store.finish(stale, {"status": "ok", "loss": 0.0}),
        lambda: store.fail(stale, "boom"),
        lambda: store.requeue(stale, "SIGTERM", {"epoch": 10}),
    ):
        with pytest.raises(LeaseLost, match="trial 0 of 's'"):
            write()
    assert stored(store) == before
    assert [(row["epoch"], row["hms"], row["attempt"]) for row in store.epochs("s")] == [(5, 0.1, 1)]
    store.finish(fresh, {"status": "ok", "loss": -0.2})
    assert stored(store)["result"] == {"status": "ok", "loss": -0.2}


def test_leases_are_on_the_servers_clock(connect: Callable[..., Store], fill: Fill) -> None:
    store = connect(lease_seconds=100)
    fill(store)
    before = store._client.admin.command("hello")["localTime"].replace(tzinfo=UTC)
    job = reserved(store)
    after = store._client.admin.command("hello")["localTime"].replace(tzinfo=UTC)
    document = stored(store)
    assert before <= document["book_time"] <= after
    assert (document["lease_until"] - document["book_time"]).total_seconds() == 100
    assert store.heartbeat(job)
    assert stored(store)["lease_until"] > document["lease_until"]


def test_a_client_clock_an_hour_off_changes_nothing(
    connect: Callable[..., Store], fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = connect(lease_seconds=0.3)
    fill(store, 2)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    reserved(store)
    assert abs((stored(store)["book_time"] - datetime.fromtimestamp(real(), UTC)).total_seconds()) < 60
    job = reserved(store, "other")
    deadline = time.monotonic() + 20
    while not (taken := store.reap("s")) and time.monotonic() < deadline:
        assert store.heartbeat(job)
        time.sleep(0.02)
    assert taken == [0]
    assert store.heartbeat(job)


def test_ends_are_idempotent_and_keep_their_history(store: Store, fill: Fill) -> None:
    fill(store, 3)
    done, failed, preempted = (reserved(store, f"w{number}") for number in range(3))
    for _ in range(2):
        store.finish(done, {"status": "ok", "loss": 1, "stopped": {"epoch": 40, "rule": "hms_stable"}})
        store.fail(failed, "$boom", "trace\n" * 10_000 + "the end")
        store.requeue(preempted, "SIGTERM", {"epoch": 10, "file": "a.pt"})
    assert stored(store, 0)["result"] == {"status": "ok", "loss": 1.0, "stopped": {"epoch": 40, "rule": "hms_stable"}}
    assert stored(store, 0)["state"] == State.DONE and stored(store, 0)["lease_until"] is None
    error = stored(store, 1)["error"]
    assert error["message"] == "$boom" and error["traceback"].endswith("the end")
    assert 10_000 < len(error["message"] + error["traceback"]) <= 16_000
    assert stored(store, 1)["result"] == {"status": "fail", "reason": "$boom"}
    again = stored(store, 2)
    assert (again["state"], again["preemptions"], again["crashes"], again["owner"]) == (State.NEW, 1, 0, None)
    hows = [[entry["how"] for entry in stored(store, tid)["history"]] for tid in range(3)]
    assert hows == [["finished"], ["failed"], ["preempted"]]
    assert again["history"][0]["owner"] == "w2" and again["history"][0]["reason"] == "SIGTERM"
    resumed = reserved(store)
    assert (resumed.tid, resumed.attempt) == (2, 2)
    assert resumed.checkpoint == {"epoch": 10, "file": "a.pt", "previous": None}


def test_preemptions_have_their_own_cap(store: Store, fill: Fill) -> None:
    fill(store)
    store._jobs.update_one({"tid": 0}, {"$set": {"preemptions": MAX_PREEMPTIONS - 2}})
    store.requeue(reserved(store), "SIGUSR1")
    assert stored(store)["state"] == State.NEW
    store.requeue(reserved(store), "SIGUSR1")
    assert stored(store)["state"] == State.ERROR
    assert "hms retry s --state failed" in stored(store)["error"]["message"]


def test_a_nan_loss_becomes_a_failed_trial(store: Store, fill: Fill) -> None:
    fill(store, 2)
    store.finish(reserved(store), {"status": "ok", "loss": float("nan"), "hms": float("nan")})
    assert stored(store)["result"] == {"status": "fail", "reason": "the loss is nan", "hms": None}
    store.finish(reserved(store), {"status": "fail", "reason": "diverged at epoch 3", "loss": float("inf")})
    assert stored(store, 1)["result"] == {"status": "fail", "reason": "diverged at epoch 3"}


@pytest.mark.parametrize("result", [{}, {"status": "done"}, {"status": "ok"}, {"status": "ok", "loss": "low"}])
def test_a_result_that_hyperopt_cannot_read_is_refused(store: Store, fill: Fill, result: dict[str, Any]) -> None:
    fill(store)
    job = reserved(store)
    with pytest.raises(DocumentRefused, match=r"result"):
        store.finish(job, result)
    assert stored(store)["state"] == State.RUNNING


def test_two_checkpoints_are_kept_and_a_torn_one_falls_back(store: Store, fill: Fill) -> None:
    fill(store)
    job = reserved(store)
    for epoch in (5, 10, 15):
        store.set_checkpoint(job, {"epoch": epoch, "sha256": str(epoch)})
    assert stored(store)["checkpoint"] == {"epoch": 15, "sha256": "15", "previous": {"epoch": 10, "sha256": "10"}}
    store.begin_attempt(job, 15)
    assert stored(store)["checkpoint"]["epoch"] == 15
    store.begin_attempt(job, 10)
    assert stored(store)["checkpoint"] == {"epoch": 10, "sha256": "10", "previous": None}
    store.begin_attempt(job, 0)
    assert stored(store)["checkpoint"] is None and stored(store)["resume_epoch"] == 0
    with pytest.raises(DocumentRefused, match=r"checkpoint\.epoch is None"):
        store.set_checkpoint(job, {"sha256": "x"})


def test_a_checkpoint_that_could_not_be_read_is_dropped_even_at_the_same_epoch(store: Store, fill: Fill) -> None:
    fill(store)
    job = reserved(store)
    for file in ("a", "b"):  # at an evaluation, and at a pre-emption before the next epoch ended
        store.set_checkpoint(job, {"epoch": 10, "file": file})
    store.begin_attempt(job, 10, ["a"])
    assert stored(store)["checkpoint"] == {"epoch": 10, "file": "b", "previous": None}
    store.set_checkpoint(job, {"epoch": 15, "file": "c"})
    store.begin_attempt(job, 10, ["c"])
    assert stored(store)["checkpoint"] == {"epoch": 10, "file": "b", "previous": None}
    store.begin_attempt(job, 0, ["b"])
    assert stored(store)["checkpoint"] is None


def test_a_checkpoint_that_is_told_again_does_not_displace_the_one_before(store: Store, fill: Fill) -> None:
    fill(store)
    job = reserved(store)
    for file in ("a", "b", "b"):  # the answer to the second was lost
        store.set_checkpoint(job, {"epoch": 5, "file": file})
    assert stored(store)["checkpoint"] == {"epoch": 5, "file": "b", "previous": {"epoch": 5, "file": "a"}}


def test_an_unanswered_reservation_is_found_again(store: Store, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 2)
    make = type(store._jobs).find_one_and_update

    def cut(self: Any, *args: Any, **kwargs: Any) -> Any:
        make(self, *args, **kwargs)
        raise AutoReconnect("the answer was lost")

    monkeypatch.setattr(type(store._jobs), "find_one_and_update", cut)
    with pytest.raises(StoreUnreachable):
        store.reserve("s", "w")
    monkeypatch.undo()
    first = reserved(store, "w")
    assert (first.tid, first.attempt) == (0, 1)
    assert store.heartbeat(first)
    assert reserved(store, "w").tid == 1
