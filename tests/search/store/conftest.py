import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pymongo import MongoClient

from search.mongod import embedded_server
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
