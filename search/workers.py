"""`hms workers`: the workers of a search, what each does, and when it last showed a sign of life."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from search.pace import span
from search.process_identity import ProcessIdentity
from search.store import Document, State, Store
from search.watch import cell, say_line

Condition = Literal["works", "idle", "silent", "dead"]


@dataclass(frozen=True)
class SeenWorker:
    """One worker, times on the server's clock. `silent`: its lease ran out; `dead`: its process here ended."""

    owner: Document
    tid: int | None
    since: datetime
    seen: datetime
    condition: Condition

    @property
    def alive(self) -> bool:
        """Whether it can be counted on."""
        return self.condition in ("works", "idle")

    @property
    def where(self) -> str:
        """`HOST pid 123 slot 0 cpu`, and its Slurm job."""
        owner = self.owner
        job = f" job {owner['slurm_job']}" if "slurm_job" in owner else ""
        host, pid, slot, device = (owner.get(key, "?") for key in ("host", "pid", "slot", "device"))
        return f"{host} pid {pid} slot {slot} {device}{job}"


def seen_workers(greeted: Sequence[Document], jobs: Sequence[Document], now: datetime) -> list[SeenWorker]:
    """Everyone who shows a sign of life of their own, or holds a trial."""
    holders = {_identity(job["owner"]): job for job in jobs if job["state"] == State.RUNNING}
    found = []
    for worker in greeted:
        job = holders.pop(_identity(worker["owner"]), None)
        until = worker["until"] if job is None else max(worker["until"], job["lease_until"])
        seen = worker["seen"] if job is None else max(worker["seen"], job["refresh_time"])
        tid = None if job is None else job["tid"]
        condition = _condition(worker["owner"], until, tid, now)
        found.append(SeenWorker(worker["owner"], tid, worker["since"], seen, condition))
    for job in holders.values():
        owner = job["owner"] if isinstance(job["owner"], dict) else {"host": str(job["owner"])}
        condition = _condition(owner, job["lease_until"], job["tid"], now)
        found.append(SeenWorker(owner, job["tid"], job["book_time"], job["refresh_time"], condition))
    return found


def living_workers(store: Store, name: str) -> list[SeenWorker]:
    """The workers of a search that can be counted on now."""
    return [worker for worker in all_workers(store, name) if worker.alive]


def all_workers(store: Store, name: str) -> list[SeenWorker]:
    """The workers of a search, silent and dead ones too."""
    return seen_workers(store.workers(name), store.jobs(name), store.server_time())


def show_workers(store: Store, name: str | None, console: Console) -> None:
    """Print the workers of one search, or of all."""
    if name is not None:
        store.search(name)
    found = {known: all_workers(store, known) for known in ([name] if name is not None else store.names())}
    now = store.server_time()
    if not any(found.values()):
        which = "any search" if name is None else f"`{name}`"
        say_line(console, f"no worker of {which} lives: hms worker --name {name or 'NAME'}")
    for known, workers in found.items():
        if console.is_terminal and workers:
            console.print(workers_table(workers, now, f"workers of `{known}`"))
        for worker in workers if not console.is_terminal else ():
            say_line(console, f"{known}: {worker.where}: {describe_worker(worker, now)}")


def describe_worker(worker: SeenWorker, now: datetime) -> str:
    """`works on trial 3, here for 5 min, last sign of life 2 s ago`."""
    doing = {"works": f"works on trial {worker.tid}", "silent": "silent: its lease ran out", "dead": "dead"}
    held = f", holds trial {worker.tid}" if worker.tid is not None and not worker.alive else ""
    ages = f"here for {span(_age(worker.since, now))}, last sign of life {span(_age(worker.seen, now))} ago"
    return f"{doing.get(worker.condition, worker.condition)}{held}, {ages}"


def workers_table(workers: Sequence[SeenWorker], now: datetime, title: str) -> Table:
    """One row a worker."""
    table = Table(title=cell(title), title_justify="left")
    for column in ("host", "pid", "device", "slot", "trial", "here for", "last sign of life", "state"):
        table.add_column(column, justify="right" if column in ("pid", "slot", "trial") else "left")
    for worker in workers:
        owner = worker.owner
        host = f"{owner.get('host', '?')}" + (f" job {owner['slurm_job']}" if "slurm_job" in owner else "")
        cells = [host, *(str(owner.get(key, "?")) for key in ("pid", "device", "slot"))]
        cells += ["" if worker.tid is None else str(worker.tid), span(_age(worker.since, now))]
        table.add_row(*map(cell, cells), f"{span(_age(worker.seen, now))} ago", worker.condition)
    return table


def _condition(owner: Document, until: datetime, tid: int | None, now: datetime) -> Condition:
    identity = ProcessIdentity.from_dict(owner)
    if identity is not None and identity.known_dead():
        return "dead"
    if until < now:
        return "silent"
    return "idle" if tid is None else "works"


def _identity(owner: Any) -> object:
    # A process of several workers, in tests say, has a slot for each.
    identity = ProcessIdentity.from_dict(owner)
    return str(owner) if identity is None else (identity, owner.get("slot"))


def _age(moment: datetime, now: datetime) -> float:
    return (now - moment).total_seconds()
