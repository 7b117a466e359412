"""What a finished trial leaves is that of the attempt whose result the store took, whoever else writes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.checkpoints import SHOWN, WEIGHTS, fetch_artifacts
from search.errors import LeaseLost
from search.export import export_weights
from search.paths import RunFolder
from search.store import Job, State

RESULT = {"status": "ok", "loss": 0.5}


def reserved(bench: Any) -> Job:
    job = bench.store.reserve("toy", "w")
    assert isinstance(job, Job)
    return job


def write_artifacts(bench: Any, job: Job, home: Path | None = None) -> None:
    """As the process of an attempt writes them: each names the attempt."""
    folder = RunFolder.of(home or bench.home, "toy").attempt(job.tid, job.token)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*WEIGHTS, *SHOWN):
        (folder / name).write_text(f"{name} of attempt {job.attempt}")


def shown(folder: RunFolder) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.trial(0).iterdir() if path.is_file()}


def of_attempt(number: int, *names: str) -> dict[str, str]:
    return {name: f"{name} of attempt {number}" for name in names}


def test_an_attempt_that_lost_its_lease_overwrites_nothing(bench: Any) -> None:
    folder, files = RunFolder.of(bench.home, "toy"), bench.worker(bench.home).files
    stale = reserved(bench)
    write_artifacts(bench, stale)
    assert bench.store.release("toy", "w") == [0]
    holder = reserved(bench)
    write_artifacts(bench, holder)
    files.put(holder, WEIGHTS, lambda: False)
    write_artifacts(bench, stale)
    bench.store.finish(holder, RESULT)
    files.conclude(0)
    write_artifacts(bench, stale)
    with pytest.raises(LeaseLost):
        bench.store.finish(stale, RESULT)
    bench.worker(bench.home).files.sweep()
    assert shown(folder) == of_attempt(2, *WEIGHTS, *SHOWN) and not folder.attempts()
    kept = export_weights(bench.store, "toy", RunFolder.of(bench.away, "toy"), bench.home / "out")
    assert [path.read_text() for path in kept] == list(of_attempt(2, *WEIGHTS).values())


def test_before_the_store_took_the_result_nothing_is_shown(bench: Any) -> None:
    folder, files = RunFolder.of(bench.home, "toy"), bench.worker(bench.home).files
    job = reserved(bench)
    write_artifacts(bench, job)
    files.sweep()
    fetch_artifacts(bench.store, "toy", folder, SHOWN)
    assert not shown(folder) and len(folder.attempts()) == 1


@pytest.mark.parametrize("who", ["worker", "export", "weights"])
def test_where_a_worker_died_after_the_result_the_next_one_or_an_export_shows_the_files(
    make_bench: Callable[..., Any], who: str
) -> None:
    bench = make_bench("file")
    folder = RunFolder.of(bench.home, "toy")
    job = reserved(bench)
    write_artifacts(bench, job)
    bench.store.finish(job, RESULT)
    if who == "worker":
        bench.worker(bench.home).files.sweep()
    elif who == "export":
        assert fetch_artifacts(bench.store, "toy", folder, SHOWN) == []
    else:
        assert len(export_weights(bench.store, "toy", folder, bench.home / "out")) == len(WEIGHTS)
    assert shown(folder) == of_attempt(1, *WEIGHTS, *SHOWN) and not folder.attempts()


def test_what_cannot_be_moved_now_stays_for_later(make_bench: Callable[..., Any]) -> None:
    bench = make_bench("file")
    folder, files = RunFolder.of(bench.home, "toy"), bench.worker(bench.home).files
    job = reserved(bench)
    write_artifacts(bench, job)
    in_the_way = folder.trial(0) / "best.pt"
    (in_the_way / "full").mkdir(parents=True)  # a folder that is not empty is replaced by no file
    bench.store.finish(job, RESULT)
    files.conclude(0)
    assert (folder.attempts()[0] / "best.pt").read_text() == "best.pt of attempt 1"
    os.removedirs(in_the_way / "full")
    files.sweep()
    assert shown(folder) == of_attempt(1, *WEIGHTS, *SHOWN) and not folder.attempts()


def test_a_whole_attempt_moves_what_its_process_left(bench: Any) -> None:
    worker, folder = bench.worker(bench.home), RunFolder.of(bench.home, "toy")

    def leave_files() -> None:
        document = bench.document
        write_artifacts(bench, Job.from_document({**document, "exp_key": "toy"}))

    bench.attempt_until(worker, lambda: bench.document["checkpoint"], leave_files)
    assert bench.document["state"] == State.DONE
    assert of_attempt(1, *WEIGHTS, *SHOWN).items() <= shown(folder).items() and not folder.attempts()
    away = RunFolder.of(bench.away, "toy")
    assert fetch_artifacts(bench.store, "toy", away, SHOWN) == []
    assert of_attempt(1, *SHOWN).items() <= shown(away).items()


def test_the_files_of_a_cancelled_trial_go(bench: Any) -> None:
    folder = RunFolder.of(bench.home, "toy")
    write_artifacts(bench, reserved(bench))
    bench.store.cancel("toy")
    bench.worker(bench.home).files.sweep()
    assert not folder.attempts()
