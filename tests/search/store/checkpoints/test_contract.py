"""One contract for both kinds of checkpoint store: what the next worker finds, whatever happened to a file."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from search.attempt import Attempt
from search.paths import RunFolder

Rows = list[dict[str, Any]]


def torn(data: bytes) -> bytes:
    return data[:-50]


def missing(data: bytes) -> None:
    return None


def empty(data: bytes) -> bytes:
    return b""


def corrupted(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_another_worker_goes_on_from_the_newest_checkpoint(bench: Any, unbroken: Rows) -> None:
    newest, _ = bench.interrupted()
    kept = {Path(left).name for left in bench.left(bench.home)}
    assert kept == {newest["file"], newest["previous"]["file"]}
    bench.attempt(bench.worker(bench.away))
    assert bench.document["resume_epoch"] == newest["epoch"] > 0
    bench.expect_unbroken(unbroken)


@pytest.mark.parametrize("damage", [torn, missing, empty, corrupted])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    bench: Any, unbroken: Rows, damage: Callable[[bytes], bytes | None]
) -> None:
    newest, before = bench.interrupted()
    bench.replace(newest, damage(bench.path(newest).read_bytes()))
    bench.attempt(bench.worker(bench.away))
    assert any("checkpoint skipped" in text for text in bench.said)
    assert bench.document["resume_epoch"] == before["epoch"] > 0
    bench.expect_unbroken(unbroken)


@pytest.mark.parametrize("damage", [torn, missing])
def test_without_a_whole_checkpoint_the_trial_begins_anew(
    bench: Any, unbroken: Rows, damage: Callable[[bytes], bytes | None]
) -> None:
    for info in bench.interrupted():
        bench.replace(info, damage(bench.path(info).read_bytes()))
    bench.attempt(bench.worker(bench.away))
    assert sum("checkpoint skipped" in text for text in bench.said) == 2
    assert bench.document["resume_epoch"] == 0
    bench.expect_unbroken(unbroken)


def test_a_checkpoint_of_another_version_is_passed_over(bench: Any, unbroken: Rows) -> None:
    newest, before = bench.interrupted()
    document = torch.load(bench.path(newest), weights_only=True)
    torch.save({**document, "version": 99}, bench.path(newest))
    # As a worker of a newer program would have left it: whole, with its own sha256.
    bench.replace(newest, bench.path(newest).read_bytes(), honest=True)
    bench.attempt(bench.worker(bench.away))
    assert any("has checkpoint version 99, this program reads 1" in text for text in bench.said)
    assert bench.document["resume_epoch"] == before["epoch"]
    bench.expect_unbroken(unbroken)


def looped(path: Path) -> None:
    """An error of the file system that root gets too, and that a person may mend."""
    path.rename(path.with_suffix(".aside"))
    path.symlink_to(path)


def of_newer_version(path: Path) -> None:
    torch.save({**torch.load(path, weights_only=True), "version": 99}, path)


@pytest.mark.parametrize("harm", [looped, of_newer_version])
def test_a_checkpoint_that_cannot_be_read_now_stays_until_the_trial_ends(
    make_bench: Callable[..., Any], unbroken: Rows, harm: Callable[[Path], None]
) -> None:
    bench = make_bench("file")
    newest, before = bench.interrupted()
    path = bench.path(newest)
    harm(path)
    if harm is of_newer_version:
        bench.replace(newest, path.read_bytes(), honest=True)
    stayed: list[bool] = []

    def has_gone_on() -> bool:
        found = bench.document["checkpoint"]
        return found is not None and found["file"] not in (newest["file"], before["file"])

    bench.attempt_until(bench.worker(bench.home), has_gone_on, lambda: stayed.append(os.path.lexists(path)))
    assert stayed == [True] and any("checkpoint skipped" in text for text in bench.said)
    assert bench.document["resume_epoch"] == before["epoch"]
    bench.expect_unbroken(unbroken)


def test_putting_and_deleting_may_be_repeated(bench: Any) -> None:
    newest, before = bench.interrupted()
    worker = bench.worker(bench.home)
    job = bench.store.reserve("toy", worker.owner)
    assert job is not None
    for _ in range(2):
        worker.files.put(job, [newest["file"]], lambda: False)
    fresh = bench.worker(bench.away)
    for _ in range(2):
        fresh.files.fetch(job, [newest, before], bench.said.append)
    folder = RunFolder.of(bench.away, "toy").trial(0)
    assert hashlib.sha256((folder / newest["file"]).read_bytes()).hexdigest() == newest["sha256"]
    for _ in range(2):
        fresh.files.delete(0, [newest["file"]])
    assert not any(newest["file"] in left for left in bench.left(bench.away))
    with pytest.raises(OSError):
        worker.files.put(job, ["checkpoint-never-written.pt"], lambda: False)


def test_what_a_dead_attempt_left_goes_with_the_end_of_the_trial(bench: Any, unbroken: Rows) -> None:
    bench.interrupted()
    worker = bench.worker(bench.home)
    dead = bench.store.reserve("toy", worker.owner)
    assert dead is not None
    folder = RunFolder.of(bench.home, "toy").trial(0)
    for name in ("checkpoint-000005-000005-1.pt", ".checkpoint-000005-000005-2.pt.77.tmp"):
        (folder / name).write_bytes(os.urandom(2**21))
    # Killed after it was sent and before the store named it; and in the middle of sending.
    worker.files.put(dead, ["checkpoint-000005-000005-1.pt"], lambda: False)
    asked = iter([False, True])
    worker.files.put(dead, [".checkpoint-000005-000005-2.pt.77.tmp"], lambda: next(asked))
    bench.store.release("toy", worker.owner)
    bench.attempt(bench.worker(bench.away))
    bench.expect_unbroken(unbroken)
    assert not bench.database["trial_files.chunks"].count_documents({"files_id": {"$regex": "checkpoint"}})


def test_checkpoints_of_a_cancelled_trial_go_and_those_of_a_failed_one_stay(bench: Any) -> None:
    bench.interrupted()
    worker = bench.worker(bench.home)
    job = bench.store.reserve("toy", worker.owner)
    assert job is not None
    bench.store.fail(job, "an error")
    worker.files.sweep()
    assert len({Path(left).name for left in bench.left(bench.home)}) == 2
    assert bench.store.retry("toy", "failed") == [0] and bench.store.cancel("toy") == [0]
    worker.files.sweep()
    assert not bench.left(bench.home)


def test_a_name_that_leads_out_of_the_folder_is_no_checkpoint(bench: Any, unbroken: Rows) -> None:
    newest, _ = bench.interrupted()
    victim = bench.home / "victim.pt"
    victim.write_bytes(b"precious")
    for name in ("../../../victim.pt", str(victim)):
        bench.database["jobs"].update_one({}, {"$set": {"checkpoint.previous.file": name}})
        job = bench.store.reserve("toy", "w")
        assert job is not None
        assert [info["file"] for info in Attempt(bench.worker(bench.home), job).checkpoints] == [newest["file"]]
        bench.store.requeue(job, "a test")
    bench.attempt(bench.worker(bench.away))
    bench.expect_unbroken(unbroken)
    assert victim.read_bytes() == b"precious"
