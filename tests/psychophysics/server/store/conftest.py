from collections.abc import Callable, Iterator

import pytest

from psychophysics.server.store.contract import AnswerStore, Newcomer
from psychophysics.server.store.mongo import MongoStore
from psychophysics.server.store.sqlite import SqliteStore

OpenStore = Callable[..., AnswerStore]


@pytest.fixture(params=["sqlite", "mongo"])
def open_store(request, tmp_path) -> Iterator[OpenStore]:
    """A function that opens the test's store, as often as wanted: each is another connection."""
    stores: list[AnswerStore] = []

    def open_one(sha256: str = "a" * 64) -> AnswerStore:
        if request.param == "sqlite":
            stores.append(SqliteStore(tmp_path / "answers.sqlite", sha256))
        else:
            stores.append(MongoStore.open(request.getfixturevalue("mongo_uri"), "study", sha256))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> AnswerStore:
    return open_store()


@pytest.fixture
def newcomer() -> Callable[..., Newcomer]:
    """A function: somebody by a name, with a withdrawal code and, if given, a recruiter's id."""

    def make(name: str, recruiter: str | None = None) -> Newcomer:
        return Newcomer(name, "2", (1440, 900), f"code of {name}", recruiter)

    return make
