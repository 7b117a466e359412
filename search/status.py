"""`hms status`: the trials of a search, or all searches of a store."""

import time

from rich.console import Console

from search.store import Document, State, Store
from search.watch import describe_trial, search_table

REFRESH_SECONDS = 2.0


def show_status(store: Store, name: str | None, console: Console, *, watch: bool = False) -> None:
    """Print one search (again and again with `watch`, until it is finished), or list all."""
    if name is None:
        for known in store.names():
            console.print(f"{known}: {_counts(store, known)}", highlight=False)
        if not store.names():
            console.print("no searches yet: try `hms run configs/quickstart.yaml`", highlight=False)
        return
    while True:
        search = store.search(name)
        documents = store.jobs(name)
        planned = search["config"]["search"]["max_trials"]
        if console.is_terminal:
            console.print(search_table(documents, planned, float(search.get("wall_seconds") or 0.0)))
        else:
            for document in documents:
                console.print(f"trial {document['tid']}: {describe_trial(document)}", highlight=False, soft_wrap=True)
        finished = "finished" if search.get("finished") else "not finished"
        console.print(f"{name}: {_counts(store, name)}; {finished}", highlight=False)
        for error in _errors(documents):
            console.print(error, highlight=False, soft_wrap=True)
        if not watch or search.get("finished"):
            return
        time.sleep(REFRESH_SECONDS)


def _counts(store: Store, name: str) -> str:
    counts = store.counts(name)
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"


def _errors(documents: list[Document]) -> list[str]:
    failed = [document for document in documents if document["state"] == State.ERROR]
    return [f"trial {d['tid']}: {(d.get('error') or {}).get('message', 'no message')}" for d in failed[-5:]]
