"""A server that refuses what a trial writes, for good: no outage, so the trial ends in ERROR and says why."""

from collections.abc import Callable
from typing import Any

import pytest

from search.attempt import Attempt
from search.store import Patience, State

BAD_VALUE = 2


@pytest.fixture(scope="module")
def mongo_uri(failing_uri: str) -> str:
    return failing_uri


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.attempt.Patience", lambda: Patience(first=0.05, longest=0.1))


def test_an_epoch_that_is_refused_each_time_ends_the_trial_with_the_servers_words(
    make_bench: Callable[..., Any], fail_command: Callable[..., Any]
) -> None:
    bench = make_bench("file")
    metrics = f"{bench.database.name}.metrics"
    with fail_command("update", namespace=metrics, errorCode=BAD_VALUE):
        bench.attempt(bench.worker(bench.home))
    assert bench.document["state"] == State.ERROR
    assert "reports an error: Failing command" in bench.document["error"]["message"]
    assert sum("messages wait for the store" in text for text in bench.said) == 1


def test_a_trial_that_cannot_even_fail_is_left_to_its_lease(
    make_bench: Callable[..., Any], fail_command: Callable[..., Any]
) -> None:
    bench = make_bench("file")
    worker = bench.worker(bench.home)
    job = bench.store.reserve("toy", worker.owner)
    with fail_command("update", errorCode=BAD_VALUE):
        Attempt(worker, job).run()
    assert bench.document["state"] == State.RUNNING
    assert any(text.startswith("trial 0: left to its lease: the MongoDB server") for text in bench.said)
