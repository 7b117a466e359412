"""Fills the frame files of a dataset under construction, recording by recording, so that it can resume."""

import json
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from prednet.data.frame_folders import part_name
from prednet.data.sources import Chunk, Progress, SourceRecording, Target


@dataclass(frozen=True)
class SplitFile:
    """A filled `.npy`, its recordings as they go into `meta.json`, and warnings from decoding."""

    path: Path
    rows: int
    recordings: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def fill_splits(
    working: Path,
    target: Target,
    splits: Mapping[str, Sequence[SourceRecording]],
    workers: int,
    progress: Progress,
) -> dict[str, SplitFile]:
    """Decode every recording of every split into `working/SPLIT.npy`.

    Raises:
        DataError: a frame is bad.
        OSError: the disk is full; all space is claimed before the first frame is decoded.
    """
    files = {}
    journal = _Journal(working / "journal.jsonl")
    for split, recordings in splits.items():
        files[split] = SplitFile(working / f"{split}.npy", sum(len(recording) for recording in recordings))
        if _allocate(files[split], target):
            journal.forget(split)
    meter = _Meter(progress, sum(file.rows for file in files.values()))
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        decoder = _Decoder(pool, target, 4 * workers, meter)
        for split, recordings in splits.items():
            offset = 0
            for recording in recordings:
                outcome = journal.find(split, offset)
                if outcome is None:
                    outcome = decoder.write(recording, files[split].path, offset)
                    journal.add(split, offset, outcome)
                else:
                    meter.add(len(recording))
                _enter(files[split], recording, offset, outcome)
                offset += len(recording)
    return files


@dataclass
class _Outcome:
    """What decoding one recording showed: unreadable rows (counted within it) with reasons, and warnings."""

    bad: dict[int, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass
class _Meter:
    progress: Progress
    total: int
    done: int = 0

    def add(self, frames: int) -> None:
        self.done += frames
        self.progress("decoding frames", self.done, self.total)


class _Journal:
    """Which recordings are on disk, one JSON line each, so that a killed build continues behind them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done: dict[tuple[str, int], _Outcome] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:
                break  # the kill came in the middle of this line
            bad = {int(row): reason for row, reason in entry["bad"].items()}
            self._done[entry["split"], entry["offset"]] = _Outcome(bad, entry["warnings"])

    def find(self, split: str, offset: int) -> _Outcome | None:
        return self._done.get((split, offset))

    def forget(self, split: str) -> None:
        self._done = {key: outcome for key, outcome in self._done.items() if key[0] != split}

    def add(self, split: str, offset: int, outcome: _Outcome) -> None:
        self._done[split, offset] = outcome
        entry = {"split": split, "offset": offset, "bad": outcome.bad, "warnings": outcome.warnings}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


@dataclass(frozen=True)
class _Decoder:
    """Decodes recordings in a thread pool (Pillow and zlib release the GIL) with a bounded queue."""

    pool: ThreadPoolExecutor
    target: Target
    queue: int
    meter: _Meter

    def write(self, recording: SourceRecording, path: Path, offset: int) -> _Outcome:
        row_bytes = self.target.height * self.target.width * 3
        outcome = _Outcome()
        with path.open("r+b") as file:
            start = _header_size(path) + offset * row_bytes
            for chunk in self._chunks(recording):
                # Not through a memmap: a full disk would then be a SIGBUS, not an error.
                file.seek(start + chunk.first * row_bytes)
                file.write(chunk.frames.tobytes())
                outcome.bad.update(chunk.bad)
                outcome.warnings += chunk.warnings
                self.meter.add(len(chunk.frames))
            file.flush()
            os.fsync(file.fileno())
        return outcome

    def _chunks(self, recording: SourceRecording) -> Iterator[Chunk]:
        pending: deque[Future[Chunk]] = deque()
        try:
            for job in recording.chunks(self.target):
                pending.append(self.pool.submit(job))
                if len(pending) >= self.queue:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _allocate(file: SplitFile, target: Target) -> bool:
    """Create the `.npy` with all of its space claimed; False when a full-size file is there already."""
    shape = (file.rows, target.height, target.width, 3)
    size = int(np.prod(shape))
    if file.path.exists() and file.path.stat().st_size == _header_size(file.path) + size:
        return False
    with file.path.open("wb") as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.flush()
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(stream.fileno(), stream.tell(), size)
        else:
            stream.truncate(stream.tell() + size)
    return True


def _header_size(path: Path) -> int:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise OSError(f"{path}: unexpected .npy version {version}")
        np.lib.format.read_array_header_1_0(file)
        return file.tell()


def _enter(file: SplitFile, recording: SourceRecording, offset: int, outcome: _Outcome) -> None:
    """Append the recording to its split, cut at the rows that could not be read."""
    file.warnings.extend(outcome.warnings)
    file.warnings.extend(f"skipped, recording split there: {reason}" for reason in outcome.bad.values())
    start = 0
    parts = 0
    for stop in [*sorted(outcome.bad), len(recording)]:
        if stop > start:
            file.recordings.append(
                {
                    "name": part_name(recording.name, parts),
                    "offset": offset + start,
                    "length": stop - start,
                    "category": recording.category,
                    "source": recording.source,
                }
            )
            parts += 1
        start = stop + 1
