import threading
from collections.abc import Callable
from typing import Any

import pytest

from search.errors import DocumentRefused
from search.store import Job, Store

Fill = Callable[..., None]


def reserved(store: Store) -> Job:
    job = store.reserve("s", "w")
    assert job is not None
    return job


def test_a_repeated_record_replaces_its_row(store: Store, fill: Fill) -> None:
    fill(store)
    job = reserved(store)
    store.record(job, 5, {"hms": 0.1, "old": 1})
    store.record(job, 5, {"hms": 0.2, "mse": float("nan"), "note": "$hms"})
    (row,) = store.epochs("s", 0)
    recorded = row.pop("recorded")
    assert row == {"tid": 0, "epoch": 5, "attempt": 1, "hms": 0.2, "mse": None, "note": "$hms"}
    assert recorded.tzinfo is not None


def test_rows_come_sorted_and_by_trial(store: Store, fill: Fill) -> None:
    fill(store, 2)
    first, second = reserved(store), reserved(store)
    for job, epoch in ((second, 10), (first, 5), (second, 5), (first, 10)):
        store.record(job, epoch, {"hms": 0.0})
    assert [(row["tid"], row["epoch"]) for row in store.epochs("s")] == [(0, 5), (0, 10), (1, 5), (1, 10)]
    assert [row["epoch"] for row in store.epochs("s", 1)] == [5, 10]


def test_epochs_after_the_checkpoint_are_deleted_before_an_attempt(store: Store, fill: Fill) -> None:
    fill(store, 2)
    job, other = reserved(store), reserved(store)
    for epoch in (5, 6, 7):
        store.record(job, epoch, {"hms": epoch / 10})
        store.record(other, epoch, {"hms": 0.0})
    store.set_checkpoint(job, {"epoch": 5})
    store.requeue(job, "SIGTERM")
    again = reserved(store)
    assert again.tid == 0 and again.checkpoint is not None
    store.begin_attempt(again, again.checkpoint["epoch"])
    assert [row["epoch"] for row in store.epochs("s", 0)] == [5], "before the attempt has recorded anything"
    for epoch in (6, 7):
        store.record(again, epoch, {"hms": epoch / 10})
    rows = [(row["epoch"], row["attempt"], row["hms"]) for row in store.epochs("s", 0)]
    assert rows == [(5, 1, 0.5), (6, 2, 0.6), (7, 2, 0.7)]
    assert len(store.epochs("s", 1)) == 3


def test_heartbeats_of_another_thread_do_not_disturb_records(store: Store, fill: Fill) -> None:
    fill(store)
    job = reserved(store)
    stop = threading.Event()
    beats: list[bool] = []

    def beat() -> None:
        while not stop.is_set():
            beats.append(store.heartbeat(job))

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        for epoch in range(100):
            store.record(job, epoch, {"hms": 0.0})
    finally:
        stop.set()
        thread.join()
    assert len(store.epochs("s", 0)) == 100
    assert all(beats) and len(beats) > 20


@pytest.mark.parametrize("row", [{"tid": 3}, {"attempt": 1}, {"rdm": object()}, {"n": 2**63}])
def test_a_row_that_cannot_be_stored_is_refused(store: Store, fill: Fill, row: dict[str, Any]) -> None:
    fill(store)
    with pytest.raises(DocumentRefused, match="epoch 5"):
        store.record(reserved(store), 5, row)
    assert store.epochs("s") == []
