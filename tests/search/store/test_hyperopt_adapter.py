import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hyperopt import Trials, fmin, hp, rand
from hyperopt.base import JOB_STATE_DONE

from search.store import State, Store, new_job_document
from search.store.hyperopt_adapter import (
    BEST,
    HISTORY,
    Algorithm,
    TrialsMirror,
    as_hyperopt_trials,
    best,
    remembered,
    suggest,
)

SPACE = {
    "lr": hp.loguniform("lr", -8, -2),
    "layers": hp.choice("layers", [2, 3, {"deep": hp.randint("depth", 4, 9)}]),
    "channels": 8 + 8 * hp.uniformint("channels", 0, 10),
    "drop": hp.quniform("drop", 10, 100, 10),
}


def finished(count: int, name: str = "s") -> list[dict[str, Any]]:
    docs = []
    for tid in range(count):
        misc, _ = suggest("rand", SPACE, tid=tid, seed=100 + tid)
        doc = new_job_document(name, tid, params={}, seed=tid, misc=misc)
        docs.append(
            {**doc, "state": JOB_STATE_DONE, "result": {"status": "ok", "loss": abs(misc["vals"]["lr"][0] - 0.01)}}
        )
    return docs


@pytest.mark.parametrize("algorithm", ["rand", "tpe", "anneal"])
def test_suggestions_are_plain_and_repeatable(algorithm: Algorithm) -> None:
    history = finished(25)
    first = suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=history)
    assert first == suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=list(reversed(history)))
    misc, seen = first
    assert misc["tid"] == 30 and seen == ([] if algorithm == "rand" else list(range(25)))
    assert set(misc["vals"]) == {"lr", "layers", "depth", "channels", "drop"}
    values = [value for values in misc["vals"].values() for value in values]
    assert {type(value) for value in values} <= {int, float}
    assert all(index in ([], [30]) for index in misc["idxs"].values())
    assert suggest(algorithm, SPACE, tid=30, seed=8, finished_docs=history)[0] != misc


@pytest.mark.parametrize("algorithm", ["tpe", "anneal"])
def test_proposals_depend_on_what_finished_and_nothing_else(algorithm: Algorithm) -> None:
    history = finished(25)
    running = {**finished(26)[25], "state": 1, "result": {"status": "new"}}
    base = suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=history)
    assert suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=[*history, running]) == base
    better = [{**doc, "result": {"status": "ok", "loss": -doc["result"]["loss"]}} for doc in history]
    assert suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=better)[0] != base[0]


@pytest.mark.parametrize("algorithm", ["tpe", "anneal"])
def test_failed_trials_do_not_stop_the_algorithms(algorithm: Algorithm) -> None:
    failed = [{**doc, "result": {"status": "fail", "reason": "diverged"}} for doc in finished(25)]
    assert suggest(algorithm, SPACE, tid=30, seed=7, finished_docs=failed)[1] == list(range(25))


def long_history(count: int) -> list[dict[str, Any]]:
    few, rng = finished(50), np.random.default_rng(4)
    history = []
    for tid in range(count):
        doc = few[tid % 50]
        idxs = {label: [tid] if value else [] for label, value in doc["misc"]["idxs"].items()}
        result = {"status": "ok", "loss": rng.random()} if tid % 9 else {"status": "fail", "reason": "diverged"}
        history.append({**doc, "tid": tid, "misc": {**doc["misc"], "tid": tid, "idxs": idxs}, "result": result})
    return history


def test_up_to_the_bound_all_trials_are_remembered_beyond_it_the_best_and_the_newest() -> None:
    history = long_history(HISTORY + 400)
    assert remembered(reversed(history[:HISTORY])) == history[:HISTORY]
    kept = remembered(history)
    assert len(kept) == HISTORY and remembered(kept) == kept
    tids = [doc["tid"] for doc in kept]
    assert tids == sorted(tids)
    best_first = sorted((doc for doc in history if doc["result"]["status"] == "ok"), key=lambda d: d["result"]["loss"])
    assert {doc["tid"] for doc in best_first[:BEST]} <= set(tids)
    old = [tid for tid in tids if tid < tids[BEST]]
    assert len(old) <= BEST and tids[len(old) :] == list(range(tids[len(old)], HISTORY + 400))


@pytest.mark.parametrize("algorithm", ["tpe", "anneal"])
def test_a_proposal_after_five_thousand_trials_is_quick_and_made_from_what_it_says(algorithm: Algorithm) -> None:
    history = long_history(5000)
    began = time.perf_counter()
    misc, seen = suggest(algorithm, SPACE, tid=5000, seed=7, finished_docs=history)
    assert time.perf_counter() - began < 2.0 and len(seen) == HISTORY
    again = suggest(algorithm, SPACE, tid=5000, seed=7, finished_docs=[history[tid] for tid in seen])
    assert again == (misc, seen)


