"""The driver: sample, enqueue, reap, finish. It resumes by itself, and only one runs for a search at a time.

With `rand` a proposal depends on the study's seed and the trial's number alone, so a restarted driver proposes what an
uninterrupted one would have. `tpe` and `anneal` also depend on the trials finished at that moment; their numbers are
stored with each proposal (`seen`), so that it can be recomputed.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from search.config import SearchConfig
from search.errors import DriverRunning, StoreUnreachable
from search.process_identity import ProcessIdentity
from search.provenance import suggest_seed, trial_seed
from search.space import concrete, expression
from search.store import Document, State, Store, new_job_document
from search.store.hyperopt_adapter import TrialsMirror, suggest

CYCLE_SECONDS = 0.1
LOCK_SECONDS = 30.0
REAP_SECONDS = 5.0
FINAL_STATES = (State.DONE, State.ERROR, State.CANCEL)


@dataclass(frozen=True)
class Outcome:
    """How a driver left a search: trials by state, how many it enqueued, and whether it was asked to stop."""

    counts: dict[str, int]
    enqueued: int
    interrupted: bool

    @property
    def failed(self) -> int:
        """Trials in ERROR."""
        return self.counts.get("ERROR", 0)


class Driver:
    """Drives one search to its budget of trials."""

    def __init__(
        self,
        store: Store,
        config: SearchConfig,
        *,
        say: Callable[[str], None] = print,
        on_outage: Callable[[], object] = lambda: None,
    ) -> None:
        self.store, self.config, self.say, self.on_outage = store, config, say, on_outage
        self.name = config.search.name
        self.expression = expression(config.space)
        self.mirror = TrialsMirror()
        self.enqueued = 0

    def run(self, stop: threading.Event, each_cycle: Callable[[list[Document]], None]) -> Outcome:
        """Until every trial of the budget is final, or `stop` is set.

        `each_cycle` gets the trials, by tid; it restarts workers, draws progress, and may raise to end the run.

        Raises:
            DriverRunning: another driver holds the lock, or took it over.
        """
        lock = self.store.acquire_driver(self.name, ProcessIdentity.current().to_dict(), LOCK_SECONDS)
        renewed = reaped = time.monotonic()
        try:
            self.store.update_search(self.name, finished=False)
            while not stop.is_set():
                try:
                    if time.monotonic() - renewed > LOCK_SECONDS / 3:
                        if not self.store.renew_driver(self.name, lock, LOCK_SECONDS):
                            raise DriverRunning(f"another driver took over `{self.name}`; this one stops")
                        renewed = time.monotonic()
                    if time.monotonic() - reaped > REAP_SECONDS:
                        self.store.reap(self.name)
                        reaped = time.monotonic()
                    self.mirror.update(self.store.jobs(self.name, newer_than=self.mirror.versions))
                    if self._finished():
                        self.store.update_search(self.name, finished=True)
                        break
                    self._enqueue()
                    each_cycle(self.mirror.docs)
                except StoreUnreachable as error:
                    self.say(f"waiting for the store: {error}")
                    self.on_outage()
                    stop.wait(1.0)
                    renewed = time.monotonic() - LOCK_SECONDS
                    continue
                stop.wait(CYCLE_SECONDS)
            return Outcome(self.store.counts(self.name), self.enqueued, interrupted=stop.is_set())
        finally:
            try:
                self.store.release_driver(self.name, lock)
            except StoreUnreachable:
                self.say("the store is away: the driver's lock will expire by itself")

    def _finished(self) -> bool:
        docs = self.mirror.docs
        return len(docs) >= self.config.search.max_trials and all(doc["state"] in FINAL_STATES for doc in docs)

    def _enqueue(self) -> None:
        """Keep one more trial waiting than are running, within the budget; holes are filled first."""
        docs = self.mirror.docs
        running = sum(doc["state"] == State.RUNNING for doc in docs)
        waiting = sum(doc["state"] == State.NEW for doc in docs)
        wanted = min(running + 1 - waiting, self.config.search.max_trials - len(docs))
        if wanted <= 0:
            return
        known = {doc["tid"]: doc for doc in docs}
        for tid in self.store.missing_tids(self.name, wanted):
            document = self._propose(tid, known)
            self.enqueued += self.store.insert([document])
            known[tid] = document
        self.mirror.update(known.values())

    def _propose(self, tid: int, known: dict[int, Document]) -> Document:
        """The document of a new trial: the replicates of one point share its values, each has its own seed."""
        search = self.config.search
        point, replicate = divmod(tid, search.replicates)
        first = known.get(point * search.replicates)
        if replicate and first is not None:
            misc, seen = first["misc"], first["seen"]
            misc = {**misc, "tid": tid, "idxs": {key: [tid] if value else [] for key, value in misc["idxs"].items()}}
        else:
            seed, finished = suggest_seed(search.seed, point), self.mirror.finished
            misc, seen = suggest(search.algorithm, self.expression, tid=tid, seed=seed, finished_docs=finished)
        return new_job_document(
            self.name,
            tid,
            misc=misc,
            params=concrete(self.config.space, misc["vals"]),
            seed=trial_seed(search.seed, tid),
            point=point,
            replicate=replicate,
            seen=seen,
            requires=self.config.requires(),
        )
