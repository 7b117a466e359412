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

from prednet.data.cache import BUILDING, CACHE_VERSION, META_NAME, REQUEST_NAME, SOURCES_NAME, VideoDataset
from prednet.data.fill import SplitFile, fill_splits
from prednet.data.images import shown
from prednet.data.sources import Plan, Progress, Request
from prednet.errors import DataError

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_HASH_BYTES = 1 << 24
FRAMES_NAME = re.compile(r"(train|val|test)-[0-9a-f]{12}\.npy")


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
    existing = _finished(dest, request)
    if existing and existing.meta.get("inputs", {}) == dict(request.inputs):
        return existing
    with _os_errors(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        with _locked(dest, tell):
            existing = _finished(dest, request)
            return _moved(existing, request) if existing else _build(dest, request, make_plan, workers, tell)


def is_prepared(dest: Path, request: Request) -> bool:
    """Whether the dataset at `dest` is what this request gives."""
    return _finished(dest, request) is not None


def _moved(dataset: VideoDataset, request: Request) -> VideoDataset:
    """The same frames from another place: only where they came from is written again."""
    meta = {**dataset.meta, "source": request.source, "inputs": dict(request.inputs)}
    _write_sources(dataset.path, request)
    _write_json(dataset.path / META_NAME, meta)
    return VideoDataset.open(dataset.path)


def _write_sources(folder: Path, request: Request) -> None:
    if request.files is not None:
        _write_json(folder / SOURCES_NAME, {"files": request.files.stats})


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    # ASCII, so that undecodable names (lone surrogates) survive.
    temporary.write_text(json.dumps(content, indent=None if file.name == SOURCES_NAME else 1), encoding="ascii")
    temporary.replace(file)


def _finished(dest: Path, request: Request) -> VideoDataset | None:
    try:
        dataset = VideoDataset.open(dest)
    except DataError:
        return None
    files = [dest / entry["file"] for entry in dataset.meta["splits"].values()]
    if dataset.meta["key"] != request.key or not all(file.is_file() for file in files):
        return None
    return dataset


def build_lock(dest: Path) -> FileLock:
    """The lock that whoever builds or deletes the dataset at `dest` holds."""
    return FileLock(dest.parent / f".{dest.name}.lock")


@contextmanager
def _locked(dest: Path, tell: Progress) -> Iterator[None]:
    lock = build_lock(dest)
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
    working = dest / BUILDING
    try:
        plan = make_plan()
        dest.mkdir(exist_ok=True)
        _start_or_resume(working, request)
        with _no_space(dest, request, plan):
            files = fill_splits(working, request.target, plan.splits, workers or usable_cores(), tell)
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
    _write_json(working / REQUEST_NAME, _asked(request))
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
        digest = sha256_of(file.path)
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
        **_asked(request),
        "source_fingerprint": request.source_fingerprint,
        "key": request.key,
        "held_out": plan.held_out,
        "warnings": list(dict.fromkeys([*plan.warnings, *decoding])),
        "splits": splits,
    }
    meta["fingerprint"] = _fingerprint(meta)
    _write_json(working / META_NAME, meta)
    _write_sources(working, request)
    for name, file in files.items():
        file.path.replace(dest / splits[name]["file"])
    for name in (SOURCES_NAME, META_NAME):
        if (working / name).exists():
            (working / name).replace(dest / name)
    _sweep(dest)
    shutil.rmtree(working, ignore_errors=True)
    tell("checking the prepared frames", len(files), len(files))
    return VideoDataset.open(dest)


def _asked(request: Request) -> dict[str, Any]:
    """The part of `meta.json` that is known before anything is built."""
    return {
        "kind": request.kind,
        "source": request.source,
        "inputs": dict(request.inputs),
        "size": [request.target.height, request.target.width],
        "resize": request.resize_label or request.target.resize,
        "options": dict(request.options),
    }


def _sweep(dest: Path) -> None:
    """Delete frame files that the dataset at `dest` (if there is one) does not name."""
    try:
        current = {entry["file"] for entry in VideoDataset.open(dest).meta["splits"].values()}
    except DataError:
        current = set()
    for file in dest.glob("*.npy"):
        # Only names that `_publish` gives: the folder may hold arrays of the user.
        if FRAMES_NAME.fullmatch(file.name) and file.name not in current:
            file.unlink(missing_ok=True)


def _fingerprint(meta: Mapping[str, Any]) -> str:
    """Of the content alone: paths and times differ between machines that hold the same data."""
    splits = {
        name: [entry["sha256"], [[r["name"], r["offset"], r["length"]] for r in entry["recordings"]]]
        for name, entry in meta["splits"].items()
    }
    content = [meta["version"], meta["size"], meta["resize"], splits]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file's content."""
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


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
