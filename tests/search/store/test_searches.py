from typing import Any

import pytest

from search.errors import SearchChanged, UnknownSearch, UsageError
from search.store import Store, new_job_document

CONFIG = {"space": {"lr": [1e-4, 1e-1]}, "training": {"epochs": 60, "a.b": "$x"}, "search": {"max_trials": 8}}
HASHES = {"space": "s1", "training": "t1"}


def make(store: Store, name: str = "a", **changes: Any) -> tuple[dict[str, Any], bool]:
    arguments: dict[str, Any] = {"config": CONFIG, "hashes": HASHES, "provenance": {"git": "abc"}, **changes}
    return store.create_or_resume(name, **arguments)


def test_created_once_then_resumed_with_the_new_budget(store: Store) -> None:
    search, created = make(store)
    assert created and search["config"] == CONFIG and search["created"].tzinfo is not None
    larger = {**CONFIG, "search": {"max_trials": 20}}
    again, created = make(store, config=larger, provenance={"git": "def"})
    assert not created and again["config"] == larger and again["created"] == search["created"]
    assert again["provenance"] == {"git": "abc"}
    assert [entry["provenance"] for entry in again["resumed"]] == [{"git": "def"}]
    assert store.names() == ["a"]


def test_changed_training_is_refused_with_the_difference(store: Store) -> None:
    make(store)
    changed = {**CONFIG, "training": {"epochs": 90, "loss": "Lall"}}
    with pytest.raises(SearchChanged) as caught:
        make(store, config=changed, hashes={"space": "s1", "training": "t2"}, force_space=True)
    message = str(caught.value)
    assert "  training.epochs: 60 -> 90" in message and "  training.loss: (absent) -> 'Lall'" in message
    assert "  training.a.b: '$x' -> (absent)" in message
    assert "--name NEW" in message and "--force-space" not in message and "space.lr" not in message
    assert store.search("a")["config"] == CONFIG


def test_a_changed_space_needs_force_and_leaves_a_trace(store: Store) -> None:
    make(store)
    wider = {**CONFIG, "space": {"lr": [1e-5, 1.0]}}
    hashes = {"space": "s2", "training": "t1"}
    with pytest.raises(SearchChanged, match=r"space\.lr: \[0\.0001, 0\.1\] -> \[1e-05, 1\.0\]\n.*--force-space"):
        make(store, config=wider, hashes=hashes)
    search, created = make(store, config=wider, hashes=hashes, force_space=True)
    assert not created and search["hashes"] == hashes
    assert search["resumed"][0]["replaced"] == {"config": CONFIG, "hashes": HASHES}
    assert make(store, config=wider, hashes=hashes)[1] is False


def test_unknown_names_are_answered_with_the_known_ones(store: Store) -> None:
    with pytest.raises(UnknownSearch, match="hms run CONFIG"):
        store.search("x")
    make(store, "one")
    make(store, "two")
    with pytest.raises(UnknownSearch, match="it holds: one, two"):
        store.update_search("x", finished=True)


def test_fields_are_set_and_protected_ones_are_not(store: Store) -> None:
    make(store)
    store.update_search("a", finished=True, warnings=["$mixed", None])
    search = store.search("a")
    assert search["finished"] is True and search["warnings"] == ["$mixed", None]
    with pytest.raises(UsageError, match="driver, hashes"):
        store.update_search("a", hashes={}, driver=None)


def test_two_names_in_one_database_do_not_meet(store: Store) -> None:
    make(store, "one")
    make(store, "two")
    for name in ("one", "two"):
        store.insert(new_job_document(name, tid, params={}, seed=0) for tid in range(2))
    first = store.reserve("one", "w")
    assert first is not None
    store.record(first, 5, {"hms": 0.1})
    assert store.counts("two")["NEW"] == 2 and store.epochs("two") == []
    assert store.cancel("two") == [0, 1] and store.counts("one")["RUNNING"] == 1
    assert [job["exp_key"] for job in store.jobs("one")] == ["one", "one"]
    store.acquire_driver("one", {"host": "h", "pid": 1}, 60)
    store.acquire_driver("two", {"host": "h", "pid": 1}, 60)
