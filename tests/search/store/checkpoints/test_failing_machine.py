"""The operating system fails a worker: no memory to fork, too many open files, a stale file handle."""

import errno
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from search.errors import MachineFailed
from search.store import State
from search.worker import FAILURES

TOO_MANY = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
ENDED = EOFError("unexpected EOF")  # how a fork server that cannot fork shows itself


@pytest.fixture(params=[TOO_MANY, ENDED], ids=["too many files", "no fork"])
def fail_pipes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Iterable[int]], None]:
    """Makes a worker's pipes fail, by the number of the trial's attempt; the one of its fork server is there."""
    monkeypatch.setattr("search.worker.FAILURE_PAUSE", 0.01)

    def failing(worker: Any, attempts: Iterable[int]) -> None:
        pipe, opened = worker.processes.Pipe, iter(range(1000))

        def open_pipe(duplex: bool) -> Any:
            if next(opened) in attempts:
                raise request.param
            return pipe(duplex)

        monkeypatch.setattr(worker.processes, "Pipe", open_pipe)

    return failing


def test_a_worker_survives_errors_of_its_machine_and_the_trial_is_no_worse_for_them(
    make_bench: Callable[..., Any], fail_pipes: Callable[..., None]
) -> None:
    bench = make_bench("file")
    worker = bench.worker(bench.home)
    fail_pipes(worker, range(1, FAILURES))
    bench.store.update_search("toy", finished=True)
    assert worker.run() == 1
    document = bench.document
    assert (document["state"], document["attempt"], document["crashes"]) == (State.DONE, FAILURES, 0)
    reasons = [attempt["reason"] for attempt in document["history"][:-1]]
    assert len(reasons) == FAILURES - 1 and len(set(reasons)) == 1
    assert reasons[0].startswith("this machine failed the attempt: ") and reasons[0].endswith(("open files", "EOF"))
    assert sum("trial 0 is given back: this machine failed" in text for text in bench.said) == FAILURES - 1


def test_a_machine_that_fails_each_attempt_ends_its_worker_and_no_trial(
    make_bench: Callable[..., Any], fail_pipes: Callable[..., None]
) -> None:
    bench = make_bench("file")
    worker = bench.worker(bench.home)
    fail_pipes(worker, range(1, 1000))
    with pytest.raises(MachineFailed, match=r"5 attempts in a row, and .*(Too many open files|EOF)\. The trials were"):
        worker.run()
    assert (bench.document["state"], bench.document["attempt"]) == (State.NEW, FAILURES)
