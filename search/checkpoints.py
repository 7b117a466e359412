"""Where checkpoints and artifacts of trials lie: in the run's folder, which workers share, or in the store as well.

A trial's own process knows files of its folders only. Its worker makes sure that those which the store names are there
before an attempt (`fetch`), that other workers can get them before the store names them (`put`), and that they go when
nobody will ask for them again (`delete`). A checkpoint is {epoch, trained, file, sha256}; `file` is a plain name.

What a finished trial leaves lies in the folder of its attempt until the store took the result, so that an attempt that
lost its lease overwrites nothing; then it moves to the trial's folder (`settle`).
"""

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from search.config import SearchConfig
from search.errors import FileDamaged
from search.paths import RunFolder, attempt_name
from search.store import Job, State, Store
from search.store.files import CHECKPOINT_PREFIX

WEIGHTS = ("network.pt", "best.pt")
SHOWN = ("rdm.npz", "predictions.npz")
LOG = "log.txt"
ARTIFACTS = (*WEIGHTS, *SHOWN, "curve.csv", LOG)
"""What stays of a finished trial, where its learner made it."""

Info = Mapping[str, Any]


class CheckpointStore(Protocol):
    """What both kinds do. Store errors pass through; an outage leaves nothing that a repetition would not mend."""

    def fetch(self, job: Job, infos: Sequence[Info], say: Callable[[str], None]) -> None:
        """Bring the checkpoints that are missing or broken in the trial's folder, as far as there is a whole copy."""

    def put(self, job: Job, names: Sequence[str], stopped: Callable[[], bool]) -> None:
        """Make files of this attempt available to other workers. Raises `OSError` for one that is not there."""

    def delete(self, tid: int, names: Iterable[str]) -> None:
        """Delete files of a trial, here and where other workers would get them."""

    def path(self, job: Job, name: str) -> Path:
        """Where a file of this attempt lies: in its own folder, or in the trial's."""

    def conclude(self, tid: int) -> None:
        """For a trial that is final: artifacts move to its folder; checkpoints go, and what dead attempts left."""

    def sweep(self) -> None:
        """Do so for all trials, where a worker died before it could."""


def checkpoint_store(store: Store, config: SearchConfig, folder: RunFolder) -> "CheckpointStore":
    """As `search.checkpoints` says."""
    kind = GridFsCheckpoints if config.search.checkpoints == "gridfs" else FileCheckpoints
    return kind(store, config.search.name, folder)


class FileCheckpoints:
    """The run's folder, on this machine's disk or on a file system that all workers share."""

    def __init__(self, store: Store, name: str, folder: RunFolder) -> None:
        self.store, self.name, self.folder = store, name, folder

    def fetch(self, job: Job, infos: Sequence[Info], say: Callable[[str], None]) -> None:
        """Nothing: what is not here is nowhere."""

    def put(self, job: Job, names: Sequence[str], stopped: Callable[[], bool]) -> None:
        """Nothing but a look: a file that was written is where it belongs."""
        for name in names:
            self.path(job, name).stat()

    def delete(self, tid: int, names: Iterable[str]) -> None:
        """See `CheckpointStore`."""
        for name in names:
            _unlink(self.folder.trial(tid) / name)

    def path(self, job: Job, name: str) -> Path:
        """See `CheckpointStore`."""
        own = self.folder.attempt(job.tid, job.token) / name
        return own if own.exists() else self.folder.trial(job.tid) / name

    def conclude(self, tid: int) -> None:
        """See `CheckpointStore`."""
        for path in _checkpoints(self.folder, f"{tid:06d}"):
            _unlink(path)
        settle(self.store, self.name, self.folder, tid)

    def sweep(self) -> None:
        """See `CheckpointStore`. Each trial's folder is looked into: for the start of a worker."""
        found, attempts = _checkpoints(self.folder, "*[0-9]"), self.folder.attempts()
        final = self.store.endings(self.name) if found or attempts else {}
        for path in found:
            if int(path.parent.name) in final:
                _unlink(path)
        for path in attempts:
            if final.get(int(path.parent.name), (None,))[0] == State.CANCEL:
                shutil.rmtree(path, ignore_errors=True)
        settle(self.store, self.name, self.folder)


