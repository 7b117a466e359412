"""The driver: sample, enqueue, reap, finish. It resumes by itself, and only one runs for a search at a time.

With `rand` a proposal depends on the study's seed and the trial's number alone, so a restarted driver proposes what an
uninterrupted one would have. `tpe` and `anneal` also depend on the trials finished at that moment; their numbers are
stored with each proposal (`seen`), so that it can be recomputed.

A cycle looks only at trials that wait or run, so that its cost grows with the workers and not with the search; all are
looked at every `SWEEP_SECONDS`, and before the search is called finished.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from search.config import SearchConfig
from search.errors import DriverRunning, StoreError, StoreRefused
from search.provenance import suggest_seed, trial_seed
from search.space import concrete, expression
from search.store import MANY_TRIES, Document, Patience, State, Store, new_job_document
from search.store.driver_lock import LOCK_SECONDS
from search.store.hyperopt_adapter import TrialsMirror, suggest

CYCLE_SECONDS = 0.1
LOOK_SECONDS = 1.0
SWEEP_SECONDS = 10.0
PROPOSE_SECONDS = 0.5
"""After so long a cycle proposes no more: 64 workers that start together take 20 s of TPE, and the lock 30."""


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


def propose_point(
    config: SearchConfig, expression: Any, tid: int, finished: list[Document]
) -> tuple[Document, list[int], dict[str, Any]]:
    """The point that trial `tid` trains: HyperOpt's `misc`, the tids that the algorithm saw, the parameters.

    `expression` is `search.space.expression(config.space)`. With `rand` it depends on the seed and `tid` alone.
    """
    search = config.search
    seed = suggest_seed(search.seed, tid // search.replicates)
    misc, seen = suggest(search.algorithm, expression, tid=tid, seed=seed, finished_docs=finished)
    return misc, seen, concrete(config.space, misc["vals"])


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
        self.patience = Patience(tries=MANY_TRIES)
        self.renewed = self.looked = self.swept = -LOCK_SECONDS

    def run(self, lock: str, stop: threading.Event, each_cycle: Callable[[list[Document]], None]) -> Outcome:
        """Until every trial of the budget is final, or `stop` is set. `lock` is the driver lock, released at the end.

        `each_cycle` gets the trials, by tid; it restarts workers, draws progress, and may raise to end the run.

        Raises:
            DriverRunning: another driver took the lock over.
            StoreError: the store refuses what is asked, again and again; an outage is waited for.
        """
        worked = hurry = False
        try:
            self._renew(lock)
            self.store.update_search(self.name, finished=False, cancelled=False)
            while not stop.is_set():
                try:
                    self._look_after(lock)
                    self.observe()
                    if self._finished():
                        self.store.update_search(self.name, finished=True)
                        break
                    worked = True
                    hurry = self.enqueue()
                    each_cycle(self.mirror.docs)
                    self.patience.worked()
                except StoreRefused:
                    raise
                except StoreError as error:
                    pause = self.patience.pause(error)
                    if self.patience.is_news(error):
                        self.say(f"waiting for the store: {error}")
                    self.on_outage()
                    self.renewed = -LOCK_SECONDS
                    stop.wait(pause)
                    continue
                if not hurry:
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

    def observe(self, *, sweep: bool = False) -> None:
        """Bring the mirror up to date; with `sweep`, and now and then, by a look at every trial."""
        now = time.monotonic()
        sweep = sweep or now - self.swept > SWEEP_SECONDS
        if sweep:
            self.mirror.keep(self.store.tids(self.name))
        unsettled = None if sweep else self.mirror.unsettled
        self.mirror.update(self.store.jobs(self.name, newer_than=self.mirror.versions, unsettled=unsettled))
        self.swept = now if sweep else self.swept

    def _finished(self) -> bool:
        if self._unfinished():
            return False
        self.observe(sweep=True)
        return not self._unfinished()

    def _unfinished(self) -> bool:
        proposes = not self.cancelled and len(self.mirror) < self.config.search.max_trials
        return proposes or bool(self.mirror.unsettled)

    def enqueue(self) -> bool:
        """Keep one more trial waiting than are running, within the budget; holes are filled first.

        Returns whether more are wanted than there was time for.
        """
        if self.cancelled:
            return False
        running, waiting = self.mirror.count(State.RUNNING), self.mirror.count(State.NEW)
        wanted = min(running + 1 - waiting, self.config.search.max_trials - len(self.mirror))
        began = time.monotonic()
        for left in range(wanted - 1, -1, -1):
            document = self._propose(self.mirror.missing())
            if self.store.insert([document]):
                self.mirror.update([document])
            else:  # the answer to an earlier insert was lost, or a driver that is gone wrote late
                self.observe(sweep=True)
            if left and time.monotonic() - began > PROPOSE_SECONDS:
                return True
        return False

    def _propose(self, tid: int) -> Document:
        """The document of a new trial: the replicates of one point share its values, each has its own seed."""
        search = self.config.search
        point, replicate = divmod(tid, search.replicates)
        first = self.store.job(self.name, point * search.replicates) if replicate else None
        if first is not None:
            misc, seen, params = first["misc"], first["seen"], first["params"]
            misc = {**misc, "tid": tid, "idxs": {key: [tid] if value else [] for key, value in misc["idxs"].items()}}
        else:
            # After a forced change of the space, trials of the old one teach nothing about the new.
            finished = [doc for doc in self.mirror.finished if doc["misc"]["vals"].keys() == self.config.space.keys()]
            misc, seen, params = propose_point(self.config, self.expression, tid, finished)
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
