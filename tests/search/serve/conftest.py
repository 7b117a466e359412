"""A real store on a real `mongod`, and the page's server in a thread of the test."""

import http.client
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from search.config_reader import parse_config
from search.mongod import embedded_server
from search.paths import RunFolder
from search.process_identity import ProcessIdentity
from search.serve.follower import Follower
from search.serve.guard import Guard
from search.serve.report_copy import ReportCopy, Source
from search.serve.server import LiveServer
from search.serve.site import Site
from search.store import Job, Store, new_job_document

OWNER = {**ProcessIdentity.current().to_dict(), "device": "cpu", "slot": 0}
CONFIG = {
    "search": {"name": "s", "max_trials": 6},
    "space": {
        "learning_rate": {"log_uniform": [1e-4, 1e-2]},
        "epochs": {"choice": [20, 40]},
        "loss": {"choice": ["L0", "Lall"]},
    },
    "training": {"learner": "toy", "device": "cpu"},
    "metrics": {"every": 5},
}


@pytest.fixture(scope="session")
def mongo_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("HMS_TEST_MONGOD")
    with embedded_server(tmp_path_factory.mktemp("store"), Path(given) if given else None) as uri:
        yield uri


@pytest.fixture
def store(mongo_uri: str) -> Iterator[Store]:
    with Store.connect(mongo_uri) as store:
        yield store
    with MongoClient[Any](mongo_uri) as client:
        client.drop_database("hms")


def evaluated(store: Store, job: Job, epochs: int, *, offset: float = 0.0) -> dict[str, Any]:
    """Record an evaluation each 5 epochs; the last one."""
    row: dict[str, Any] = {}
    for epoch in range(0, epochs + 1, 5):
        row = {"hms": offset + epoch / 100, "mse": 0.02 / (1 + epoch), "accuracy": None}
        row |= {"hms_status": "ok", "mse_status": "ok", "accuracy_status": "undefined"}
        store.record(job, epoch, row)
    return row


@pytest.fixture
def search(store: Store) -> Store:
    """Six trials: 0 stopped early, 1 trained to its end, 2 failed, 3 runs, 4 and 5 wait."""
    config = parse_config(CONFIG, source="this test")
    store.create_or_resume("s", config=config.document(), hashes=config.hashes(), provenance={})
    store.update_search("s", command="hms run x.yaml --name s")
    rates = (0.001, 0.0025, 0.004, 0.0055, 0.007, 0.0085)
    store.insert(
        new_job_document(
            "s", tid, params={"learning_rate": rate, "epochs": 40, "loss": ("L0", "Lall")[tid % 2]}, seed=tid
        )
        for tid, rate in enumerate(rates)
    )
    for tid, finish in enumerate(("hms_stable", "max_epochs", None, "runs")):
        job = store.reserve("s", OWNER)
        assert job is not None and job.tid == tid
        if finish is None:
            store.fail(job, "ValueError: <b>no</b> such layer", "Traceback ...\nValueError: no such layer")
        elif finish == "runs":
            row = evaluated(store, job, 10)
            store.heartbeat(job, {**row, "epoch": 12, "epochs": 40, "evaluated": 10})
        else:
            trained = 30 if finish == "hms_stable" else 40
            result = {**evaluated(store, job, trained, offset=0.1 * tid), "finish": finish, "epochs_trained": trained}
            stopped = {"epoch": 30, "rule": "stability"} if finish == "hms_stable" else None
            result |= {
                "epochs_planned": 40,
                "stopped": stopped,
                "status": "ok",
                "loss": -0.5,
                "seconds": {"training": 9.0},
            }
            store.finish(job, result)
    return store


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Page:
    """A running server, asked by plain HTTP."""

    server: LiveServer

    def get(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.server.address, self.server.port, timeout=60)
        try:
            named = {key.replace("_", "-"): value for key, value in headers.items()}
            connection.request(method, path, headers=named)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


Serve = Callable[..., Any]


@pytest.fixture
def serve(mongo_uri: str, tmp_path: Path) -> Serve:
    """A context: the page of a search of a store, on a free port."""

    @contextmanager
    def serving(store: Store, name: str = "s", host: str = "127.0.0.1", *, token: bool = False) -> Iterator[Page]:
        folder = RunFolder.of(tmp_path / "results", name)
        report = ReportCopy(Source(mongo_uri, name, folder))
        with LiveServer(host, 0) as server:
            server.guard = Guard(host, server.address, server.port, token=token)
            server.site = Site(store, name, folder, Follower(store, name), report)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield Page(server)
            finally:
                server.shutdown()
                thread.join()
                report.close()

    return serving
