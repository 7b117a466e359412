"""HyperOpt's side of the store: its algorithms propose points, and its `Trials` reads a search back.

`Domain` and the `rand`, `tpe` and `anneal` algorithms do the sampling; `fmin` and `MongoTrials` are not used.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from hyperopt import JOB_STATE_DONE, Trials, anneal, rand, tpe
from hyperopt.base import TRIAL_KEYS, Domain, trials_from_docs
from hyperopt.exceptions import AllTrialsFailed

from search.store.contract import Document
from search.store.documents import to_plain

Algorithm = Literal["rand", "tpe", "anneal"]
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
    trials. Documents that are not DONE are ignored; failed ones count as infinitely bad, as HyperOpt has it.
    """
    seen = [doc for doc in finished_docs if doc["state"] == JOB_STATE_DONE] if algorithm != "rand" else []
    seen.sort(key=lambda doc: doc["tid"])
    trials = trials_from_docs([_hyperopt_fields(doc) for doc in seen], validate=False)
    domain = Domain(None, expression)
    quiet = {"verbose": False} if algorithm == "tpe" else {}
    (proposal,) = _SUGGEST[algorithm]([tid], domain, trials, seed, **quiet)
    misc = proposal["misc"]
    plain = {"tid": tid, "cmd": None, "workdir": None, "idxs": misc["idxs"], "vals": misc["vals"]}
    return to_plain(plain, non_finite="refuse", name="misc"), [doc["tid"] for doc in seen]


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

    @property
    def versions(self) -> dict[int, int]:
        """tid -> version of every trial held: what `Store.jobs` takes as `newer_than`."""
        return {tid: doc["version"] for tid, doc in self._docs.items()}

    @property
    def docs(self) -> list[Document]:
        """All trials, sorted by tid."""
        return [self._docs[tid] for tid in sorted(self._docs)]

    @property
    def finished(self) -> list[Document]:
        """The DONE trials, sorted by tid."""
        return [doc for doc in self.docs if doc["state"] == JOB_STATE_DONE]

    def update(self, docs: Iterable[Document]) -> None:
        """Take in new or changed trials."""
        self._docs.update({doc["tid"]: doc for doc in docs})


def _hyperopt_fields(doc: Document) -> Document:
    return {key: doc[key] for key in (*TRIAL_KEYS, "version")}
