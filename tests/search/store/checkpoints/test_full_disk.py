"""Real full disks: training goes on, the last good checkpoint stays, and nothing new is begun."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from search.store import State

Rows = list[dict[str, Any]]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def fill(disk: Path) -> Path:
    """Take all that is left of a disk, the last pages of logs too."""
    for log in disk.rglob("log.txt"):
        with log.open("ab") as file:
            file.write(b"\n" * (-log.stat().st_size % os.sysconf("SC_PAGE_SIZE")))
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


@pytest.mark.parametrize("kind", ["file", "gridfs"])
def test_on_a_full_disk_training_goes_on_and_the_last_good_checkpoint_stays(
    make_bench: Callable[..., Any],
    small_disk: Path,
    unbroken: Rows,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("search.attempt.PROGRESS_SECONDS", 0.1)  # how often the store hears what people may want to see
    bench = make_bench(kind, small_disk / "results", toy_seconds=0.05)
    worker, told = bench.worker(bench.home), []

    def warning() -> Any:
        return (bench.document.get("progress") or {}).get("warning")

    def wait_for(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)

    def disturb() -> None:
        good = bench.document["checkpoint"]
        filler = fill(small_disk)
        wait_for(warning)
        told.extend([warning(), bench.document["checkpoint"]["file"] == good["file"]])
        filler.unlink()
        wait_for(lambda: bench.document["checkpoint"]["epoch"] > good["epoch"] + 5 and not warning())
        told.append(warning())
        fill(small_disk)
        wait_for(warning)
        worker.stopping.set()

    bench.attempt_until(worker, lambda: bench.document["checkpoint"], disturb)
    message, kept, cleared = told
    assert "no checkpoint after epoch" in message and "No space left on device" in message and kept
    assert cleared is None
    assert bench.document["state"] == State.NEW and bench.document["preemptions"] == 1
    good = bench.document["checkpoint"]
    (small_disk / "filler").unlink()
    bench.attempt(bench.worker(bench.away))
    assert bench.document["resume_epoch"] == good["epoch"] > 0
    bench.expect_unbroken(unbroken)


def test_a_worker_begins_no_trial_on_a_full_disk(
    make_bench: Callable[..., Any], small_disk: Path, unbroken: Rows
) -> None:
    bench = make_bench("file", small_disk / "results")
    worker = bench.worker(bench.home)
    filler = fill(small_disk)
    running = threading.Thread(target=worker.run)
    running.start()
    deadline = time.monotonic() + 30
    while not any("no trial is begun while the disk of" in text for text in bench.said) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    state = bench.document["state"]
    filler.unlink()
    while bench.document["state"] != State.DONE and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.store.update_search("toy", finished=True)
    running.join()
    assert state == State.NEW
    bench.expect_unbroken(unbroken)
