import threading
import time
from collections.abc import Callable

import pytest

from search.errors import StoreError, StoreFull, StoreRefused, StoreUnreachable
from search.mongod.process import free_port
from search.store import Patience, Store, waiting


def unreachable() -> None:
    Store.connect(f"mongodb://127.0.0.1:{free_port()}", timeout_seconds=0.1)


def test_calls_until_the_store_answers() -> None:
    answers = iter([StoreUnreachable("a"), StoreUnreachable("b"), None])
    waits: list[tuple[str, float]] = []

    def call() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "back"

    result = waiting(call, on_wait=lambda error, lost: waits.append((str(error), lost)), first=0.02, longest=0.03)
    assert result == "back" and [text for text, _ in waits] == ["a", "b"]
    assert waits[0][1] < waits[1][1]


def test_gives_up_after_the_time_allowed() -> None:
    began = time.monotonic()
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1"):
        waiting(unreachable, give_up=0.6, first=0.1)
    assert 0.6 <= time.monotonic() - began < 5


def test_a_stop_ends_the_wait() -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StoreUnreachable):
        waiting(unreachable, stop=stop, first=30.0)
    assert time.monotonic() - began < 10


def test_other_errors_pass_at_once(store: Store, mongo_uri: str, connect: Callable[..., Store]) -> None:
    calls: list[int] = []

    def refused() -> None:
        calls.append(1)
        Store.connect("mongodb://" + mongo_uri.partition("@")[2])

    with pytest.raises(StoreRefused):
        waiting(refused)
    assert calls == [1]


def test_an_outage_is_waited_for_without_end_and_longer_each_time() -> None:
    patience = Patience(tries=3, first=0.1, longest=0.4)
    outages: list[StoreError] = [StoreUnreachable("away"), StoreFull("full")]
    pauses = [patience.pause(outages[turn % 2]) for turn in range(50)]
    assert pauses[0] <= 0.1 < pauses[1] <= 0.2 < pauses[2] <= 0.4
    assert all(0.3 <= pause <= 0.4 for pause in pauses[2:])


def test_what_the_server_refuses_again_and_again_is_no_outage() -> None:
    patience, refused = Patience(tries=3, first=0.1), StoreError("BSONObj exceeds maximum nested object depth")
    for _ in range(2):
        patience.pause(refused)
        patience.pause(refused)
        patience.worked()
    patience.pause(refused)
    patience.pause(StoreUnreachable("away"))
    patience.pause(refused)
    with pytest.raises(StoreError, match="nested object depth"):
        patience.pause(refused)


def test_an_error_that_stays_is_said_once() -> None:
    patience = Patience()
    told = [patience.is_news(StoreFull(text)) for text in ("full", "full", "full", "fuller", "full")]
    assert told == [True, False, False, True, True]
    patience.worked()
    assert patience.is_news(StoreFull("full"))
