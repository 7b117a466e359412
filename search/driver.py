"""The driver: sample, enqueue, reap, finish. It resumes by itself, and only one runs for a search at a time.

With `rand` a proposal depends on the study's seed and the trial's number alone, so a restarted driver proposes what an
uninterrupted one would have. `tpe` and `anneal` also depend on the trials finished at that moment; their numbers are
stored with each proposal (`misc.seen`), so that it can be recomputed.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from search.config import SearchConfig
from search.errors import DriverRunning, StoreUnreachable
from search.provenance import suggest_seed, trial_seed
from search.space import concrete, expression
from search.store import Store, TrialsMirror, new_job_document, suggest

CYCLE_SECONDS = 0.1
LOCK_SECONDS = 30.0
REAP_SECONDS = 5.0
FINAL_STATES = ("DONE", "ERROR", "CANCEL")


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

    def __init__(self, store: Store, config: SearchConfig, *, say: Callable[[str], None] = print) -> None:
        self.store, self.config, self.say = store, config, say
        self.name = config.search.name
        self.expression = expression(config.space)
        self.mirror = TrialsMirror(self.name)
        self.seen_change: Any = None
        self.documents: dict[int, dict[str, Any]] = {}
        self.enqueued = 0

    def run(self, stop: threading.Event, each_cycle: Callable[[dict[int, dict[str, Any]]], None]) -> Outcome:
        """Until every trial of the budget is final, or `stop` is set.

        `each_cycle` gets the trials by tid; it restarts workers, draws progress, and may raise to end the run.

        Raises:
            DriverRunning: another driver holds the lock, or took it over.
        """
        owner = {"host": socket.gethostname(), "pid": os.getpid()}
        lock = self.store.acquire_driver(self.name, owner, LOCK_SECONDS)
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
                    self._sync()
                    if self._finished():
                        self.store.update_search(self.name, finished=True, max_trials=self.config.search.max_trials)
                        break
                    self._enqueue()
                    each_cycle(self.documents)
                except StoreUnreachable as error:
                    self.say(f"waiting for the store: {error}")
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

    def _sync(self) -> None:
        """Apply the documents that changed since the last cycle."""
        changed, self.seen_change = self.store.changes(self.name, self.seen_change)
        for document in changed:
            self.documents[document["tid"]] = document
        if changed:
            self.mirror.apply(changed)

    def _finished(self) -> bool:
        final = sum(document["state_name"] in FINAL_STATES for document in self.documents.values())
        return len(self.documents) >= self.config.search.max_trials and final == len(self.documents)

    def _enqueue(self) -> None:
        """Keep one more trial waiting than are running, within the budget; fill holes first."""
        running = sum(d["state_name"] == "RUNNING" for d in self.documents.values())
        waiting = sum(d["state_name"] == "NEW" for d in self.documents.values())
        for tid in range(self.config.search.max_trials):
            if waiting > running:
                return
            if tid in self.documents:
                continue
            document = self._propose(tid)
            self.store.insert([document])
            self.documents[tid] = {**document, "state_name": "NEW"}
            self.enqueued += 1
            waiting += 1

    def _propose(self, tid: int) -> dict[str, Any]:
        """The document of a new trial: the replicates of one point share its values, each has its own seed."""
        search = self.config.search
        point, replicate = divmod(tid, search.replicates)
        first = self.documents.get(point * search.replicates)
        if replicate and first is not None:
            vals, seen = {k: list(v) for k, v in first["misc"]["vals"].items()}, first["misc"].get("seen", [])
        else:
            seed = suggest_seed(search.seed, point)
            vals, seen = suggest(search.algorithm, self.expression, tid=tid, seed=seed, trials=self.mirror.trials)
        return new_job_document(
            self.name,
            tid,
            vals=vals,
            params=concrete(self.config.space, vals),
            seed=trial_seed(search.seed, tid),
            point=point,
            replicate=replicate,
            seen=seen,
            requires=self.config.requires(),
        )
