"""HyperOpt's side of the store: its algorithms propose points, and its `Trials` reads a search back.

`Domain` and the `rand`, `tpe` and `anneal` algorithms do the sampling; `fmin` and `MongoTrials` are not used.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Literal

from hyperopt import JOB_STATE_DONE, Trials, anneal, rand, tpe
from hyperopt.base import TRIAL_KEYS, Domain, trials_from_docs
from hyperopt.exceptions import AllTrialsFailed

from search.store.contract import Document, State
from search.store.documents import to_plain

Algorithm = Literal["rand", "tpe", "anneal"]
HISTORY = 1000
BEST = 25  # TPE calls at most so many trials good, however many it sees
_SUGGEST: dict[str, Callable[..., list[Document]]] = {
    "rand": rand.suggest,
    "tpe": tpe.suggest,
    "anneal": anneal.suggest,
}


def suggest(
    algorithm: Algorithm, expression: Any, *, tid: int, seed: int, finished_docs: Iterable[Document] = ()
) -> tuple[Document, list[int]]:
    """One point: HyperOpt's `misc` (`tid`, `idxs`, `vals`) in plain types, and the tids that the algorithm saw.

    A pure function: the same algorithm, expression, tid, seed and finished trials give the same point. `rand` sees no
    trials, the others at most `HISTORY` (see `remembered`). Documents that are not DONE are ignored; failed ones count
    as infinitely bad, as HyperOpt has it.
    """
    seen = remembered(doc for doc in finished_docs if doc["state"] == JOB_STATE_DONE) if algorithm != "rand" else []
    trials = trials_from_docs([_hyperopt_fields(doc) for doc in seen], validate=False)
    domain = Domain(None, expression)
    quiet = {"verbose": False} if algorithm == "tpe" else {}
    (proposal,) = _SUGGEST[algorithm]([tid], domain, trials, seed, **quiet)
    misc = proposal["misc"]
    plain = {"tid": tid, "cmd": None, "workdir": None, "idxs": misc["idxs"], "vals": misc["vals"]}
    return to_plain(plain, non_finite="refuse", name="misc"), [doc["tid"] for doc in seen]


def remembered(done: Iterable[Document]) -> list[Document]:
    """What an algorithm sees of the DONE trials, by tid: all, or beyond `HISTORY` the `BEST` best and the newest.

    HyperOpt's cost grows with the history: 2.6 s of CPU a proposal at 10,000 trials, 0.3 s at 1,000. The old ones that
    are left out are those that it forgets linearly. What is remembered of the remembered is all of it.
    """
    docs = sorted(done, key=lambda doc: doc["tid"])
    if len(docs) <= HISTORY:
        return docs
    good = sorted(docs, key=_loss)[:BEST]
    kept = {doc["tid"]: doc for doc in good}
    for doc in reversed(docs):
        if len(kept) == HISTORY:
            break
        kept[doc["tid"]] = doc
    return [kept[tid] for tid in sorted(kept)]


def _loss(doc: Document) -> float:
    loss = doc["result"].get("loss")
    return math.inf if loss is None else float(loss)


def as_hyperopt_trials(docs: Iterable[Document]) -> Trials:
    """A search as HyperOpt's own `Trials`, with the `exp_key` of its documents (of one search)."""
    ours = [_hyperopt_fields(doc) for doc in docs]
    keys = {doc["exp_key"] for doc in ours}
    if len(keys) > 1:
        raise ValueError(f"the documents belong to several searches: {sorted(keys)}")
    return trials_from_docs(ours, exp_key=keys.pop() if keys else None)


def best(docs: Iterable[Document]) -> Document | None:
    """The DONE trial of the lowest loss; None while there is none, or when all trials failed."""
    by_tid = {doc["tid"]: doc for doc in docs if doc["state"] == JOB_STATE_DONE}
    try:
        return by_tid[as_hyperopt_trials(by_tid.values()).best_trial["tid"]]
    except AllTrialsFailed:
        return None


class TrialsMirror:
    """A search's trials in memory, kept up to date from the documents that changed.

    mirror.update(store.jobs(name, newer_than=mirror.versions))
    """

    def __init__(self) -> None:
        self._docs: dict[int, Document] = {}
        self._versions: dict[int, int] = {}
        self._unsettled: set[int] = set()

    def __len__(self) -> int:
        return len(self._docs)

    @property
    def versions(self) -> Mapping[int, int]:
        """tid -> version of every trial held: what `Store.jobs` takes as `newer_than`."""
        return self._versions

    @property
    def unsettled(self) -> Set[int]:
        """The tids of the trials that wait or run."""
        return self._unsettled

    @property
    def docs(self) -> list[Document]:
        """All trials, sorted by tid."""
        return list(self._docs.values())

    @property
    def finished(self) -> list[Document]:
        """The DONE trials, sorted by tid."""
        return [doc for doc in self._docs.values() if doc["state"] == JOB_STATE_DONE]

    def get(self, tid: int) -> Document | None:
        """One trial; None when there is none of that tid."""
        return self._docs.get(tid)

    def count(self, state: State) -> int:
        """How many trials wait (NEW) or run (RUNNING)."""
        return sum(self._docs[tid]["state"] == state for tid in self._unsettled)

    def missing(self) -> int:
        """The lowest tid that no trial has: no hole stays after a driver died between choice and insert."""
        holes = (place for place, tid in enumerate(self._docs) if place != tid)
        return next(holes, len(self._docs))

    def keep(self, tids: Set[int]) -> None:
        """Forget the trials that are not among these: the store lost them when another of its servers took over."""
        for tid in self._docs.keys() - tids:
            del self._docs[tid], self._versions[tid]
            self._unsettled.discard(tid)

    def update(self, docs: Iterable[Document]) -> None:
        """Take in new or changed trials."""
        last, late = next(reversed(self._docs), -1), False
        for doc in docs:
            tid = doc["tid"]
            late = late or (tid < last and tid not in self._docs)
            self._docs[tid], self._versions[tid] = doc, doc["version"]
            waits_or_runs = doc["state"] in (State.NEW, State.RUNNING)
            (self._unsettled.add if waits_or_runs else self._unsettled.discard)(tid)
            last = max(last, tid)
        if late:
            self._docs = {tid: self._docs[tid] for tid in sorted(self._docs)}


def _hyperopt_fields(doc: Document) -> Document:
    return {key: doc[key] for key in (*TRIAL_KEYS, "version")}
