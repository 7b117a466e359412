"""The driver's cycle on a real store; whole searches are under `processes`."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from search import driver, run
from search.config import SearchConfig
from search.config_reader import parse_config
from search.driver import Driver, Outcome
from search.errors import DriverRunning
from search.run import open_search
from search.store import Document, State, Store

Make = Callable[..., Driver]


def toy(**search: Any) -> SearchConfig:
    document = {
        "search": {"name": "s", "max_trials": 4, **search},
        "space": {"learning_rate": {"uniform": [0.1, 1.0]}},
        "training": {"learner": "toy", "device": "cpu"},
    }
    return parse_config(document, source="test")


@pytest.fixture
def make(store: Store) -> Make:
    def made(**search: Any) -> Driver:
        return Driver(store, toy(**search), say=lambda text: None)

    return made


def test_a_driver_that_is_refused_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two `hms run` of one new name at the same moment: the second writes neither its budget nor its command."""
    create = Store.create

    def overtaken(self: Store, name: str, **given: Any) -> bool:
        monkeypatch.setattr(Store, "create", create)
        open_search(self, toy(max_trials=4), "hms run first")
        return create(self, name, **given)

    monkeypatch.setattr(Store, "create", overtaken)
    with pytest.raises(DriverRunning):
        open_search(store, toy(max_trials=99), "hms run second")
    search = store.search("s")
    assert (search["config"]["search"]["max_trials"], search["command"]) == (4, "hms run first")


def test_the_lock_is_held_while_data_are_prepared(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LOCK_SECONDS", 0.6)
    _, lock = open_search(store, toy(), "hms run first")

    def slow(*_: object) -> None:
        time.sleep(1.5)
        with pytest.raises(DriverRunning):
            store.acquire_driver("s", {"host": "elsewhere"}, 30)

    monkeypatch.setattr(run, "check_materials", slow)
    assert run.note_materials(store, toy(), lock) == []


def work(store: Store, loss: float = 0.5) -> int:
    job = store.reserve("s", "w")
    assert job is not None
    store.finish(job, {"status": "ok", "loss": loss, "hms": -loss})
    return job.tid


def states(store: Store) -> list[int]:
    return [job["state"] for job in store.jobs("s")]


def test_one_more_trial_waits_than_run_and_holes_are_filled_first(store: Store, make: Make) -> None:
    first = make(max_trials=10)
    first.observe()
    assert first.enqueue() is False and states(store) == [State.NEW]
    for expected in (3, 5):
        assert store.reserve("s", "w") is not None
        first.observe()
        first.enqueue()
        assert len(states(store)) == expected
    lost = store.job("s", 3)
    store._jobs.delete_one({"exp_key": "s", "tid": 3})
    second = make(max_trials=10)
    second.observe()
    second.enqueue()
    assert store.job("s", 3) == lost and len(states(store)) == 5


def test_a_cycle_proposes_one_trial_at_least_and_no_longer_than_its_time(
    store: Store, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "PROPOSE_SECONDS", 0.0)
    hurried = make(max_trials=10)
    assert hurried.enqueue() is False and len(states(store)) == 1
    assert store.reserve("s", "w") is not None
    hurried.observe()
    assert hurried.enqueue() is True and len(states(store)) == 2
    assert hurried.enqueue() is False and len(states(store)) == 3


def test_what_another_driver_inserted_late_is_kept(store: Store, make: Make) -> None:
    ours, gone = make(algorithm="tpe"), make(algorithm="tpe", seed=77)
    ours.observe()
    gone.observe()
    gone.enqueue()
    ours.enqueue()
    stored = store.job("s", 0)
    mirrored = ours.mirror.get(0)
    assert stored is not None and mirrored is not None and len(states(store)) == 1
    assert mirrored["params"] == stored["params"] != make(seed=78)._propose(0)["params"]


def test_a_trial_that_a_fail_over_took_back_is_proposed_again(store: Store, make: Make) -> None:
    driving = make(max_trials=3)
    driving.observe()
    driving.enqueue()
    assert store.reserve("s", "w") is not None
    driving.observe()
    driving.enqueue()
    lost = store.job("s", 1)
    store._jobs.delete_one({"exp_key": "s", "tid": 1})
    driving.observe()
    assert len(driving.mirror) == 3, "a short look asks for what is new only"
    driving.observe(sweep=True)
    assert [doc["tid"] for doc in driving.mirror.docs] == [0, 2] and driving.mirror.unsettled == {0, 2}
    driving.enqueue()
    assert store.job("s", 1) == lost


def test_replicates_share_a_point_and_what_it_was_made_from(store: Store, make: Make) -> None:
    twin = make(algorithm="tpe", replicates=2, max_trials=50)
    for _ in range(26):
        twin.observe()
        twin.enqueue()
        work(store)
    trials = store.jobs("s")
    assert trials[24]["seen"] == list(range(24)) == trials[25]["seen"]
    assert trials[24]["params"] == trials[25]["params"] and trials[24]["seed"] != trials[25]["seed"]
    assert trials[25]["misc"]["idxs"] == {"learning_rate": [25]}


def test_the_search_is_finished_after_a_look_at_every_trial(store: Store, make: Make) -> None:
    _, lock = open_search(store, toy(), "test")
    retried: list[int] = []

    def each_cycle(documents: list[Document]) -> None:
        """The worker; and a person who retries the first trial just before the last one ends."""
        job = store.reserve("s", "w")
        if job is None:
            return
        if job.tid == 0 and not retried:
            store.fail(job, "boom")
            return
        if job.tid == 3:
            retried.extend(store.retry("s", "failed"))
        store.finish(job, {"status": "ok", "loss": 0.5})

    outcome = make().run(lock, threading.Event(), each_cycle)
    assert retried == [0] and outcome == Outcome(store.counts("s"), worked=True, interrupted=False)
    assert states(store) == [State.DONE] * 4 and store.search("s")["finished"] is True


def test_the_hms_of_finished_trials(store: Store, make: Make) -> None:
    assert store.finished_values("s", "hms") == []
    proposing = make()
    for loss in (0.5, float("nan"), 0.25):
        proposing.observe()
        proposing.enqueue()
        work(store, loss)
    assert store.finished_values("s", "hms") == [-0.5, -0.25]
