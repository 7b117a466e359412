"""What a reader hands to the cache builder: recordings that yield resized frames, assigned to splits."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prednet.data.images import shown
from prednet.data.resize import ResizeMode
from prednet.errors import DataError

Progress = Callable[[str, int, int], None]
MIN_FRAMES = 10  # the sequence length of Lotter et al.; a shorter recording yields no sequence
SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Target:
    """Size of the cached frames in pixels, and how they are reduced to it."""

    height: int
    width: int
    resize: ResizeMode


@dataclass(frozen=True)
class Chunk:
    """Resized frames of a recording: rows first .. first + len(frames) - 1.

    `bad` names rows (counted within the recording) that could not be read; their pixels are zero.
    """

    first: int
    frames: NDArray[np.uint8]  # (k, height, width, 3)
    bad: Mapping[int, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class SourceRecording(Protocol):
    """Consecutive frames of one camera, without a gap or a cut inside.

    `group` names the drive, clip or file that it was cut from: a group never lies on both sides of a split
    (except where only one recording exists, see `holdout`).
    """

    @property
    def name(self) -> str:
        """Unique within a dataset."""

    @property
    def group(self) -> str:
        """The drive, clip or file that this recording is a part of."""

    @property
    def category(self) -> str:
        """For example `city`; empty where the source has none."""

    @property
    def source(self) -> str:
        """Where the frames come from, for a person to read."""

    def __len__(self) -> int: ...

    def part(self, start: int, stop: int) -> "SourceRecording":
        """The frames start .. stop - 1 as a recording of the same name and group."""

    def chunks(self, target: Target) -> Iterator[Callable[[], Chunk]]:
        """Jobs that may run in parallel, and together yield every frame once.

        The iterator itself runs in one thread, and is where a sequential decoder reads.
        """


@dataclass(frozen=True)
class Plan:
    """Everything that the builder needs: which recordings go to which split, and what to record about it."""

    splits: Mapping[str, tuple[SourceRecording, ...]]
    held_out: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What was asked for. Two requests with the same key give the same cache."""

    kind: str
    source: str
    target: Target
    options: Mapping[str, Any]
    source_fingerprint: str
    resize_label: str = ""  # recorded as the resize mode where it is not the target's
    inputs: Mapping[str, Any] = field(default_factory=dict)  # the paths given, by argument; not part of the key
    files: "SourceFiles | None" = None  # recorded beside the frames, to name what changed

    @property
    def key(self) -> str:
        """sha256 of the source fingerprint and all options."""
        target = [self.target.height, self.target.width, self.target.resize]
        wanted = [self.kind, target, dict(self.options), self.source_fingerprint]
        return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class SourceFiles:
    """Name (relative to the source), size in bytes and modification time in ns of each file that is read."""

    stats: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, files: Iterable[Path], root: Path) -> "SourceFiles":
        """Of files that exist, in the order given. Raises DataError when one has gone."""
        stats = []
        for file in files:
            try:
                status = file.stat()
            except OSError as error:
                raise DataError(f"{shown(file)}: cannot be read: {error.strerror}") from error
            stats.append((os.path.relpath(file, root), status.st_size, status.st_mtime_ns))
        return cls(tuple(stats))

    @property
    def fingerprint(self) -> str:
        """sha256 over names, sizes and times. Contents are not read: KITTI has 35 GB of them."""
        digest = hashlib.sha256()
        for name, size, modified in self.stats:
            digest.update(os.fsencode(name) + f"\0{size}\0{modified}\n".encode())
        return digest.hexdigest()


def fingerprint_files(files: Iterable[Path], root: Path) -> str:
    """The fingerprint of `SourceFiles.of(files, root)`. Raises DataError when a file has gone."""
    return SourceFiles.of(files, root).fingerprint


def long_enough(recordings: Iterable[SourceRecording], min_frames: int) -> tuple[list[SourceRecording], list[str]]:
    """Recordings of at least `min_frames` frames, and a warning by name for each of the others."""
    kept: list[SourceRecording] = []
    warnings: list[str] = []
    for recording in recordings:
        if len(recording) >= min_frames:
            kept.append(recording)
        else:
            warnings.append(f"{recording.name}: left out, {len(recording)} frames are fewer than {min_frames}")
    return kept, warnings
