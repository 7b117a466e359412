"""`hms status`: the trials of a search, its workers, pace and troubles; or all searches of a store."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from metrics.metric import Metric
from search.errors import StoreError, UsageError
from search.logged_metrics import as_described
from search.pace import ended_per_hour, seconds_left, span
from search.printable import printable
from search.process_identity import ProcessIdentity
from search.store import Document, State, Store, waiting
from search.watch import describe_trial, say_line, search_table
from search.workers import SeenWorker, seen_workers, workers_table

REFRESH_SECONDS = 2.0
ERRORS_SHOWN = 5
MESSAGE_LENGTH = 300


@dataclass(frozen=True)
class Status:
    """A search as it was at `now`, on the server's clock; `jobs` by tid."""

    name: str
    search: Document
    jobs: Mapping[int, Document]
    workers: list[SeenWorker]
    now: datetime

    @classmethod
    def read(cls, store: Store, name: str, earlier: "Status | None" = None) -> "Status":
        """From the store; of trials that an `earlier` status knew, only those that changed are asked for."""
        known = dict(earlier.jobs) if earlier is not None else {}
        search = store.search(name)
        changed = store.jobs(name, newer_than={tid: job["version"] for tid, job in known.items()})
        known |= {job["tid"]: job for job in changed}
        now = store.server_time()
        workers = seen_workers(store.workers(name), list(known.values()), now)
        return cls(name, search, dict(sorted(known.items())), workers, now)

    @property
    def documents(self) -> list[Document]:
        """The trials by tid."""
        return list(self.jobs.values())

    @property
    def planned(self) -> int:
        """The budget of trials."""
        return int(self.search["config"]["search"]["max_trials"])

    @property
    def metrics(self) -> dict[str, Metric]:
        """What the search logs, as it was described when the search was opened; the packages need not be here."""
        return as_described(self.search.get("metrics"))

    @property
    def finished(self) -> bool:
        """Whether its driver saw the last trial end."""
        return bool(self.search.get("finished"))

    @property
    def driver(self) -> Document | None:
        """`owner` and `since` of the driver that lives; None where none does."""
        driver: Document | None = self.search["driver"]
        if not driver or driver["until"] < self.now:
            return None
        identity = ProcessIdentity.from_dict(driver["owner"])
        return None if identity is not None and identity.known_dead() else driver

    def table(self) -> object:
        """The trials that run, and those that ended last."""
        seconds = float(self.search.get("wall_seconds") or 0.0)
        return search_table(self.documents, self.planned, seconds, self.metrics)

    def troubles(self) -> list[str]:
        """Leases that ran out, and the newest errors."""
        jobs = self.documents
        stale = [job for job in jobs if job["state"] == State.RUNNING and job["lease_until"] < self.now]
        lines = [
            f"stale: trial {job['tid']}, lease out for {span((self.now - job['lease_until']).total_seconds())}; a "
            f"driver or worker takes it back, or: hms retry {self.name} --state stale"
            for job in stale
        ]
        running = [job for job in jobs if job["state"] == State.RUNNING]
        warnings = [(job["tid"], (job.get("progress") or {}).get("warning")) for job in running]
        lines += [f"warning: trial {tid}: {warning}" for tid, warning in warnings if warning]
        failed = [job for job in jobs if job["state"] == State.ERROR]
        failed.sort(key=lambda job: (job["refresh_time"] is not None, job["refresh_time"], job["tid"]))
        more = len(failed) - ERRORS_SHOWN
        lines += [f"{more} older errors: hms log {self.name} --tid T"] if more > 0 else []
        return lines + [f"trial {job['tid']}: {_message(job)}" for job in failed[-ERRORS_SHOWN:]]

    def pace(self) -> list[str]:
        """Who drives, who works, how fast, how long still; nothing of it when the search is finished."""
        if self.finished:
            return []
        rate, left = self.trials_an_hour(), self.seconds_left()
        parts = [] if rate is None else [f"{rate:,.0f} trials an hour" if rate >= 100 else f"{rate:.3g} trials an hour"]
        parts += [] if left is None else [f"about {span(left)} left"]
        return [self._driver(), self._workers(), *(["; ".join(parts)] if parts else [])]

    def trials_an_hour(self) -> float | None:
        """How many trials ended in the last hour; None before any did."""
        return ended_per_hour(self.documents, self.now)

    def seconds_left(self) -> float | None:
        """Until the last planned trial has ended, about; None where unknown, and of a cancelled search."""
        alive = sum(worker.alive for worker in self.workers)
        return None if self.search.get("cancelled") else seconds_left(self.documents, self.planned, alive, self.now)

    def counts(self) -> str:
        """`toy: 3 DONE, 1 RUNNING; not finished`."""
        states = [State(job["state"]) for job in self.documents]
        counted = ", ".join(f"{states.count(state)} {state.name}" for state in State if state in states)
        cancelled = ", cancelled" if self.search.get("cancelled") else ""
        return f"{self.name}: {counted or 'no trials'}; {'finished' if self.finished else 'not finished'}{cancelled}"

    def _driver(self) -> str:
        driver = self.driver
        if driver is None:
            command = self.search.get("command")
            return "no driver runs" + (f"; continue with: {command}" if command else "")
        owner, since = driver["owner"], span((self.now - driver["since"]).total_seconds())
        return f"driver: {owner.get('host', '?')} pid {owner.get('pid', '?')}, for {since}"

    def _workers(self) -> str:
        words = {"works": "work", "idle": "idle", "silent": "silent", "dead": "dead"}
        conditions = [worker.condition for worker in self.workers]
        counted = [f"{conditions.count(c)} {word}" for c, word in words.items() if c in conditions]
        return f"workers: {', '.join(counted)}" if counted else f"no worker lives: hms worker --name {self.name}"