def test_rand_is_the_same_in_another_process() -> None:
    code = (
        "from hyperopt import hp; from search.store.hyperopt_adapter import suggest\n"
        "space = {'a': hp.uniform('a', 0, 1), 'b': hp.choice('b', [1, 2]), 'c': hp.lognormal('c', 0, 1)}\n"
        "print([suggest('rand', space, tid=t, seed=t + 5)[0]['vals'] for t in range(5)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_rand_equals_hyperopts_own_search() -> None:
    seed = int(np.random.default_rng(3).integers(2**31 - 1))
    trials = Trials()
    fmin(
        lambda point: point["lr"],
        SPACE,
        algo=rand.suggest,
        max_evals=1,
        trials=trials,
        rstate=np.random.default_rng(3),
        show_progressbar=False,
    )
    assert suggest("rand", SPACE, tid=0, seed=seed)[0]["vals"] == trials.miscs[0]["vals"]


def test_hyperopt_reads_a_search_back(store: Store) -> None:
    for tid in range(6):
        misc, seen = suggest("rand", SPACE, tid=tid, seed=tid)
        store.insert([new_job_document("s", tid, params={}, seed=tid, misc=misc, seen=seen)])
    results: list[Any] = [
        {"status": "ok", "loss": 0.5, "stopped": {"epoch": 40, "rule": "hms_stable"}},
        {"status": "ok", "loss": float("nan")},
        {"status": "ok", "loss": 0.25},
        {"status": "fail", "reason": "diverged"},
    ]
    for result in results:
        job = store.reserve("s", {"host": "h"})
        assert job is not None
        store.finish(job, result)
    failing = store.reserve("s", {"host": "h"})
    assert failing is not None
    store.fail(failing, "boom", "trace")
    trials = as_hyperopt_trials(store.jobs("s"))
    assert isinstance(trials, Trials) and trials._exp_key == "s"
    assert trials.tids == [0, 1, 2, 3, 5], "HyperOpt itself leaves out trials in ERROR"
    assert trials.losses() == [0.5, None, 0.25, None, None]
    assert trials.statuses() == ["ok", "fail", "ok", "fail", "new"]
    assert trials.best_trial["tid"] == 2 and set(trials.argmin) >= {"lr", "channels", "drop"}
    assert trials.average_best_error() == 0.25
    winner = best(store.jobs("s"))
    assert winner is not None and winner["tid"] == 2 and "token" in winner


def test_the_read_back_search_goes_on_in_hyperopts_own_fmin(store: Store) -> None:
    store.insert(finished(3))
    trials = as_hyperopt_trials(store.jobs("s"))
    fmin(lambda point: point["lr"], SPACE, algo=rand.suggest, max_evals=5, trials=trials, show_progressbar=False)
    assert len(trials.trials) == 5


def test_no_best_while_all_failed_or_none_finished(store: Store, fill: Callable[..., None]) -> None:
    assert best([]) is None
    fill(store, 2)
    assert best(store.jobs("s")) is None
    job = store.reserve("s", "w")
    assert job is not None
    store.finish(job, {"status": "ok", "loss": float("nan")})
    assert best(store.jobs("s")) is None


def test_documents_of_two_searches_do_not_mix() -> None:
    with pytest.raises(ValueError, match="several searches"):
        as_hyperopt_trials([*finished(1, "a"), *finished(1, "b")])


def test_the_mirror_replaces_changed_documents() -> None:
    mirror = TrialsMirror()
    first, second = finished(2)
    mirror.update([second, {**first, "state": 0}])
    assert [doc["tid"] for doc in mirror.docs] == [0, 1] and [doc["tid"] for doc in mirror.finished] == [1]
    mirror.update([{**first, "version": 4}])
    assert mirror.versions == {0: 4, 1: 0} and len(mirror.finished) == 2


def test_the_mirror_finds_the_lowest_hole_and_stays_sorted() -> None:
    mirror = TrialsMirror()
    assert mirror.missing() == 0
    docs = [new_job_document("s", tid, params={}, seed=0) for tid in range(6)]
    mirror.update([docs[5], docs[0], docs[2]])
    for hole in (1, 3, 4, 6):
        assert mirror.missing() == hole
        mirror.update(docs[hole : hole + 1])
        assert [doc["tid"] for doc in mirror.docs] == sorted(doc["tid"] for doc in mirror.docs)
    assert len(mirror) == 6 and mirror.unsettled == set(range(6))
    mirror.update([{**docs[3], "state": 1}, {**docs[4], "state": 4}])
    assert (mirror.count(State.NEW), mirror.count(State.RUNNING), mirror.unsettled) == (4, 1, {0, 1, 2, 3, 5})