class GridFsCheckpoints(FileCheckpoints):
    """The store keeps a copy of every file; the run's folder is each machine's own."""

    def fetch(self, job: Job, infos: Sequence[Info], say: Callable[[str], None]) -> None:
        """See `CheckpointStore`."""
        folder = self.folder.trial(job.tid)
        wanted = [info for info in infos if _sha256(folder / info["file"]) != info["sha256"]]
        stored = {file.file: file for file in self.store.files(self.name, job.tid)} if wanted else {}
        for info in wanted:
            try:
                if info["file"] not in stored:
                    raise FileDamaged(f"{info['file']} is neither in {folder} nor in the store")
                self.store.fetch_file(self.name, stored[info["file"]], folder / info["file"])
                say(f"trial {job.tid}: fetched {info['file']}")
            except (FileDamaged, OSError) as error:
                say(f"trial {job.tid}: a checkpoint cannot be fetched: {error}")

    def put(self, job: Job, names: Sequence[str], stopped: Callable[[], bool]) -> None:
        """See `CheckpointStore`."""
        for name in names:
            self.store.put_file(job, self.path(job, name), stopped)

    def delete(self, tid: int, names: Iterable[str]) -> None:
        """See `CheckpointStore`."""
        names = list(names)
        super().delete(tid, names)
        self.store.remove_files(self.name, tid, names)

    def conclude(self, tid: int) -> None:
        """See `CheckpointStore`."""
        super().conclude(tid)
        self.store.sweep_files(self.name, tid)

    def sweep(self) -> None:
        """See `CheckpointStore`."""
        super().sweep()
        self.store.sweep_files(self.name)


def named_checkpoints(job: Job) -> list[dict[str, Any]]:
    """The checkpoints that the store names, newest first; a name that leads out of the trial's folder is none."""
    newest = job.checkpoint or {}
    infos = [{key: info[key] for key in info if key != "previous"} for info in (newest, newest.get("previous")) if info]
    return [info for info in infos if Path(str(info["file"])).name == info["file"]]


def fetch_artifacts(store: Store, name: str, folder: RunFolder, names: Iterable[str]) -> list[str]:
    """Bring artifacts of finished trials from the store to this machine's run folder; what could not be had, in words.

    Where `search.checkpoints` is `file` the store holds none, and they are brought from the folders of their attempts.
    """
    settle(store, name, folder)
    wanted, missed = frozenset(names), []
    stored = [file for file in store.files(name) if file.file in wanted]
    tokens = store.finished_tokens(name) if stored else {}
    for file in stored:
        target = folder.trial(file.tid) / file.file
        if tokens.get(file.tid) == file.token and _sha256(target) != file.sha256:
            try:
                store.fetch_file(name, file, target)
            except FileDamaged as error:
                missed.append(str(error))
    return missed


def settle(store: Store, name: str, folder: RunFolder, tid: int | None = None) -> None:
    """Move artifacts from the attempts that finished a trial, or any, to the trials' folders; other attempts' go.

    A worker does so after `finish`; where it died in between, the next worker or export does. May be repeated, and by
    several at once. What cannot be moved now stays.
    """
    attempts = folder.attempts() if tid is None else folder.attempts(f"{tid:06d}")
    tokens = store.finished_tokens(name, tid) if attempts else {}
    for attempt in attempts:
        token = tokens.get(int(attempt.parent.name))
        if token is not None and (attempt.name != attempt_name(token) or _moved(attempt)):
            shutil.rmtree(attempt, ignore_errors=True)


def _moved(attempt: Path) -> bool:
    for file in (*WEIGHTS, *SHOWN):
        try:
            (attempt / file).replace(attempt.parent / file)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _checkpoints(folder: RunFolder, trial: str) -> list[Path]:
    """Checkpoints, and those whose writing was cut short, in the folders of trials that match a pattern."""
    patterns = (f"{CHECKPOINT_PREFIX}*", f".{CHECKPOINT_PREFIX}*.tmp")
    return [path for pattern in patterns for path in folder.root.glob(f"trials/{trial}/{pattern}")]


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):  # it only takes room
        path.unlink(missing_ok=True)


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
