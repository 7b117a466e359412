"""`hms status`: the trials of a search, or all searches of a store."""

import time

from rich.console import Console

from search.errors import UsageError
from search.store import Document, State, Store
from search.watch import describe_trial, say_line, search_table

REFRESH_SECONDS = 2.0


def show_status(store: Store, name: str | None, console: Console, *, watch: bool = False) -> None:
    """Print one search (again and again with `watch`, until it is finished), or list all."""
    if name is None:
        for known in store.names():
            say_line(console, f"{known}: {_counts(store, known)}")
        if not store.names():
            say_line(console, "no searches yet: try `hms run configs/quickstart.yaml`")
        return
    while True:
        search = store.search(name)
        documents = store.jobs(name)
        planned = search["config"]["search"]["max_trials"]
        if console.is_terminal:
            console.print(search_table(documents, planned, float(search.get("wall_seconds") or 0.0)))
        else:
            for document in documents:
                say_line(console, f"trial {document['tid']}: {describe_trial(document)}")
        finished = "finished" if search.get("finished") else "not finished"
        say_line(console, f"{name}: {_counts(store, name)}; {finished}")
        for error in _errors(documents):
            say_line(console, error)
        if not watch or search.get("finished"):
            return
        time.sleep(REFRESH_SECONDS)


def cancel_trials(store: Store, name: str, tid: int | None) -> list[int]:
    """Cancel one trial, or all that are not final and the proposing of more; the tids that were.

    Raises:
        UnknownSearch, UsageError: there is no such search or trial.
    """
    store.search(name)
    if tid is None:
        store.update_search(name, cancelled=True)
    elif store.job(name, tid) is None:
        raise UsageError(f"`{name}` has no trial {tid}: see `hms status {name}`")
    return store.cancel(name, tid)


def _counts(store: Store, name: str) -> str:
    counts = store.counts(name)
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"


def _errors(documents: list[Document]) -> list[str]:
    failed = [document for document in documents if document["state"] == State.ERROR]
    return [f"trial {d['tid']}: {(d.get('error') or {}).get('message', 'no message')}" for d in failed[-5:]]
