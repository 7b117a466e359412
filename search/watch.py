"""Live progress of all workers: a rich table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from metrics.metric import Metric
from search.printable import printable
from search.store import Document, State

REFRESH_SECONDS = 1.0
Metrics = Mapping[str, Metric]


class Watcher:
    """Shows a running search; `update` is called each driver cycle and draws at most once a second."""

    def __init__(self, console: Console, max_trials: int, metrics: Metrics) -> None:
        self.console, self.max_trials, self.metrics = console, max_trials, metrics
        self.live = Live(console=console, refresh_per_second=2, transient=False) if console.is_terminal else None
        self.drawn = 0.0
        self.started = time.monotonic()
        self.announced: dict[int, tuple[int, Any]] = {}

    def __enter__(self) -> "Watcher":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def update(self, documents: list[Document], *, at_once: bool = False) -> None:
        """Draw the trials, by tid; `at_once` however short ago the last drawing was."""
        if not at_once and time.monotonic() - self.drawn < REFRESH_SECONDS:
            return
        self.drawn = time.monotonic()
        if self.live is not None:
            seconds = time.monotonic() - self.started
            self.live.update(search_table(documents, self.max_trials, seconds, self.metrics))
        else:
            self._plain(documents)

    def _plain(self, documents: list[Document]) -> None:
        """One line whenever a trial starts, is evaluated again, or ends."""
        for document in documents:
            tid, state = document["tid"], document["state"]
            evaluated = (document.get("progress") or {}).get("evaluated")
            if state == State.NEW or self.announced.get(tid) == (state, evaluated):
                continue
            self.announced[tid] = (state, evaluated)
            say_line(self.console, f"trial {tid}: {describe_trial(document, self.metrics)}")


def say_line(console: Console, text: str) -> None:
    """Print `text` as it is: neither its brackets nor its numbers mean anything to rich."""
    console.print(printable(text), highlight=False, markup=False, soft_wrap=True)


def describe_trial(document: Document, metrics: Metrics) -> str:
    """One line: where a trial is, or how it ended, with its newest metrics."""
    state = State(document["state"])
    result, progress = document.get("result") or {}, document.get("progress") or {}
    if state == State.ERROR:
        return f"ERROR {(document.get('error') or {}).get('message', '')}"
    if state == State.DONE:
        trained, planned = result.get("epochs_trained"), result.get("epochs_planned")
        if trained is None:
            return f"imported, {result.get('status')}, loss {result.get('loss', 'undefined')}"
        return f"{result.get('finish')} at epoch {trained} of {planned}, {metrics_text(result, metrics)}"
    if state == State.RUNNING and "evaluated" in progress:
        return f"epoch {progress['evaluated']} of {progress.get('epochs', '?')}, {metrics_text(progress, metrics)}"
    return state.name.lower()


def metrics_text(row: dict[str, Any], metrics: Metrics) -> str:
    """`HMS 0.112, MSE 0.0042, Accuracy 0.310`; `undefined` where there is no number."""
    parts = []
    for name, metric in metrics.items():
        value = row.get(name)
        number = f"{value:.{metric.digits}f}" if isinstance(value, int | float) else "undefined"
        parts.append(f"{metric.short} {number}")
    return ", ".join(parts)


def search_table(documents: list[Document], max_trials: int, seconds: float, metrics: Metrics) -> Table:
    """Running trials with their progress, the newest ended ones, and the counts."""
    states = [State(document["state"]) for document in documents]
    ended = sum(state in (State.DONE, State.ERROR, State.CANCEL) for state in states)
    title = f"{ended} of {max_trials} trials ended, {states.count(State.RUNNING)} running, {seconds:.0f} s"
    table = Table(title=title, title_justify="left", expand=False)
    for column in ("trial", "worker", "epoch", *(cell(metric.short) for metric in metrics.values()), "state"):
        table.add_column(column, justify="right" if column not in ("worker", "state") else "left")
    shown = [document for document in documents if document["state"] != State.NEW]
    shown.sort(key=lambda document: (document["state"] == State.RUNNING, document["tid"]))
    for document in shown[-20:]:
        progress = document.get("progress") or {}
        row = document["result"] if document["state"] == State.DONE else progress
        epoch = row.get("epochs_trained", row.get("epoch", 0))
        planned = row.get("epochs_planned", row.get("epochs", document["params"].get("epochs", "?")))
        owner = document.get("owner") or {}
        worker = _worker_text(owner) if isinstance(owner, dict) and owner else ""
        cells = [_number(row.get(name), metric.digits) for name, metric in metrics.items()]
        state = row.get("finish") or State(document["state"]).name.lower()
        table.add_row(*map(cell, (document["tid"], worker, f"{epoch}/{planned}", *cells, state)))
    return table


def cell(value: object) -> str:
    """A value for a table of rich: what stands in a database is neither markup nor a control sequence."""
    return escape(printable(str(value)))


def _worker_text(owner: Document) -> str:
    job = f" job {owner['slurm_job']}" if "slurm_job" in owner else ""
    return f"{owner.get('host')}/{owner.get('slot')} {owner.get('device')}{job}"


def _number(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "-"
