"""`hms forget`: everything of one search goes, from the store and from the results folder, and nothing else."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from search.errors import UsageError
from search.paths import RunFolder
from search.process_identity import ProcessIdentity
from search.store import Store
from search.workers import living_workers

LOCK_SECONDS = 600.0
"""No driver may begin while a person is asked and documents go."""


@dataclass(frozen=True)
class Belongings:
    """What a search has: documents by collection, its folder and how many files and bytes are in it."""

    name: str
    folder: RunFolder
    documents: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        documents = ", ".join(f"{count} in {collection}" for collection, count in self.documents.items())
        folder = f"{self.files} files ({self.bytes / 2**20:.1f} MiB) in {self.folder.root}"
        return f"`{self.name}`: documents: {documents}; {folder if self.files else 'no files on this machine'}"


def belongings(store: Store, name: str, results: Path) -> Belongings:
    """What `forget` would remove.

    Raises:
        UnknownSearch: there is no search of this name.
        UsageError: its folder is a link; what lies behind it may be somebody else's.
    """
    store.search(name, unfinished=True)
    folder = RunFolder.of(results, name)
    if folder.root.parent != results or folder.root.is_symlink():
        raise UsageError(f"{folder.root} is no folder of its own: remove what it leads to by hand, then the link")
    sizes = [path.lstat().st_size for path in folder.root.rglob("*") if not path.is_dir()]
    return Belongings(name, folder, store.document_counts(name), len(sizes), sum(sizes))


def forget(store: Store, found: Belongings, confirm: Callable[[str], bool], *, force: bool = False) -> bool:
    """Remove it all, if `confirm` says so; whether it did.

    Files on other machines stay. The files go before the documents, the search's own document last, so that what was
    cut short can be repeated.

    Raises:
        DriverRunning, UsageError: a driver or workers are alive, unless `force`; they then end with an error, and what
            they write while they end stays.
    """
    name, removed = found.name, False
    lock = None if force else store.acquire_driver(name, ProcessIdentity.current().to_dict(), LOCK_SECONDS)
    try:
        if lock is not None:
            _refuse_living(store, name)
        if not confirm(f"{found}\nRemove all of it for ever?"):
            return False
        if lock is not None and not store.renew_driver(name, lock, LOCK_SECONDS):
            raise UsageError(f"the answer came too late; nothing was removed. Once more: hms forget {name}")
        if found.folder.root.exists():
            shutil.rmtree(found.folder.root)
        store.remove_search(name)
        removed = True
    finally:
        if lock is not None and not removed:
            store.release_driver(name, lock)
    return removed


def _refuse_living(store: Store, name: str) -> None:
    alive = living_workers(store, name)
    if alive:
        shown = "; ".join(worker.where for worker in alive[:3]) + ("; ..." if len(alive) > 3 else "")
        raise UsageError(
            f"{len(alive)} workers of `{name}` are alive ({shown}): hms cancel {name} ends its search, or remove it "
            "under their feet: --force"
        )
