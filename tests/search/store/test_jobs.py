import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.errors import DocumentRefused
from search.store import State, Store, new_job_document
from search.store.fencing import past
from search.store.hyperopt_adapter import TrialsMirror
from search.store.jobs import UNSETTLED

Fill = Callable[..., None]


def test_insert_is_idempotent(store: Store) -> None:
    docs = [new_job_document("s", tid, params={"lr": 0.1}, seed=tid) for tid in range(3)]
    assert store.insert(docs[:2]) == 2
    assert store.insert(docs) == 1
    assert store.insert([]) == 0
    assert store.counts("s") == {"NEW": 3, "RUNNING": 0, "DONE": 0, "ERROR": 0, "CANCEL": 0}
    assert store.job("s", 2) == docs[2] and store.job("s", 3) is None


def test_only_changed_trials_are_fetched(store: Store, fill: Fill) -> None:
    fill(store, 5)
    mirror = TrialsMirror()
    mirror.update(store.jobs("s", newer_than=mirror.versions))
    assert len(mirror.docs) == 5
    assert store.jobs("s", newer_than=mirror.versions) == []
    job = store.reserve("s", "w")
    assert job is not None
    store.finish(job, {"status": "ok", "loss": 1.0})
    store.insert([new_job_document("s", 9, params={}, seed=0)])
    changed = store.jobs("s", newer_than=mirror.versions)
    assert [doc["tid"] for doc in changed] == [0, 9]
    mirror.update(changed)
    assert [doc["tid"] for doc in mirror.finished] == [0] and len(mirror.docs) == 6


def test_a_short_look_sees_what_waits_or_runs_and_what_did(store: Store, fill: Fill) -> None:
    fill(store, 4, seen=[7, 8])
    mirror = TrialsMirror()

    def look(unsettled: Any = None) -> list[tuple[int, int]]:
        changed = store.jobs("s", newer_than=mirror.versions, unsettled=unsettled)
        mirror.update(changed)
        return [(doc["tid"], doc["state"]) for doc in changed]

    assert len(look()) == 4 and look(mirror.unsettled) == []
    for expected in (0, 1):
        job = store.reserve("s", "w")
        assert job is not None and job.tid == expected
        store.fail(job, "boom")
    assert store.cancel("s", 2) == [2]
    assert look(mirror.unsettled) == [(0, State.ERROR), (1, State.ERROR), (2, State.CANCEL)]
    assert mirror.unsettled == {3}
    assert store.retry("s", "failed") == [0, 1]
    assert look(mirror.unsettled) == [(0, State.NEW), (1, State.NEW)], "a person's retry is seen at once"
    store.insert([{**new_job_document("s", 9, params={}, seed=0), "state": int(State.DONE)}])
    assert look(mirror.unsettled) == [], "this is what the sweeps are for"
    assert look() == [(9, State.DONE)]
    assert all("seen" not in doc for doc in mirror.docs) and store.jobs("s")[0]["seen"] == [7, 8]


def test_a_short_look_reads_no_more_for_ten_thousand_trials(store: Store) -> None:
    docs = [new_job_document("s", tid, params={}, seed=0) for tid in range(10_000)]
    store.insert([{**doc, "state": int(State.DONE if doc["tid"] < 9_990 else State.NEW)} for doc in docs])
    query = {"exp_key": "s", "$or": [{"state": {"$in": UNSETTLED}}, {"tid": {"$in": list(range(9_990, 10_000))}}]}
    explained = store._jobs.database.command(
        "explain", {"find": "jobs", "filter": query, "projection": {"tid": 1, "version": 1}}, verbosity="executionStats"
    )
    assert explained["executionStats"]["totalDocsExamined"] <= 20


def test_a_pickle_or_an_import_path_in_a_document_is_only_data(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "touched"

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (target,))

    blob = pickle.dumps(Bomb())
    store.insert([new_job_document("s", 0, params={"objective": "os:system"}, seed=0)])
    poison = {"misc.cmd": ["domain_attachment", "FMinIter_Domain"], "misc.blob": blob, "params.call": "os.system"}
    store._jobs.update_one({"tid": 0}, {"$set": poison})
    job = store.reserve("s", "w")
    assert job is not None and job.params == {"objective": "os:system", "call": "os.system"}
    assert job.misc["blob"] == blob
    store.finish(job, {"status": "ok", "loss": 0.0})
    mirror = TrialsMirror()
    mirror.update(store.jobs("s"))
    assert not target.exists()
    pickle.loads(blob)
    assert target.exists(), "the blob was live"


def test_oversized_documents_are_refused_by_name(store: Store, fill: Fill) -> None:
    with pytest.raises(DocumentRefused, match=r"trial 3 has .* largest field is 'params'"):
        new_job_document("s", 3, params={"blob": "x" * 2**24}, seed=0)
    fill(store)
    job = store.reserve("s", "w")
    assert job is not None
    with pytest.raises(DocumentRefused, match=r"result has .* largest field is 'rdm'"):
        store.finish(job, {"status": "ok", "loss": 0.1, "rdm": "x" * 2**24})
    with pytest.raises(DocumentRefused, match="16 MB"):
        # Two that fit alone and not together: the server refuses, and the trial stays as it was.
        store.set_checkpoint(job, {"epoch": 5, "blob": "x" * (9 * 2**20)})
        store.set_checkpoint(job, {"epoch": 10, "blob": "x" * (9 * 2**20)})
    store.fail(job, "too large")
    stored = store.job("s", 0)
    assert stored is not None and stored["state"] == State.ERROR


def stages(plan: Any) -> set[str]:
    if isinstance(plan, list):
        return set().union(*map(stages, plan)) if plan else set()
    if not isinstance(plan, dict):
        return set()
    return ({plan["stage"]} if "stage" in plan else set()) | set().union(*map(stages, plan.values()))


@pytest.mark.parametrize(
    "query",
    [
        {"filter": {"exp_key": "s", "state": 0}, "sort": {"tid": 1}},
        {"filter": {"exp_key": "s", "tid": 3, "token": "t", "state": 1}},
        {"filter": {"exp_key": "s", "state": 1, **past("lease_until")}},
        {"filter": {"exp_key": "s"}, "sort": {"tid": 1}},
    ],
    ids=["reserve", "fenced write", "reap", "read"],
)
def test_indexes_serve_the_queries(store: Store, fill: Fill, query: dict[str, Any]) -> None:
    fill(store, 50)
    plan = store._jobs.database.command("explain", {"find": "jobs", **query}, verbosity="queryPlanner")
    used = stages(plan["queryPlanner"]["winningPlan"])
    assert "IXSCAN" in used and not used & {"COLLSCAN", "SORT"}


def test_five_thousand_finished_trials_stay_fast(store: Store) -> None:
    docs = [new_job_document("s", tid, params={"lr": 0.1}, seed=tid) for tid in range(5010)]
    for doc in docs[:5000]:
        doc |= {"state": int(State.DONE), "result": {"status": "ok", "loss": float(doc["tid"] % 97)}}
    store.insert(docs)
    mirror = TrialsMirror()
    mirror.update(store.jobs("s", newer_than=mirror.versions))
    began = time.perf_counter()
    for _ in range(10):
        assert store.reserve("s", "w") is not None
    assert (time.perf_counter() - began) / 10 < 0.05
    began = time.perf_counter()
    changed = store.jobs("s", newer_than=mirror.versions)
    assert time.perf_counter() - began < 1.0 and len(changed) == 10
