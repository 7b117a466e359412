"""A search of one toy trial, and what may happen to its files. Real workers and trial processes on a real store."""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from search.attempt import Attempt
from search.config import SearchConfig
from search.config_reader import parse_config
from search.order import TrialOrder
from search.paths import RunFolder
from search.slots import Slot
from search.store import State, Store, new_job_document
from search.toy_learner import ToyLearner
from search.trial import Trial
from search.worker import Worker

PARAMS = {"epochs": 40, "learning_rate": 0.1}
NUMBERS = ("epoch", "hms", "mse", "accuracy", "window_sd", "stable")


@dataclass
class Bench:
    """A search of one toy trial, and the folders of two machines."""

    store: Store
    config: SearchConfig
    home: Path
    away: Path
    said: list[str] = field(default_factory=list)

    @property
    def database(self) -> Any:
        return self.store._jobs.database

    @property
    def document(self) -> dict[str, Any]:
        found = self.store.job("toy", 0)
        assert found is not None
        return found

    def worker(self, results: Path) -> Worker:
        folder = RunFolder.of(results, "toy")
        return Worker(
            self.store, self.config, Slot("cpu", 1, 0), folder=folder, data_root=results, say=self.said.append
        )

    def attempt(self, worker: Worker) -> None:
        job = self.store.reserve("toy", worker.owner)
        assert job is not None
        Attempt(worker, job).run()

    def attempt_until(self, worker: Worker, condition: Callable[[], object], then: Callable[[], None]) -> None:
        """Run an attempt; once `condition` holds, do `then`, from another thread."""

        def watch() -> None:
            while not condition():
                time.sleep(0.01)
            then()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        self.attempt(worker)
        watcher.join(30)
        assert not watcher.is_alive(), "the condition did not come true while the trial ran"

    def interrupted(self) -> list[dict[str, Any]]:
        """The two checkpoints, newest first, of a trial that was given back at home after some epochs."""
        worker = self.worker(self.home)
        self.attempt_until(worker, lambda: (self.document["checkpoint"] or {}).get("previous"), worker.stopping.set)
        newest = self.document["checkpoint"]
        assert self.document["state"] == State.NEW
        return [newest, newest["previous"]]

    def path(self, info: dict[str, Any]) -> Path:
        return RunFolder.of(self.home, "toy").trial(0) / str(info["file"])

    def replace(self, info: dict[str, Any], data: bytes | None, *, honest: bool = False) -> None:
        """Put other bytes, or none, where the next worker will look for a checkpoint; `honest`: with their sha256."""
        if honest and data is not None:
            digest = hashlib.sha256(data).hexdigest()
            self.database["jobs"].update_one({}, {"$set": {"checkpoint.sha256": digest}})
            named = {"filename": info["file"]}
            self.database["trial_files.files"].update_one(named, {"$set": {"metadata.sha256": digest}})
        if self.config.search.checkpoints == "file":
            self.path(info).unlink() if data is None else self.path(info).write_bytes(data)
            return
        chunks = self.database["trial_files.chunks"]
        query = {"files_id": {"$regex": f"/{info['file']}$"}}
        assert chunks.count_documents(query) == 1
        chunks.delete_one(query) if data is None else chunks.update_one(query, {"$set": {"data": data}})

    def left(self, *roots: Path) -> list[str]:
        """Checkpoints that lie in these folders or in the store."""
        local = [str(path) for root in roots for path in root.rglob("*checkpoint-*")]
        return local + [file.file for file in self.store.files("toy") if file.file.startswith("checkpoint-")]

    def expect_unbroken(self, unbroken: list[dict[str, Any]]) -> None:
        document = self.document
        assert document["state"] == State.DONE, document["error"]
        assert document["result"]["epochs_trained"] == 40 and document["result"]["hms"] == unbroken[-1]["hms"]
        rows = self.store.epochs("toy", 0)
        assert [{key: row[key] for key in NUMBERS} for row in rows] == unbroken
        assert not self.left(self.away)
        # The other machine's disk is cleared when a worker starts there again.
        self.worker(self.home).files.sweep()
        assert not self.left(self.home, self.away)


@pytest.fixture
def make_bench(store: Store, tmp_path: Path) -> Callable[..., Bench]:
    """Makes the search with `search.checkpoints` as given, in `home` (default: a temporary folder)."""

    def make(kind: str, home: Path | None = None, toy_seconds: float = 0.01, **search: Any) -> Bench:
        config = parse_config(
            {
                "search": {"name": "toy", "checkpoints": kind, "grace_seconds": 10, **search},
                "space": {"learning_rate": {"uniform": [0.1, 1.0]}},
                "training": {"learner": "toy", "toy_seconds": toy_seconds, "device": "cpu"},
                "stopping": {"rule": "none"},
            },
            source="the test",
        )
        store.create_or_resume("toy", config=config.document(), hashes=config.hashes(), provenance={})
        store.insert([new_job_document("toy", 0, params=PARAMS, seed=3)])
        home = home or tmp_path / "home"
        return Bench(store, config, home, home if kind == "file" else tmp_path / "away")

    return make


@pytest.fixture(params=["file", "gridfs"])
def bench(request: pytest.FixtureRequest, make_bench: Callable[..., Bench]) -> Bench:
    """`file`: both machines share a folder. `gridfs`: each has its own."""
    return make_bench(request.param)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of the same trial, undisturbed."""
    config = parse_config(
        {
            "search": {"name": "toy"},
            "space": {"learning_rate": {"uniform": [0.1, 1.0]}},
            "training": {"learner": "toy", "toy_seconds": 0, "device": "cpu"},
            "stopping": {"rule": "none"},
        },
        source="the test",
    )
    folder = tmp_path_factory.mktemp("unbroken")
    order = TrialOrder("toy", 0, 3, PARAMS, config, folder, folder, "cpu", 1)
    rows: list[dict[str, Any]] = []
    Trial(order, ToyLearner(order), lambda kind, row: rows.append(row) if kind == "epoch" else None, bool).run()
    return [{key: row[key] for key in NUMBERS} for row in rows]
