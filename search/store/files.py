"""Files of trials in MongoDB, for workers that share no file system: checkpoints, and what a finished trial leaves.

The layout is GridFS's (bucket `trial_files`), so that `mongofiles` and every driver read it. An `_id` is
NAME/TID/TOKEN/FILE: no two reservations write the same file, and a token that ended tells whose pieces are left over.
Pieces of 1 MB are written one by one and by their number: each arrives within the time of one operation behind a slow
line, and a repetition after an outage overwrites. A file exists once its `files` document does, which comes last.
"""

import hashlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.errors import FileDamaged
from search.store.connection import Connection, speaks_mongo
from search.store.contract import BUCKET, Document, Job, State
from search.store.fencing import literal

CHUNK_BYTES = 2**20
CHECKPOINT_PREFIX = "checkpoint-"


@dataclass(frozen=True)
class StoredFile:
    """A whole file in the store; `token` is the reservation that wrote it, `sha256` hexadecimal."""

    tid: int
    token: str
    file: str
    bytes: int
    sha256: str


class Files(Connection):
    """Put, fetch and remove files of trials. They are no state: what a trial is, its document alone says."""

    @speaks_mongo
    def put_file(self, job: Job, path: Path, stopped: Callable[[], bool] = lambda: False) -> StoredFile | None:
        """Store a file under its own name and the reservation of `job`; a repetition replaces it.

        None, and nothing that could be fetched, when `stopped()` became true before the last piece.

        Raises:
            OSError: the file cannot be read.
        """
        key = f"{job.name}/{job.tid:06d}/{job.token}/{path.name}"
        digest, count, length = hashlib.sha256(), 0, 0
        with path.open("rb") as file:
            while block := file.read(CHUNK_BYTES):
                if stopped():
                    return None
                piece = {"files_id": key, "n": count}
                self._chunks.replace_one(piece, {**piece, "data": block}, upsert=True)
                digest.update(block)
                count, length = count + 1, length + len(block)
        self._chunks.delete_many({"files_id": key, "n": {"$gte": count}})
        facts = {"exp_key": job.name, "tid": job.tid, "token": job.token, "sha256": digest.hexdigest()}
        document = {"_id": key, "filename": path.name, "length": length, "chunkSize": CHUNK_BYTES, "metadata": facts}
        update = [{"$replaceWith": {"$mergeObjects": [literal(document), {"uploadDate": "$$NOW"}]}}]
        self._files.update_one({"_id": key}, update, upsert=True)
        return StoredFile(job.tid, job.token, path.name, length, digest.hexdigest())

    @speaks_mongo
    def fetch_file(self, name: str, stored: StoredFile, target: Path) -> None:
        """Write a stored file to `target`, whole or not at all.

        Raises:
            FileDamaged: pieces are missing, or its sha256 is another than recorded.
            OSError: the target cannot be written.
        """
        key = _id(name, stored)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        try:
            with temporary.open("wb") as file:
                for piece in self._chunks.find({"files_id": key}).sort("n", 1):
                    digest.update(piece["data"])
                    file.write(piece["data"])
                file.flush()
                os.fsync(file.fileno())
            if digest.hexdigest() != stored.sha256:
                raise FileDamaged(
                    f"{stored.file} of trial {stored.tid} is damaged in the store: its sha256 is "
                    f"{digest.hexdigest()[:12]}..., recorded was {stored.sha256[:12]}..."
                )
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    @speaks_mongo
    def files(self, name: str, tid: int | None = None) -> list[StoredFile]:
        """The whole files of a search, or of one trial, by (tid, token, file)."""
        found = self._files.find({"_id": within(name, tid)}).sort("_id", 1)
        return [
            StoredFile(
                d["metadata"]["tid"], d["metadata"]["token"], d["filename"], d["length"], d["metadata"]["sha256"]
            )
            for d in found
        ]

    @speaks_mongo
    def remove_files(self, name: str, tid: int | None = None, names: Collection[str] | None = None) -> int:
        """Remove the files of a search or of one trial, all or those of certain names; how many there were."""
        keys = [key for key in self._keys(name, tid) if names is None or _parts(key)[2] in names]
        return self._remove(keys)

    @speaks_mongo
    def sweep_files(self, name: str, tid: int | None = None) -> int:
        """Remove what nobody will ask for: left by reservations that ended, and checkpoints of final trials.

        Safe at any time and from any worker: files are listed before trials are read, and an ended token never returns.
        """
        keys = self._keys(name, tid)
        fields = {"_id": False, "tid": True, "state": True, "token": True, "checkpoint": True}
        query: Document = {"exp_key": name} if tid is None else {"exp_key": name, "tid": tid}
        jobs = {job["tid"]: job for job in self._jobs.find(query, fields)} if keys else {}
        return self._remove([key for key in keys if not _wanted(jobs.get(_parts(key)[0]), *_parts(key)[1:])])

    @property
    def _files(self) -> Any:
        return self._jobs.database[f"{BUCKET}.files"]

    @property
    def _chunks(self) -> Any:
        return self._jobs.database[f"{BUCKET}.chunks"]

    def _keys(self, name: str, tid: int | None) -> list[str]:
        """The `_id` of every file and of every piece whose file was never completed."""
        groups = self._chunks.aggregate(
            [{"$match": {"files_id": within(name, tid)}}, {"$group": {"_id": "$files_id"}}], hint="files_id_1_n_1"
        )
        whole = self._files.find({"_id": within(name, tid)}, {"_id": True})
        return sorted({document["_id"] for cursor in (groups, whole) for document in cursor})

    def _remove(self, keys: list[str]) -> int:
        for start in range(0, len(keys), 1000):
            batch = {"$in": keys[start : start + 1000]}
            self._files.delete_many({"_id": batch})
            self._chunks.delete_many({"files_id": batch})
        return len(keys)


def _wanted(job: Document | None, token: str, file: str) -> bool:
    if job is None:
        return False
    newest = job["checkpoint"] or {}
    named = {newest.get("file"), (newest.get("previous") or {}).get("file")}
    if file.startswith(CHECKPOINT_PREFIX) and job["state"] != State.RUNNING:
        return file in named and job["state"] in (State.NEW, State.ERROR)
    return file in named or token == job["token"]


def _id(name: str, stored: StoredFile) -> str:
    return f"{name}/{stored.tid:06d}/{stored.token}/{stored.file}"


def _parts(key: str) -> tuple[int, str, str]:
    """(tid, token, file) of an `_id`; none of the parts holds a slash."""
    _, tid, token, file = key.split("/")
    return int(tid), token, file


def within(name: str, tid: int | None = None) -> Document:
    """Matches the `_id` of every file of a search or trial: `0` follows `/` in the order of characters."""
    prefix = name if tid is None else f"{name}/{tid:06d}"
    return {"$gte": f"{prefix}/", "$lt": f"{prefix}0"}
