"""What an inspection of a folder or file finds: plain facts about recordings, what is wrong, what would be used."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prednet.data.frame_folders import frame_runs, gap_note, number_of
from prednet.data.images import shown
from prednet.data.inspection.image_facts import ImageFacts
from prednet.data.resize import narrow_note
from prednet.errors import DataError

ReadFrame = Callable[[int], NDArray[np.uint8]]


@dataclass(frozen=True)
class FoundRecording:
    """One camera of a drive, one clip, or one run of a release, as it lies on disk.

    `sizes`, `formats` and `colours` count frames: {"1242x375": 28}, {"PNG": 28}, {"colour": 28}. `numbers` are the
    first and last frame number of each run without a gap; `bad` frames cannot be read. `read` gives frame i whole,
    (h, w, 3) uint8.
    """

    name: str
    frames: int
    category: str = ""
    camera: str = ""
    source: str = ""
    rate: float | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    formats: Mapping[str, int] = field(default_factory=dict)
    colours: Mapping[str, int] = field(default_factory=dict)
    numbers: tuple[tuple[int, int], ...] = ()
    missing: int = 0
    bad: int = 0
    read: ReadFrame | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but `read`, for JSON."""
        return {name: value for name, value in self.__dict__.items() if name != "read"}


@dataclass(frozen=True)
class Way:
    """One way to prepare what was found: its command, and what would be used (a preview) or why it would stop."""

    label: str
    command: str
    preview: Mapping[str, Any] | None = None
    error: str = ""


@dataclass(frozen=True)
class Inspection:
    """One kind of data at one path. `problems` name every bad file; `ways` begin with the one to choose."""

    path: str
    kind: str
    title: str
    recordings: tuple[FoundRecording, ...] = ()
    facts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "path": self.path,
            "kind": self.kind,
            "title": self.title,
            "recordings": [recording.to_dict() for recording in self.recordings],
            "facts": list(self.facts),
            "problems": list(self.problems),
            "ways": [dict(way.__dict__) for way in self.ways],
        }


def recording_of_images(
    name: str, pictures: list[ImageFacts], read: ReadFrame, *, step: int | None, rate: float | None = None, **more: str
) -> tuple[FoundRecording, list[str]]:
    """(a recording of image files in natural order, what is wrong with it: each bad or odd file by name)."""
    problems = [picture.error or picture.warning for picture in pictures if picture.error or picture.warning]
    sizes = Counter(f"{picture.size[1]}x{picture.size[0]}" for picture in pictures if picture.size)
    if len(sizes) > 1:
        problems.append(f"{name}: mixed sizes ({counted(sizes)}): {_odd_ones(pictures, sizes)}")
    numbers: tuple[tuple[int, int], ...] = ()
    missing = 0
    try:
        runs, gaps = frame_runs([picture.file for picture in pictures], step=step)
        numbers, missing = _spans(runs), sum(gaps)
        if gaps:
            problems.append(f"{name}: {gap_note(gaps)}")
    except DataError as error:
        problems.append(str(error))
    found = FoundRecording(
        name,
        len(pictures),
        rate=rate,
        sizes=sizes,
        formats=Counter(picture.format for picture in pictures if picture.format),
        colours=Counter(picture.colour for picture in pictures if picture.colour),
        numbers=numbers,
        missing=missing,
        bad=sum(bool(picture.error) for picture in pictures),
        read=read,
        **more,
    )
    return found, problems


def counted(counts: Mapping[str, int]) -> str:
    """`1242x375` when all are alike, else `1242x375 (27), 621x188 (1)`, the commonest first."""
    if len(counts) < 2:
        return next(iter(counts), "?")
    return ", ".join(f"{name} ({n})" for name, n in sorted(counts.items(), key=lambda item: -item[1]))


def listed(names: Sequence[str], most: int = 6) -> str:
    """`a, b, c`, with a count in place of what is beyond `most`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def attempted(label: str, command: str, preview: Callable[[], Mapping[str, Any]]) -> Way:
    """A way with its preview, or with the message that preparing would end with."""
    try:
        return Way(label, command, preview())
    except DataError as error:
        return Way(label, command, error=str(error))


def narrow_facts(recordings: Sequence[FoundRecording], height: int = 128, width: int = 160) -> list[str]:
    """A sentence for each recording narrower than height x width, which is cropped in height (`scaled_size`)."""
    facts = []
    for recording in recordings:
        for size in recording.sizes:
            w, h = map(int, size.split("x"))
            if note := narrow_note(h, w, height, width):
                facts.append(f"{recording.name}: {note}")
    return facts


def _odd_ones(pictures: list[ImageFacts], sizes: Counter[str]) -> str:
    usual = sizes.most_common(1)[0][0]
    odd = [picture for picture in pictures if picture.size and f"{picture.size[1]}x{picture.size[0]}" != usual]
    return ", ".join(f"{shown(p.file.name)} is {p.size[1]}x{p.size[0]}" for p in odd if p.size)


def _spans(runs: list[list[Path]]) -> tuple[tuple[int, int], ...]:
    ends = [(number_of(run[0].stem), number_of(run[-1].stem)) for run in runs if run]
    return tuple((first, last) for first, last in ends if first is not None and last is not None)
