"""Files of trials in the store: GridFS's layout, whole or not at all, and nothing left over."""

import os
from collections.abc import Callable
from pathlib import Path

import gridfs
import pytest

from search.errors import FileDamaged
from search.store import Job, Store
from search.store.files import CHUNK_BYTES

Fill = Callable[..., None]
LENGTHS = (0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 7)


def reserved(store: Store) -> Job:
    job = store.reserve("s", "w")
    assert job is not None
    return job


@pytest.fixture
def job(store: Store, fill: Fill) -> Job:
    fill(store)
    return reserved(store)


def write(path: Path, length: int) -> Path:
    path.write_bytes(os.urandom(length))
    return path


@pytest.mark.parametrize("length", LENGTHS)
def test_a_file_comes_back_as_it_was_and_pymongos_gridfs_reads_it(
    store: Store, job: Job, tmp_path: Path, length: int
) -> None:
    path = write(tmp_path / "network.pt", length)
    stored = store.put_file(job, path)
    assert stored is not None and store.files("s") == store.files("s", 0) == [stored]
    assert (stored.tid, stored.token, stored.file, stored.bytes) == (0, job.token, "network.pt", length)
    store.fetch_file("s", stored, tmp_path / "there" / "copy.pt")
    assert (tmp_path / "there" / "copy.pt").read_bytes() == path.read_bytes()
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["copy.pt"]
    bucket = gridfs.GridFSBucket(store._jobs.database, "trial_files")
    assert bucket.open_download_stream_by_name("network.pt").read() == path.read_bytes()


def test_a_repetition_replaces_also_what_was_longer(store: Store, job: Job, tmp_path: Path) -> None:
    for length in (3 * CHUNK_BYTES, CHUNK_BYTES + 5):
        stored = store.put_file(job, write(tmp_path / "best.pt", length))
        assert stored is not None and store.files("s") == [stored]
        store.fetch_file("s", stored, tmp_path / "copy")
        assert (tmp_path / "copy").stat().st_size == length
    assert store._jobs.database["trial_files.chunks"].count_documents({}) == 2


@pytest.mark.parametrize("damage", ["lost", "altered"])
def test_a_damaged_file_never_replaces_one_that_is_there(store: Store, job: Job, tmp_path: Path, damage: str) -> None:
    stored = store.put_file(job, write(tmp_path / "best.pt", 3 * CHUNK_BYTES))
    assert stored is not None
    chunks = store._jobs.database["trial_files.chunks"]
    if damage == "lost":
        chunks.delete_one({"n": 1})
    else:
        chunks.update_one({"n": 1}, {"$set": {"data": b"x" * CHUNK_BYTES}})
    target = tmp_path / "here"
    target.write_bytes(b"before")
    with pytest.raises(FileDamaged, match=r"best\.pt of trial 0 is damaged in the store"):
        store.fetch_file("s", stored, target)
    assert target.read_bytes() == b"before" and sorted(p.name for p in tmp_path.iterdir()) == ["best.pt", "here"]


def test_what_was_sent_in_part_is_no_file_and_is_swept(store: Store, job: Job, tmp_path: Path) -> None:
    asked = iter([False, False, True])
    assert store.put_file(job, write(tmp_path / "best.pt", 3 * CHUNK_BYTES), lambda: next(asked)) is None
    assert store.files("s") == [] and store._jobs.database["trial_files.chunks"].count_documents({}) == 2
    assert store.sweep_files("s") == 0, "its reservation holds: it may still be sending"
    store.requeue(job, "a test")
    reserved(store)
    assert store.sweep_files("s") == 1
    assert store._jobs.database["trial_files.chunks"].count_documents({}) == 0


def test_the_sweep_keeps_what_trials_name_and_what_the_finisher_left(store: Store, fill: Fill, tmp_path: Path) -> None:
    fill(store, 2)
    first = reserved(store)
    for epoch in (5, 10, 15):
        name = f"checkpoint-{epoch}"
        store.put_file(first, write(tmp_path / name, 10))
        store.set_checkpoint(first, {"epoch": epoch, "file": name})
    store.put_file(first, write(tmp_path / "best.pt", 10))
    assert store.sweep_files("s") == 0, "the reservation holds"
    store.requeue(first, "a test")
    second = reserved(store)
    assert store.sweep_files("s") == 2  # the oldest checkpoint, and weights of an attempt that did not finish
    assert [file.file for file in store.files("s")] == ["checkpoint-10", "checkpoint-15"]
    store.put_file(second, tmp_path / "best.pt")
    store.put_file(second, write(tmp_path / "checkpoint-20", 10))
    store.finish(second, {"status": "ok", "loss": 1.0})
    assert store.sweep_files("s", 1) == 0 and store.sweep_files("s", 0) == 3
    assert [(file.file, file.token) for file in store.files("s")] == [("best.pt", second.token)]


def test_removal_touches_only_what_is_named(store: Store, fill: Fill, tmp_path: Path) -> None:
    for name in ("s", "s2", "s-2"):
        fill(store, 2, name)
        for _ in range(2):
            job = store.reserve(name, "w")
            assert job is not None
            for file in ("network.pt", "best.pt", "rdm.npz"):
                store.put_file(job, write(tmp_path / file, 10))
    assert store.remove_files("s", 1, ("network.pt", "best.pt")) == 2
    assert [(file.tid, file.file) for file in store.files("s")] == [
        (0, "best.pt"),
        (0, "network.pt"),
        (0, "rdm.npz"),
        (1, "rdm.npz"),
    ]
    assert store.remove_files("s") == 4 and store.files("s") == []
    assert len(store.files("s2")) == len(store.files("s-2")) == 6
    assert store._jobs.database["trial_files.chunks"].count_documents({}) == 12
