"""Builds a dataset folder once: locked, in parallel, resumable, complete or not there at all."""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from prednet.data.cache import CACHE_VERSION, META_NAME, VideoDataset
from prednet.data.fill import SplitFile, fill_splits
from prednet.data.images import shown
from prednet.data.sources import Plan, Progress, Request
from prednet.errors import DataError

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_HASH_BYTES = 1 << 24
_FRAMES_NAME = re.compile(r"(train|val|test)-[0-9a-f]{12}\.npy")


def prepare(
    dest: str | Path,
    request: Request,
    make_plan: Callable[[], Plan],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> VideoDataset:
    """Return the dataset at `dest`, building it unless the same request already built it.

    Args:
        dest: folder of the dataset; created with its parents.
        request: what identifies the result. A dataset of another request at `dest` is replaced.
        make_plan: lists the recordings; called only when something must be built.
        workers: decoding threads; None takes the cores that this process may use.
        progress: called as progress(what, done, total).

    Of two builders one builds and the other waits for it. An interrupted build continues; a failed one
    leaves nothing behind.

    Raises:
        DataError: bad input, or no space (with the bytes needed).
    """
    dest = Path(dest)
    tell = progress or (lambda what, done, total: None)
    if existing := _finished(dest, request):
        return existing
    with _os_errors(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        with _locked(dest, tell):
            return _finished(dest, request) or _build(dest, request, make_plan, workers, tell)


def _finished(dest: Path, request: Request) -> VideoDataset | None:
    try:
        dataset = VideoDataset.open(dest)
    except DataError:
        return None
    files = [dest / entry["file"] for entry in dataset.meta["splits"].values()]
    if dataset.meta["key"] != request.key or not all(file.is_file() for file in files):
        return None
    return dataset


@contextmanager
def _locked(dest: Path, tell: Progress) -> Iterator[None]:
    lock = FileLock(dest.parent / f".{dest.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(f"waiting for the process that is preparing {shown(dest)}", 0, 1)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _os_errors(dest: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{shown(dest)}: cannot be written: {error.strerror or error}. Next: choose another place with HMS_DATA"
        ) from error


def _build(
    dest: Path, request: Request, make_plan: Callable[[], Plan], workers: int | None, tell: Progress
) -> VideoDataset:
    working = dest / ".building"
    try:
        plan = make_plan()
        dest.mkdir(exist_ok=True)
        _start_or_resume(working, request)
        with _no_space(dest, request, plan):
            files = fill_splits(working, request.target, plan.splits, workers or _cores(), tell)
            return _publish(dest, working, request, plan, files, tell)
    except Exception:
        shutil.rmtree(working, ignore_errors=True)
        _sweep(dest)
        # Only an empty folder goes; an older dataset that stood here stays as it was.
        with suppress(OSError):
            dest.rmdir()
        raise


def _start_or_resume(working: Path, request: Request) -> None:
    key_file = working / "key"
    if key_file.is_file() and key_file.read_text() == request.key:
        return
    shutil.rmtree(working, ignore_errors=True)
    working.mkdir()
    key_file.write_text(request.key)


@contextmanager
def _no_space(dest: Path, request: Request, plan: Plan) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        rows = sum(len(recording) for split in plan.splits.values() for recording in split)
        needed = rows * request.target.height * request.target.width * 3
        raise DataError(
            f"{shown(dest)}: no space ({error.strerror}): {rows} frames need {needed:,} bytes,"
            f" {shutil.disk_usage(dest).free:,} are free; nothing was left behind."
            " Next: free space, or choose another disk with HMS_DATA"
        ) from error


def _publish(
    dest: Path,
    working: Path,
    request: Request,
    plan: Plan,
    files: Mapping[str, SplitFile],
    tell: Progress,
) -> VideoDataset:
    splits: dict[str, Any] = {}
    for done, (name, file) in enumerate(files.items()):
        tell("checking the prepared frames", done, len(files))
        digest = _sha256(file.path)
        splits[name] = {
            "file": f"{name}-{digest[:12]}.npy",
            "sha256": digest,
            "rows": file.rows,
            "previous_frame_mse": previous_frame_mse(np.load(file.path, mmap_mode="r"), file.recordings),
            "recordings": file.recordings,
        }
    decoding = (text for file in files.values() for text in file.warnings)
    meta = {
        "version": CACHE_VERSION,
        "kind": request.kind,
        "source": request.source,
        "source_fingerprint": request.source_fingerprint,
        "key": request.key,
        "size": [request.target.height, request.target.width],
        "resize": request.resize_label or request.target.resize,
        "options": dict(request.options),
        "held_out": plan.held_out,
        "warnings": list(dict.fromkeys([*plan.warnings, *decoding])),
        "splits": splits,
    }
    meta["fingerprint"] = _fingerprint(meta)
    temporary = working / META_NAME
    temporary.write_text(json.dumps(meta, indent=1), encoding="utf-8")
    for name, file in files.items():
        file.path.replace(dest / splits[name]["file"])
    temporary.replace(dest / META_NAME)
    _sweep(dest)
    shutil.rmtree(working, ignore_errors=True)
    tell("checking the prepared frames", len(files), len(files))
    return VideoDataset.open(dest)


def _sweep(dest: Path) -> None:
    """Delete frame files that the dataset at `dest` (if there is one) does not name."""
    try:
        current = {entry["file"] for entry in VideoDataset.open(dest).meta["splits"].values()}
    except DataError:
        current = set()
    for file in dest.glob("*.npy"):
        # Only names that `_publish` gives: the folder may hold arrays of the user.
        if _FRAMES_NAME.fullmatch(file.name) and file.name not in current:
            file.unlink(missing_ok=True)


def _fingerprint(meta: Mapping[str, Any]) -> str:
    """Of the content alone: paths and times differ between machines that hold the same data."""
    splits = {
        name: [entry["sha256"], [[r["name"], r["offset"], r["length"]] for r in entry["recordings"]]]
        for name, entry in meta["splits"].items()
    }
    content = [meta["version"], meta["size"], meta["resize"], splits]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_HASH_BYTES):
            digest.update(block)
    return digest.hexdigest()


def previous_frame_mse(frames: NDArray[np.uint8], recordings: list[dict[str, Any]]) -> float | None:
    """Mean over neighbouring frames inside recordings and all pixels, in [0, 1]; None without a pair."""
    total, count = 0, 0
    for recording in recordings:
        first, last = recording["offset"], recording["offset"] + recording["length"] - 1
        for start in range(first, last, 64):
            block = frames[start : min(start + 64, last) + 1].astype(np.int16)
            difference = np.diff(block, axis=0).astype(np.int32)
            total += int(np.square(difference).sum(dtype=np.int64))
            count += difference.size
    return total / count / 255**2 if count else None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
