"""The recordings of one video file: which frames to take, and decoding them in order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from prednet.data.frame_folders import part_name
from prednet.data.images import shown
from prednet.data.resize import narrow_note, resize_frame
from prednet.data.sources import Chunk, Target
from prednet.data.video_scan import decode_video, rgb, scan_video
from prednet.errors import DataError

_FRAMES_A_JOB = 8


@dataclass(frozen=True)
class VideoRecording:
    """Chosen frames of a video (a `SourceRecording`).

    `indices` count decoded frames from 0. `stamps` are their presentation times in units of the stream, by
    which decoding can begin at the nearest key frame; None where the file carries no times.
    """

    name: str
    group: str
    category: str
    file: Path
    indices: tuple[int, ...]
    stamps: tuple[int, ...] | None

    @property
    def source(self) -> str:
        """The file and the frames that this recording spans."""
        return f"{shown(self.file)} frames {self.indices[0]}-{self.indices[-1]}"

    def __len__(self) -> int:
        return len(self.indices)

    def part(self, start: int, stop: int) -> "VideoRecording":
        """See `SourceRecording.part`."""
        stamps = None if self.stamps is None else self.stamps[start:stop]
        return replace(self, indices=self.indices[start:stop], stamps=stamps)

    def chunks(self, target: Target) -> Iterator[Callable[[], Chunk]]:
        """See `SourceRecording.chunks`."""
        pending: list[NDArray[np.uint8]] = []
        first = 0
        for frame in self.decoded():
            pending.append(rgb(frame))
            if len(pending) == _FRAMES_A_JOB or first + len(pending) == len(self):
                yield _ResizeJob(self.group, first, tuple(pending), target)
                first += len(pending)
                pending = []
        if first < len(self):
            raise DataError(f"{shown(self.file)}: {first} of {len(self)} frames came back; did the file change?")

    def decoded(self) -> Iterator[av.VideoFrame]:
        """The frames at their own size, in order."""
        if self.stamps is None:
            wanted = set(self.indices)
            frames = enumerate(frame for _, frame in decode_video(self.file))
            yield from (frame for index, frame in islice(frames, self.indices[-1] + 1) if index in wanted)
            return
        wanted = set(self.stamps)
        for attempt in (self.stamps[0], None):  # a wrong index may seek too far: then from the beginning
            started = False
            for _, frame in decode_video(self.file, start=attempt):
                if frame.pts is None:
                    continue
                if not started and attempt is not None and frame.pts > self.stamps[0]:
                    break
                started = True
                if frame.pts in wanted:
                    yield frame
                if frame.pts >= self.stamps[-1]:
                    return
            if started:
                return


@dataclass(frozen=True)
class _ResizeJob:
    group: str
    first: int
    frames: tuple[NDArray[np.uint8], ...]
    target: Target

    def __call__(self) -> Chunk:
        target = self.target
        rows = [resize_frame(frame, target.height, target.width, target.resize) for frame in self.frames]
        h, w = self.frames[0].shape[:2]
        note = None if self.first else narrow_note(h, w, target.height, target.width)
        return Chunk(self.first, np.stack(rows), warnings=(f"{self.group}: {note}",) if note else ())


def video_recordings(file: Path, *, group: str, fps: float | None) -> tuple[list[VideoRecording], list[str], float]:
    """(one recording between each two cuts, warnings, frames per second). Raises DataError."""
    scan = scan_video(file)
    if fps is not None and fps > scan.rate * 1.001:
        raise DataError(
            f"{shown(file)}: {fps:g} frames per second asked for, it has {scan.rate:.4g}; frames would repeat."
            f" Next: `--fps {scan.rate:.4g}` or less, or leave it out"
        )
    recordings = []
    edges = [0, *scan.cuts, len(scan.times)]
    for number, (start, stop) in enumerate(pairwise(edges)):
        chosen = np.arange(start, stop)
        if fps is not None:
            chosen = start + nearest_in_time(scan.times[start:stop], fps)
        indices = tuple(chosen.tolist())
        stamps = None if scan.stamps is None else tuple(scan.stamps[index] for index in indices)
        recordings.append(VideoRecording(part_name(group, number), group, "", file, indices, stamps))
    warnings = [f"{group}: {text}" for text in scan.warnings]
    if scan.cuts:
        warnings.append(f"{group}: {cut_note(scan.cuts)}")
    return recordings, warnings, fps or scan.rate


def cut_note(cuts: Sequence[int]) -> str:
    """`2 cuts, at frames 15, 35`."""
    places = ", ".join(map(str, cuts))
    return f"1 cut, at frame {places}" if len(cuts) == 1 else f"{len(cuts)} cuts, at frames {places}"


def nearest_in_time(times: NDArray[np.float64], fps: float) -> NDArray[np.int64]:
    """Indices of the frames nearest to times[0] + k / fps, k = 0, 1, ..., each at most once."""
    ticks = times[0] + np.arange(int((times[-1] - times[0]) * fps + 1e-6) + 1) / fps
    after = np.clip(np.searchsorted(times, ticks), 1, max(1, len(times) - 1))
    if len(times) == 1:
        return np.zeros(1, np.int64)
    # The margin sends ties to the earlier frame on every machine.
    earlier = ticks - times[after - 1] <= times[after] - ticks + 1e-9
    return np.unique(np.where(earlier, after - 1, after)).astype(np.int64)
