"""Writes that the server makes and does not confirm, as in a fail-over: a real `mongod` that is told to say so."""

from collections.abc import Callable
from typing import Any

import pytest

from search.errors import StoreError, StoreUnreachable
from search.store import Store, new_job_document

TIMED_OUT, STEPPED_DOWN, UNSATISFIABLE = 64, 189, 100


@pytest.fixture(scope="module")
def mongo_uri(failing_uri: str) -> str:
    return failing_uri


@pytest.mark.parametrize("code", [TIMED_OUT, STEPPED_DOWN])
def test_an_insert_that_is_not_confirmed_is_no_success_and_may_be_repeated(
    store: Store, fail_command: Callable[..., Any], code: int
) -> None:
    trials = [new_job_document("s", tid, params={}, seed=tid) for tid in range(2)]
    unconfirmed = {"code": code, "errmsg": "waiting for replication timed out"}
    with (
        fail_command("insert", writeConcernError=unconfirmed),
        pytest.raises(StoreUnreachable, match="did not confirm a write: waiting for replication timed out"),
    ):
        store.insert(trials)
    assert store.insert(trials) == 0 and len(store.jobs("s")) == 2


def test_neither_is_another_write(store: Store, fill: Callable[..., None], fail_command: Callable[..., Any]) -> None:
    fill(store)
    job = store.reserve("s", "w")
    assert job is not None
    unconfirmed = {"code": TIMED_OUT, "errmsg": "waiting for replication timed out"}
    with fail_command("update", writeConcernError=unconfirmed), pytest.raises(StoreUnreachable):
        store.finish(job, {"status": "ok", "loss": 0.5})
    store.finish(job, {"status": "ok", "loss": 0.5})


def test_more_servers_than_there_are_is_no_outage(store: Store, fail_command: Callable[..., Any]) -> None:
    impossible = {"code": UNSATISFIABLE, "errmsg": "Not enough data-bearing nodes"}
    with fail_command("insert", writeConcernError=impossible), pytest.raises(StoreError) as raised:
        store.insert([new_job_document("s", 0, params={}, seed=0)])
    assert type(raised.value) is StoreError
