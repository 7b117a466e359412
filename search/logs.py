"""`hms log`: what a trial or the workers wrote, and how the trial's attempts ended; and worker logs that rotate."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from search.checkpoints import LOG
from search.errors import FileDamaged, UsageError
from search.pace import FINAL
from search.paths import RunFolder
from search.store import Document, State, Store, waiting

ROTATED_BYTES = 10 * 2**20
ROTATED_KEPT = 3
FOLLOW_SECONDS = 0.5
LOOK_SECONDS = 2.0
TAIL_BYTES = 2**20

Say = Callable[[str], None]


def rotate(log: Path, limit: int = ROTATED_BYTES) -> None:
    """Move what a log larger than `limit` bytes holds to `LOG.1`, older ones up to `LOG.3`.

    Copied and cut, since a process that appends to it may have it open; a line written in between is lost.
    """
    with contextlib.suppress(OSError):  # on a full disk the log stays as it is
        if not log.exists() or log.stat().st_size <= limit:
            return
        for number in range(ROTATED_KEPT, 1, -1):
            older = _rotated(log, number - 1)
            if older.exists():
                older.replace(_rotated(log, number))
        temporary = log.with_name(f".{log.name}.tmp")
        shutil.copyfile(log, temporary)
        temporary.replace(_rotated(log, 1))
        with log.open("r+b") as file:
            file.truncate(0)


def show_trial_log(
    store: Store, name: str, tid: int, folder: RunFolder, say: Say, *, lines: int = 40, follow: bool = False
) -> None:
    """The trial's log file and its end, its attempts, its error with the traceback; `follow`: until the trial ends.

    Where the workers share no folder, the log of a trial that ended is fetched from the store.

    Raises:
        UnknownSearch, UsageError: there is no such search or trial.
    """
    store.search(name)
    job = _job(store, name, tid)
    path = folder.trial(tid) / LOG
    if not path.exists():
        _fetch_log(store, name, tid, path, say)
    say(f"== {path}" + ("" if path.exists() else ": not on this machine"))
    if follow and job["state"] not in FINAL:
        _follow([path], lines, say, _until(lambda: _job(store, name, tid)["state"] in FINAL))
        job = _job(store, name, tid)
    elif path.exists():
        for line in tail(path, lines):
            say(line)
    for line in _attempts(job):
        say(line)


def show_worker_logs(
    store: Store, name: str, folder: RunFolder, say: Say, *, lines: int = 10, follow: bool = False
) -> None:
    """The ends of the workers' logs on this machine; `follow`: what they write until the search is finished."""
    search = store.search(name)
    logs = sorted(folder.logs.rglob("*.log")) + sorted(folder.root.rglob("*_log.out"))
    if not logs:
        raise UsageError(f"no worker of `{name}` wrote a log under {folder.root}; of one trial: hms log {name} --tid T")
    if follow and not search.get("finished"):
        _follow(logs, lines, say, _until(lambda: bool(store.search(name).get("finished"))))
        return
    for path in logs:
        say(f"== {path}")
        for line in tail(path, lines):
            say(line)


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a file, of its last megabyte."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
        found = file.read().decode(errors="replace").splitlines()
    return found[-lines:] if lines else []


def _fetch_log(store: Store, name: str, tid: int, path: Path, say: Say) -> None:
    for stored in store.files(name, tid):
        if stored.file == LOG:
            try:
                store.fetch_file(name, stored, path)
            except FileDamaged as error:
                say(str(error))


def _follow(paths: Sequence[Path], lines: int, say: Say, ended: Callable[[], bool]) -> None:
    """Say the last lines and what is appended, until `ended`; after the file's name where there are several."""
    readers = [(f"{path.stem}: " if len(paths) > 1 else "", _appended(path, lines)) for path in paths]
    last = False
    while True:
        for prefix, reader in readers:
            for line in next(reader):
                say(f"{prefix}{line}")
        if last:
            return
        last = ended()
        if not last:
            time.sleep(FOLLOW_SECONDS)


def _appended(path: Path, lines: int) -> Iterator[list[str]]:
    """First the last whole lines, then at each step those that came; from the start again when the file was cut."""
    position = max(0, path.stat().st_size - TAIL_BYTES) if path.exists() else 0
    rest, first = b"", True
    while True:
        data = b""
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            if file.seek(0, 2) < position:
                position, rest = 0, b""
            file.seek(position)
            data = file.read()
            position += len(data)
        *whole, rest = (rest + data).split(b"\n")
        whole = whole[max(0, len(whole) - lines) :] if first else whole
        first = False
        yield [line.decode(errors="replace") for line in whole]


def _until(condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, asked at most every other second: the store is not asked as often as files are read."""
    asked = -LOOK_SECONDS

    def ended() -> bool:
        nonlocal asked
        if time.monotonic() - asked < LOOK_SECONDS:
            return False
        asked = time.monotonic()
        return waiting(condition)

    return ended


def _job(store: Store, name: str, tid: int) -> Document:
    job = store.job(name, tid)
    if job is None:
        raise UsageError(f"`{name}` has no trial {tid}: see `hms status {name}`")
    return job


def _attempts(job: Document) -> list[str]:
    """How each attempt ended, and the error."""
    lines = [f"== trial {job['tid']}: {State(job['state']).name}, {job['attempt']} attempts"]
    for attempt in job["history"]:
        owner = attempt.get("owner") or {}
        where = f"{owner.get('host', '?')} pid {owner.get('pid', '?')}" if isinstance(owner, dict) else str(owner)
        when = " to ".join(f"{attempt[key]:%F %T}" for key in ("began", "ended") if attempt.get(key))
        reason = f" ({attempt['reason']})" if attempt.get("reason") else ""
        lines.append(f"attempt {attempt['attempt']} on {where}, {when} UTC: {attempt['how']}{reason}")
    error = job.get("error") or {}
    lines += [f"error: {error['message']}"] if error.get("message") else []
    return lines + (error.get("traceback") or "").splitlines()


def _rotated(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
