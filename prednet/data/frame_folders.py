"""Folders of numbered images: natural order, gaps in the numbers, and decoding in parallel."""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from prednet.data.images import IMAGE_SUFFIXES, decode_image, image_size, shown
from prednet.data.resize import narrow_note, resize_frame
from prednet.data.sources import Chunk, Target
from prednet.errors import DataError

_FRAMES_A_JOB = 8


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that orders `2.png` before `10.png`."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


def list_frames(folder: Path) -> list[Path]:
    """Image files directly in a folder, in natural order of their names. Hidden files are no frames."""
    return list_files(folder, IMAGE_SUFFIXES)


def list_files(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Files of these suffixes (lower case) directly in a folder, in natural order; no hidden ones."""
    names = [entry.name for entry in _scan(folder) if not entry.name.startswith(".")]
    return [folder / name for name in sorted(names, key=natural_key) if Path(name).suffix.lower() in suffixes]


def walk_folders(root: Path, prune: Callable[[Path], bool]) -> Iterator[Path]:
    """Every folder under root (root first) in natural order, each real folder once, so that links cannot loop.

    The folders for which `prune` is true are yielded, but not entered.
    """
    seen: set[tuple[int, int]] = set()
    stack = [root]
    while stack:
        folder = stack.pop()
        try:
            status = folder.stat()
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        yield folder
        if not prune(folder):
            stack += [Path(entry.path) for entry in reversed(_folders_in(folder))]


def frame_runs(frames: Sequence[Path], *, step: int | None = None) -> tuple[list[list[Path]], list[int]]:
    """Split frames where numbers are missing.

    Args:
        frames: in natural order; the number of a frame is the last one in its name.
        step: the expected difference between neighbours; None takes the commonest.

    Returns:
        (runs without a gap, the number of missing frames before each run but the first). Frames without
        numbers are one run.

    Raises:
        DataError: two files have the same frame number.
    """
    numbers = [number_of(frame.stem) for frame in frames]
    found = [number for number in numbers if number is not None]
    if len(found) < len(frames) or len(frames) < 2:
        return [list(frames)], []
    differences = [after - before for before, after in pairwise(found)]
    if 0 in differences:
        first = differences.index(0)
        raise DataError(
            f"{shown(frames[first])} and {shown(frames[first + 1])} have the same frame number."
            " Next: remove one of them"
        )
    stride = step or Counter(differences).most_common(1)[0][0]
    runs = [[frames[0]]]
    missing = []
    for frame, difference in zip(frames[1:], differences, strict=True):
        if difference == stride:
            runs[-1].append(frame)
        else:
            runs.append([frame])
            missing.append(max(1, difference // stride - 1) if difference > 0 else 0)
    return runs, missing


@dataclass(frozen=True)
class ImageRecording:
    """A run of image files (a `SourceRecording`). With `skip_bad`, unreadable frames become bad rows."""

    name: str
    group: str
    category: str
    source: str
    frames: tuple[Path, ...]
    skip_bad: bool = False

    def __len__(self) -> int:
        return len(self.frames)

    def part(self, start: int, stop: int) -> "ImageRecording":
        """See `SourceRecording.part`."""
        return replace(self, frames=self.frames[start:stop])

    def chunks(self, target: Target) -> Iterator[Callable[[], Chunk]]:
        """See `SourceRecording.chunks`. The jobs raise DataError for a bad frame or mixed sizes."""
        size = self._first_size()
        for first in range(0, len(self.frames), _FRAMES_A_JOB):
            yield _ImageJob(self, target, first, size)

    def _first_size(self) -> tuple[int, int]:
        for frame in self.frames:
            try:
                return image_size(frame)
            except DataError:
                if not self.skip_bad:
                    raise
        raise DataError(f"{self.source}: none of its {len(self)} frames can be read")


@dataclass(frozen=True)
class _ImageJob:
    """Decode and resize a few frames of one recording."""

    recording: ImageRecording
    target: Target
    first: int
    size: tuple[int, int]

    def __call__(self) -> Chunk:
        target = self.target
        files = self.recording.frames[self.first : self.first + _FRAMES_A_JOB]
        rows = np.zeros((len(files), target.height, target.width, 3), np.uint8)
        bad: dict[int, str] = {}
        note = narrow_note(*self.size, target.height, target.width)
        warnings = [f"{self.recording.group}: {note}"] if note and not self.first else []
        for row, file in enumerate(files):
            try:
                frame, warning = decode_image(file)
            except DataError as error:
                if not self.recording.skip_bad:
                    raise DataError(f"{error}. Next: replace the file, or use --skip-bad") from error
                bad[self.first + row] = str(error)
                continue
            if warning:
                warnings.append(warning)
            if frame.shape[:2] != self.size:
                raise DataError(
                    f"{shown(file)}: {frame.shape[1]}x{frame.shape[0]} pixels, but the frames of"
                    f" {self.recording.name} before it are {self.size[1]}x{self.size[0]}."
                    " Next: move frames of another size to a folder of their own"
                )
            rows[row] = resize_frame(frame, target.height, target.width, target.resize)
        return Chunk(self.first, rows, bad, tuple(warnings))


def image_recordings(
    frames: Sequence[Path], *, group: str, category: str, source: str, skip_bad: bool, step: int | None = None
) -> tuple[list[ImageRecording], list[str]]:
    """One recording per run of consecutive frames, and a warning with the counts where numbers are missing."""
    runs, missing = frame_runs(frames, step=step)
    warnings = []
    if missing:
        warnings.append(f"{group}: {gap_note(missing)}")
    recordings = [
        ImageRecording(part_name(group, index), group, category, source, tuple(run), skip_bad)
        for index, run in enumerate(runs)
    ]
    return recordings, warnings


def gap_note(missing: Sequence[int]) -> str:
    """What missing frame numbers did to a group, `missing` before each run but the first (`frame_runs`)."""
    lost = sum(missing)
    numbers = "1 frame number is" if lost == 1 else f"{lost} frame numbers are"
    return f"{numbers} missing; split into {len(missing) + 1} recordings"


def part_name(group: str, index: int) -> str:
    """Name of the index-th recording of a group: the group itself, then `group [2]`, `group [3]`, ..."""
    return group if index == 0 else f"{group} [{index + 1}]"


def number_of(stem: str) -> int | None:
    """The last number in a file's name, which counts its frame; None without one."""
    numbers = re.findall(r"\d+", stem)
    return int(numbers[-1]) if numbers else None


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise DataError(f"{shown(folder)}: cannot be listed: {error.strerror}") from error


def _folders_in(folder: Path) -> list[os.DirEntry[str]]:
    folders = []
    for entry in _scan(folder):
        try:
            if entry.is_dir():
                folders.append(entry)
        except OSError:
            # A link that points at itself (ELOOP) is no folder.
            continue
    return sorted(folders, key=lambda entry: natural_key(entry.name))
