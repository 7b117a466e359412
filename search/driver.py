"""The driver: sample, enqueue, reap, finish. It resumes by itself, and only one runs for a search at a time.

With `rand` a proposal depends on the study's seed and the trial's number alone, so a restarted driver proposes what an
uninterrupted one would have. `tpe` and `anneal` also depend on the trials finished at that moment; their numbers are
stored with each proposal (`seen`), so that it can be recomputed.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from search.config import SearchConfig
from search.errors import DriverRunning, StoreError, StoreRefused
from search.provenance import suggest_seed, trial_seed
from search.space import concrete, expression
from search.store import Document, State, Store, new_job_document
from search.store.driver_lock import LOCK_SECONDS
from search.store.hyperopt_adapter import TrialsMirror, suggest

CYCLE_SECONDS = 0.1
LOOK_SECONDS = 1.0
FINAL_STATES = (State.DONE, State.ERROR, State.CANCEL)


@dataclass(frozen=True)
class Outcome:
    """How a driver left a search: trials by state, whether there was anything to do, whether it was asked to stop."""

    counts: dict[str, int]
    worked: bool
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
        self.cancelled = False
        self.renewed = self.looked = -LOCK_SECONDS

    def run(self, lock: str, stop: threading.Event, each_cycle: Callable[[list[Document]], None]) -> Outcome:
        """Until every trial of the budget is final, or `stop` is set. `lock` is the driver lock, released at the end.

        `each_cycle` gets the trials, by tid; it restarts workers, draws progress, and may raise to end the run.

        Raises:
            DriverRunning: another driver took the lock over.
        """
        worked = False
        try:
            self._renew(lock)
            self.store.update_search(self.name, finished=False, cancelled=False)
            while not stop.is_set():
                try:
                    self._look_after(lock)
                    self.mirror.update(self.store.jobs(self.name, newer_than=self.mirror.versions))
                    if self._finished():
                        self.store.update_search(self.name, finished=True)
                        break
                    worked = True
                    self._enqueue()
                    each_cycle(self.mirror.docs)
                except StoreRefused:
                    raise
                except StoreError as error:
                    self.say(f"waiting for the store: {error}")
                    self.on_outage()
                    self.renewed = -LOCK_SECONDS
                    stop.wait(1.0)
                    continue
                stop.wait(CYCLE_SECONDS)
            return Outcome(self.store.counts(self.name), worked, interrupted=stop.is_set())
        finally:
            with contextlib.suppress(StoreError):  # away, the store lets the lock expire
                self.store.release_driver(self.name, lock)

    def _look_after(self, lock: str) -> None:
        """Renew the lock, reap expired leases, and notice that a person cancelled the search; each now and then."""
        now = time.monotonic()
        if now - self.renewed > LOCK_SECONDS / 3:
            self._renew(lock)
        if now - self.looked > LOOK_SECONDS:
            self.store.reap(self.name)
            self.cancelled = bool(self.store.search(self.name).get("cancelled"))
            if self.cancelled:
                self.store.cancel(self.name)  # what was proposed since a person asked
            self.looked = now

    def _renew(self, lock: str) -> None:
        if not self.store.renew_driver(self.name, lock, LOCK_SECONDS):
            raise DriverRunning(f"another driver took over `{self.name}`; this one stops")
        self.renewed = time.monotonic()

    def _finished(self) -> bool:
        docs = self.mirror.docs
        complete = self.cancelled or len(docs) >= self.config.search.max_trials
        return complete and all(doc["state"] in FINAL_STATES for doc in docs)

    def _enqueue(self) -> None:
        """Keep one more trial waiting than are running, within the budget; holes are filled first."""
        if self.cancelled:
            return
        docs = self.mirror.docs
        running = sum(doc["state"] == State.RUNNING for doc in docs)
        waiting = sum(doc["state"] == State.NEW for doc in docs)
        wanted = min(running + 1 - waiting, self.config.search.max_trials - len(docs))
        if wanted <= 0:
            return
        known = {doc["tid"]: doc for doc in docs}
        for tid in self.store.missing_tids(self.name, wanted):
            document = self._propose(tid, known)
            self.store.insert([document])
            known[tid] = document
        self.mirror.update(known.values())

    def _propose(self, tid: int, known: dict[int, Document]) -> Document:
        """The document of a new trial: the replicates of one point share its values, each has its own seed."""
        search = self.config.search
        point, replicate = divmod(tid, search.replicates)
        first = known.get(point * search.replicates)
        if replicate and first is not None:
            misc, seen, params = first["misc"], first["seen"], first["params"]
            misc = {**misc, "tid": tid, "idxs": {key: [tid] if value else [] for key, value in misc["idxs"].items()}}
        else:
            # After a forced change of the space, trials of the old one teach nothing about the new.
            finished = [doc for doc in self.mirror.finished if doc["misc"]["vals"].keys() == self.config.space.keys()]
            seed = suggest_seed(search.seed, point)
            misc, seen = suggest(search.algorithm, self.expression, tid=tid, seed=seed, finished_docs=finished)
            params = concrete(self.config.space, misc["vals"])
        return new_job_document(
            self.name,
            tid,
            misc=misc,
            params=params,
            seed=trial_seed(search.seed, tid),
            point=point,
            replicate=replicate,
            seen=seen,
            requires=self.config.requires(),
        )
