import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from search.mongod import embedded_server, find_mongod
from search.mongod.process import free_port
from search.store import Store, new_job_document


@pytest.fixture(scope="session")
def mongo_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("HMS_TEST_MONGOD")
    with embedded_server(tmp_path_factory.mktemp("store"), Path(given) if given else None) as uri:
        yield uri


@pytest.fixture
def database(mongo_uri: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex[:12]}"
    yield name
    with MongoClient(mongo_uri) as client:
        client.drop_database(name)


@pytest.fixture
def connect(mongo_uri: str, database: str) -> Iterator[Callable[..., Store]]:
    """Makes stores on the test's database; closes them at the end."""
    stores: list[Store] = []

    def make(**options: float) -> Store:
        stores.append(Store.connect(mongo_uri, database=database, **options))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(connect: Callable[..., Store]) -> Store:
    return connect()


@pytest.fixture
def fill() -> Callable[..., None]:
    """Inserts trials 0..count-1 of the search `s`."""

    def insert(store: Store, count: int = 1, name: str = "s", **fields: object) -> None:
        store.insert(
            new_job_document(name, tid, **{"params": {"lr": 0.1}, "seed": tid, **fields}) for tid in range(count)
        )

    return insert


@pytest.fixture(scope="session")
def failing_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that fails commands when it is told to (`fail_command`); not every build of `mongod` can."""
    folder, port = tmp_path_factory.mktemp("failing"), free_port()
    given = os.environ.get("HMS_TEST_MONGOD")
    words = ["--dbpath", str(folder), "--port", str(port), "--bind_ip", "127.0.0.1", "--replSet", "f", "--nounixsocket"]
    words += ["--setParameter", "enableTestCommands=1", "--setParameter", "diagnosticDataCollectionEnabled=false"]
    with subprocess.Popen(
        [str(find_mongod(Path(given) if given else None)), *words, "--wiredTigerCacheSizeGB", "0.25"],
        stdout=subprocess.DEVNULL,
    ) as server:
        try:
            with MongoClient[Any]("127.0.0.1", port, directConnection=True) as client:
                client.admin.command(
                    "replSetInitiate", {"_id": "f", "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]}
                )
                while not client.admin.command("hello")["isWritablePrimary"]:
                    time.sleep(0.02)
            yield f"mongodb://127.0.0.1:{port}/?directConnection=true"
        finally:
            server.kill()


@pytest.fixture
def fail_command(failing_uri: str) -> Callable[..., AbstractContextManager[None]]:
    """Makes commands fail in the server, by its fail point `failCommand`, while the context lasts."""

    @contextmanager
    def failing(*commands: str, **how: Any) -> Iterator[None]:
        point = {"configureFailPoint": "failCommand"}
        with MongoClient[Any](failing_uri) as client:
            client.admin.command({**point, "mode": "alwaysOn", "data": {"failCommands": list(commands), **how}})
            try:
                yield
            finally:
                client.admin.command({**point, "mode": "off"})

    return failing
