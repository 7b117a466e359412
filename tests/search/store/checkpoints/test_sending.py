"""Large files on their way to the store, and which of them stay."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.checkpoints import ARTIFACTS, SHOWN, WEIGHTS, fetch_artifacts
from search.export import export_weights
from search.paths import RunFolder
from search.store import State, Store, new_job_document

Rows = list[dict[str, Any]]
PARAMS = {"epochs": 40, "learning_rate": 0.1}


def test_a_large_file_that_is_being_sent_holds_up_no_heartbeat(
    make_bench: Callable[..., Any], store: Store, connect: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.attempt.PROGRESS_SECONDS", 0.05)
    store.lease_seconds = 0.4
    bench = make_bench("gridfs", lease_seconds=0.4, heartbeat_seconds=0.1)
    artifact = RunFolder.of(bench.home, "toy").trial(0) / "network.pt"
    artifact.parent.mkdir(parents=True)
    artifact.write_bytes(os.urandom(60 * 2**20))
    reaper, over = connect(lease_seconds=0.4), threading.Event()

    def reap() -> None:
        while not over.wait(0.05):
            reaper.reap("toy")

    reaping = threading.Thread(target=reap)
    reaping.start()
    bench.attempt(bench.worker(bench.home))
    over.set()
    reaping.join()
    assert bench.document["state"] == State.DONE and bench.document["attempt"] == 1
    assert {file.file: file.bytes for file in store.files("toy")}["network.pt"] == 60 * 2**20


def test_what_is_not_sent_in_the_grace_time_is_sent_by_the_next_attempt(
    make_bench: Callable[..., Any], unbroken: Rows
) -> None:
    bench = make_bench("gridfs", grace_seconds=0.05)
    artifact = RunFolder.of(bench.home, "toy").trial(0) / "network.pt"
    artifact.parent.mkdir(parents=True)
    artifact.write_bytes(os.urandom(60 * 2**20))
    worker, pieces = bench.worker(bench.home), bench.database["trial_files.chunks"]
    sending = {"files_id": {"$regex": "/network.pt$"}}
    bench.attempt_until(worker, lambda: pieces.find_one(sending, {"_id": True}), worker.stopping.set)
    assert bench.document["state"] == State.NEW and bench.document["preemptions"] == 1
    assert any("could not be kept: the grace time ended first" in text for text in bench.said)
    assert "network.pt" not in [file.file for file in bench.store.files("toy")]
    bench.attempt(bench.worker(bench.home))
    assert bench.document["resume_epoch"] == 40, "only the end of the trial was repeated"
    assert pieces.count_documents(sending) == 60
    bench.expect_unbroken(unbroken)


def test_weights_of_the_best_stay_and_another_machine_gets_them(bench: Any, tmp_path: Path) -> None:
    bench.store.insert(
        new_job_document("toy", tid, params={**PARAMS, "epochs": 5}, seed=tid * 7) for tid in range(1, 5)
    )
    home, out = RunFolder.of(bench.home, "toy"), RunFolder(tmp_path / "out")
    for tid in range(5):
        home.trial(tid).mkdir(parents=True)
        for name in ARTIFACTS:
            (home.trial(tid) / name).write_bytes(f"{name} {tid}".encode())
    bench.store.update_search("toy", finished=True)
    bench.worker(bench.home).run()
    losses = {document["tid"]: document["result"]["loss"] for document in bench.store.jobs("toy")}
    assert sorted(losses, key=lambda tid: losses[tid]) == [0, 4, 3, 2, 1]  # 40 epochs are best, then the higher seed
    assert len(list(home.root.glob("trials/*/network.pt"))) == 5

    bench.config = bench.config.model_copy(update={"search": bench.config.search.model_copy(update={"keep_best": 2})})
    bench.worker(bench.home).run()
    kept = export_weights(bench.store, "toy", RunFolder.of(bench.away, "toy"), out.root)
    assert [str(path.relative_to(out.root)) for path in kept] == [
        f"trials/00000{tid}/{name}" for tid in (0, 4) for name in WEIGHTS
    ]
    assert (out.trial(4) / "best.pt").read_bytes() == b"best.pt 4"
    for folder in (home, out):
        assert sorted(path.parent.name for path in folder.root.glob("trials/*/network.pt")) == ["000000", "000004"]

    assert fetch_artifacts(bench.store, "toy", RunFolder(bench.away / "toy"), SHOWN) == []
    for tid in range(5):
        assert (bench.away / "toy" / "trials" / f"00000{tid}" / "rdm.npz").read_bytes() == f"rdm.npz {tid}".encode()
