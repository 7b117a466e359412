"""`hms backup`, `hms restore`: searches as one compressed file of JSON lines, which needs no MongoDB to be read.

The first line is a header, then comes a document a line, {"in": collection, "is": document} in MongoDB's canonical
extended JSON, search by search; the last line counts them and has the sha256 of all lines before it. The files of a
results folder are not in it; those of `search.checkpoints: gridfs` are, since the store holds them.
"""

import gzip
import hashlib
import itertools
import os
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from search.config_section import NAME_PATTERN
from search.errors import UsageError
from search.progress import Progress
from search.provenance import provenance
from search.store import Document, State, Store
from search.store.archive import ARCHIVED, CHUNKS, FILES
from search.store.json_lines import from_line, to_line

FORMAT = "hms-backup-1"
LINES_A_REPORT = 1000


@dataclass(frozen=True)
class Backup:
    """A whole, verified backup: when it was made (server's clock), and how many documents each collection has."""

    path: Path
    made: datetime
    searches: dict[str, dict[str, int]]


def write_backup(store: Store, names: Sequence[str], target: Path, progress: Progress) -> Backup:
    """Write the searches `names` to `target`, whole or not at all; searches that run may go on.

    Raises:
        UnknownSearch, OSError: a search that is not there; a file that cannot be written.
        UsageError: the file is there and is no backup.
    """
    _refuse_other(target)
    for name in names:
        store.search(name)
    made = store.server_time()
    header = {"format": FORMAT, "made": made, "searches": list(names), "provenance": provenance()}
    total = sum(sum(store.document_counts(name).values()) for name in names)
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=6) as file:
                digest = hashlib.sha256()

                def put(value: Any) -> None:
                    line = to_line(value)
                    digest.update(line)
                    file.write(line)

                put(header)
                done = 0
                for name in names:
                    for collection, document in store.documents(name):
                        if done % LINES_A_REPORT == 0:
                            progress("backup", done, max(done, total))
                        put({"in": collection, "is": document})
                        counts[name][collection] += 1
                        done += 1
                file.write(to_line({"counts": counts, "sha256": digest.hexdigest()}))
            raw.flush()
            os.fsync(raw.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return Backup(target, made, {name: dict(count) for name, count in counts.items()})


def _refuse_other(target: Path) -> None:
    """A backup may be replaced by a newer one; any other file is somebody's."""
    if not target.exists():
        return
    try:
        with gzip.open(target, "rb") as file:
            known = str(from_line(file.readline()).get("format", "")).startswith("hms-backup-")
    except (OSError, EOFError, ValueError, AttributeError, zlib.error):
        known = False
    if not known:
        raise UsageError(f"{target} exists and is no backup: it stays as it is. Give another file name")


def verify(path: Path) -> Backup:
    """Read a backup to its end and compare it with its counts and checksum.

    Raises:
        UsageError: it is no backup, cut short, or altered.
    """
    digest, counts = hashlib.sha256(), Counter[tuple[str, str]]()
    header: Document = {}
    try:
        with gzip.open(path, "rb") as file:
            header_line = file.readline()
            header = from_line(header_line)
            if header.get("format") != FORMAT:
                raise ValueError(f"its format is {header.get('format')!r}, not {FORMAT!r}")
            digest.update(header_line)
            ending: Document | None = None
            for line in file:
                if ending is not None:
                    raise ValueError("it goes on after its end")
                value = from_line(line)
                if "sha256" in value:
                    ending = value
                    continue
                digest.update(line)
                counts[_name_of(value), value["in"]] += 1
        if ending is None:
            raise ValueError("it was cut short")
        told = {(name, c): count for name, found in ending["counts"].items() for c, count in found.items()}
        if ending["sha256"] != digest.hexdigest() or told != counts:
            raise ValueError("its checksum or counts are not those of its lines")
        if any(counts[name, "searches"] != 1 for name in header["searches"]):
            raise ValueError("a search is not in it")
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        why = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is no whole backup of `hms backup`: {why}. Nothing was restored") from None
    searches = {name: {c: count for (n, c), count in counts.items() if n == name} for name in header["searches"]}
    return Backup(path, header["made"], searches)


def restore(store: Store, path: Path, name: str | None, progress: Progress) -> Backup:
    """Put every search of a backup into the store, under its own name or, if it is one, under `name`.

    Trials that ran when it was made are NEW again: nobody holds their lease any more.

    Raises:
        UsageError: the backup is damaged, or the store has a search of that name; nothing was changed.
        FileDamaged: the store does not hold what was put in; what there was of it is removed.
    """
    backup = verify(path)
    if name is not None and len(backup.searches) != 1:
        raise UsageError(f"--name is for a backup of one search; {path} holds {', '.join(backup.searches)}")
    if name is not None and not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"--name is {name!r}: letters, digits, `_`, `.` and `-`, 64 at most")
    targets = {old: name or old for old in backup.searches}
    taken = sorted(set(targets.values()) & set(store.names()))
    if taken:
        advice = f"--name NEW puts it beside it; hms forget {taken[0]} removes the one that is there"
        raise UsageError(f"the store has a search `{taken[0]}` already: it stays as it is. {advice}")
    entries = _entries(backup, progress)
    for old, found in itertools.groupby(entries, key=_name_of):
        new = targets[old]
        documents = ((e["in"], _restored(e["in"], e["is"], old, new, backup.made)) for e in found)
        store.install(new, documents, expected=backup.searches[old])
    return Backup(path, backup.made, {targets[old]: counts for old, counts in backup.searches.items()})