def show_status(store: Store, name: str | None, console: Console, *, watch: bool = False) -> None:
    """Print one search, or list all; with `watch`, follow one until it is finished."""
    if name is None:
        for known in store.names():
            say_line(console, f"{known}: {_counts(store, known)}")
        if not store.names():
            say_line(console, "no searches yet: try `hms run configs/quickstart.yaml`")
    elif not watch:
        status = Status.read(store, name)
        if console.is_terminal:
            console.print(status.table())
        else:
            for job in status.documents:
                say_line(console, _trial_line(job, status.metrics))
        for line in (status.counts(), *status.pace(), *status.troubles()):
            say_line(console, line)
    elif console.is_terminal:
        _watch_in_place(store, name, console)
    else:
        _watch_by_lines(store, name, console)


def _watch_in_place(store: Store, name: str, console: Console) -> None:
    """One view that is drawn again where it stands, until the search is finished."""
    status: Status | None = None
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while status is None or not status.finished:
            status = _patiently(store, name, status, console)
            lines = (status.counts(), *status.pace(), *status.troubles())
            parts = [Text(printable(line)) for line in lines]
            others = [worker for worker in status.workers if worker.condition != "works"]
            tables = [workers_table(others, status.now, "workers without a trial, or silent")] if others else []
            live.update(Group(*parts, *tables, status.table()), refresh=True)  # type: ignore[arg-type]
            if not status.finished:
                time.sleep(REFRESH_SECONDS)


def _watch_by_lines(store: Store, name: str, console: Console) -> None:
    """A line for each trial that moved; the summary whenever a trial began or ended, or trouble came."""
    status: Status | None = None
    said: dict[int, str] = {}
    summary: object = None
    while status is None or not status.finished:
        status = _patiently(store, name, status, console)
        for tid, job in status.jobs.items():
            if said.get(tid) != (line := _trial_line(job, status.metrics)):
                said[tid] = line
                say_line(console, line)
        if summary != (now := (status.counts(), status.troubles())):
            summary = now
            for line in (status.counts(), *status.pace(), *status.troubles()):
                say_line(console, line)
        if not status.finished:
            time.sleep(REFRESH_SECONDS)


def _patiently(store: Store, name: str, earlier: Status | None, console: Console) -> Status:
    """Read again; a store that does not answer is waited for, and said once."""
    told = False

    def tell(error: StoreError, _seconds: float) -> None:
        nonlocal told
        if not told:
            say_line(console, f"waiting for the store: {error}")
        told = True

    return waiting(lambda: Status.read(store, name, earlier), on_wait=tell)


def cancel_trials(store: Store, name: str, tid: int | None) -> list[int]:
    """Cancel one trial, or all that are not final and the proposing of more; the tids that were.

    Raises:
        UnknownSearch, UsageError: there is no such search or trial; it was imported; there is nothing to cancel.
    """
    search = _own_search(store, name)
    if tid is None:
        if search.get("finished"):
            raise UsageError(f"`{name}` is finished: there is nothing to cancel")
        store.update_search(name, cancelled=True)
        return store.cancel(name)
    job = store.job(name, tid)
    if job is None:
        raise UsageError(f"`{name}` has no trial {tid}: see `hms status {name}`")
    cancelled = store.cancel(name, tid)
    if not cancelled:
        state = State(job["state"]).name
        raise UsageError(f"trial {tid} of `{name}` is {state}: only trials that wait or run are cancelled")
    return cancelled


def retry_trials(store: Store, name: str, which: Literal["failed", "stale"]) -> list[int]:
    """Make trials NEW again, and the search unfinished when there are any; their tids.

    Raises:
        UnknownSearch, UsageError: there is no such search, or it was imported.
    """
    _own_search(store, name)
    tids = store.retry(name, which)
    if tids:
        store.update_search(name, finished=False)
    return tids


def _own_search(store: Store, name: str) -> Document:
    search = store.search(name)
    if "imported" in search:
        raise UsageError(f"`{name}` was imported from HyperOpt: its trials stay as they are")
    return search


def _trial_line(job: Document, metrics: Mapping[str, Metric]) -> str:
    return f"trial {job['tid']}: {describe_trial(job, metrics)}{_slurm_job(job)}"


def _slurm_job(document: Document) -> str:
    """`; Slurm job 123_4 on node7` of a trial that runs in one."""
    owner = document.get("owner")
    if document["state"] != State.RUNNING or not isinstance(owner, dict) or "slurm_job" not in owner:
        return ""
    return f"; Slurm job {owner['slurm_job']} on {owner.get('host', '?')}"


def _counts(store: Store, name: str) -> str:
    counts = store.counts(name)
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"


def _message(job: Document) -> str:
    lines = str((job.get("error") or {}).get("message") or "no message").splitlines()
    return lines[0][:MESSAGE_LENGTH] + (" ..." if len(lines) > 1 or len(lines[0]) > MESSAGE_LENGTH else "")