def _entries(backup: Backup, progress: Progress) -> Iterator[Document]:
    """The documents of a backup that was verified, each with its collection."""
    total = sum(sum(counts.values()) for counts in backup.searches.values())
    with gzip.open(backup.path, "rb") as file:
        for done, line in enumerate(itertools.islice(file, 1, total + 1)):
            if done % LINES_A_REPORT == 0:
                progress("restore", done, total)
            yield from_line(line)


def _name_of(entry: Document) -> str:
    """The search to which a document belongs."""
    collection, document = entry["in"], entry["is"]
    if collection not in ARCHIVED:
        raise ValueError(f"it holds documents of {collection!r}")
    keys = {FILES: "_id", CHUNKS: "files_id"}
    return str(document[keys[collection]]).partition("/")[0] if collection in keys else str(document["exp_key"])


def _restored(collection: str, document: Document, old: str, new: str, made: datetime) -> Document:
    """A document as it is put in: under its new name, held by nobody."""
    match collection:
        case "jobs" if document["state"] == State.RUNNING:
            return {**document, "exp_key": new} | _given_back(document, made)
        case "searches":
            config = document["config"]
            section = {**config["search"], "name": new}
            command = document.get("command") and _renamed_command(document["command"], old, new)
            return {**document, "exp_key": new, "driver": None, "command": command} | {
                "config": {**config, "search": section}
            }
        case "jobs" | "metrics":
            return {**document, "exp_key": new}
    key = "_id" if collection == FILES else "files_id"
    moved = {**document, key: new + document[key].removeprefix(old)}
    return moved if collection == CHUNKS else moved | {"metadata": {**document["metadata"], "exp_key": new}}


def _given_back(job: Document, made: datetime) -> Document:
    attempt = {
        "attempt": job["attempt"],
        "owner": job["owner"],
        "began": job["book_time"],
        "ended": made,
        "how": "restored",
        "reason": "the backup was made while it ran",
    }
    nobody = {"owner": None, "token": None, "lease_until": None}
    history = [*job["history"], attempt]
    return {"state": int(State.NEW), **nobody, "history": history, "version": job["version"] + 1}


def _renamed_command(command: str, old: str, new: str) -> str:
    words = shlex.split(command)
    pairs = zip(["", *words], words, strict=False)
    return shlex.join(new if before == "--name" and word == old else word for before, word in pairs)
