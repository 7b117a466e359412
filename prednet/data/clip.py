"""One video, folder of pictures or KITTI drive -> frames in memory at the size of a network, without preparing data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prednet.data.frame_folders import frame_runs, list_frames, walk_folders
from prednet.data.images import decode_image, shown
from prednet.data.kitti import KITTI_HZ
from prednet.data.resize import check_resize, narrow_note, resize_frame
from prednet.data.sources import Progress
from prednet.data.video_file import nearest_in_time
from prednet.data.video_scan import decode_video, rgb
from prednet.errors import DataError

_USUAL_RATE = 25.0


@dataclass(frozen=True)
class Clip:
    """Consecutive frames of one source.

    Attributes:
        frames: (T, H, W, 3) uint8.
        numbers: which frame of the source each one is, counted from 0.
        rate: frames per second.
        source: the file or folder that was read.
        notes: what a person should know: cropped sides, missing pictures.
    """

    frames: NDArray[np.uint8]
    numbers: tuple[int, ...]
    rate: float
    source: Path
    notes: tuple[str, ...] = ()


def read_clip(
    source: str | Path,
    height: int,
    width: int,
    *,
    start: int = 0,
    count: int | None = None,
    fps: float | None = None,
    progress: Progress | None = None,
) -> Clip:
    """Read frames, scaled to `height` and centre-cropped to `width` as `resize_frame` does ("antialias").

    Args:
        source: a video file, a folder of pictures in the order of their numbers, or a folder with one such folder
            below it. Of the cameras of a KITTI drive, image_03 is taken.
        height: pixels.
        width: pixels.
        start: the first frame to read, counted from 0.
        count: how many frames at most; None: all.
        fps: take frames at this rate, those nearest in time; None keeps every frame. Videos only.
        progress: called as progress("reading", done, total) where `count` is given.

    Raises:
        DataError: the source is missing, broken, no video, or has no frame `start`; an impossible rate or size.
    """
    check_resize(height, width, "antialias")
    if start < 0 or (count is not None and count < 1) or (fps is not None and not fps > 0):
        raise DataError(
            f"start={start}, count={count}, fps={fps} is impossible: give a start of 0 or more, and a count and a rate "
            "above 0 or none"
        )
    source = Path(source)
    if not source.exists():
        raise DataError(f"{shown(source)}: no such file or folder. Next: check the path (ls {shown(source.parent)})")
    reader = _Pictures.of(source) if source.is_dir() else _Video(source)
    if fps is not None and source.is_dir():
        raise DataError(f"{shown(source)}: a folder of pictures has no times; leave --fps {fps:g} out")
    chosen, rate = reader.choose(start, count, fps)
    frames: list[NDArray[np.uint8]] = []
    numbers: list[int] = []
    notes = list(reader.notes)
    for number, picture in reader.read(start, count, chosen):
        if not frames and (note := narrow_note(picture.shape[0], picture.shape[1], height, width)):
            notes.append(note)
        frames.append(resize_frame(picture, height, width, "antialias"))
        numbers.append(number)
        if progress is not None and count is not None:
            progress("reading", len(frames), count)
    if not frames:
        raise DataError(f"{shown(source)}: there is no frame {start}. Next: begin earlier, frames are counted from 0")
    if progress is not None and count is not None:
        progress("reading", count, count)  # the source may have ended before
    return Clip(np.stack(frames), tuple(numbers), rate, reader.source, tuple(notes))


class _Video:
    """A video file; only as much of it is decoded as is asked for."""

    notes: tuple[str, ...] = ()

    def __init__(self, source: Path) -> None:
        self.source = source

    def choose(self, start: int, count: int | None, fps: float | None) -> tuple[list[int] | None, float]:
        """(frame numbers to take, None for every one from `start`; frames per second of what is taken)."""
        times: list[float] = []
        rate = _USUAL_RATE
        for number, (stream, frame) in enumerate(decode_video(self.source)):
            if number == 0:
                rate = float(stream.average_rate or stream.guessed_rate or _USUAL_RATE)
                if fps is None:
                    return None, rate
                if fps > rate * 1.001:
                    raise DataError(
                        f"{shown(self.source)}: {fps:g} frames per second asked for, it has {rate:.4g}; frames would "
                        f"repeat. Next: --fps {rate:.4g} or less, or leave it out"
                    )
            if number >= start:
                times.append(number / rate if frame.time is None else float(frame.time))
                # One frame beyond the last tick, since the nearest frame may lie behind it.
                if fps is not None and count is not None and times[-1] > times[0] + (count - 1) / fps + 1 / rate:
                    break
        if fps is None or not times:
            return None, rate
        return (start + nearest_in_time(np.asarray(times), fps)[:count]).tolist(), fps

    def read(self, start: int, count: int | None, chosen: list[int] | None) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """(number, (h, w, 3) uint8) of each frame taken."""
        stop = chosen[-1] + 1 if chosen else None if count is None else start + count
        wanted = None if chosen is None else set(chosen)
        for number, (_, frame) in enumerate(islice(decode_video(self.source), stop)):
            if number >= start and (wanted is None or number in wanted):
                yield number, rgb(frame)


class _Pictures:
    """A folder of pictures; see `_Video` for the methods."""

    def __init__(self, source: Path, files: list[Path]) -> None:
        self.source, self.files = source, files
        _, missing = frame_runs(files)
        self.notes = (f"{sum(missing)} pictures are missing in {len(missing)} places",) if missing else ()

    @classmethod
    def of(cls, folder: Path) -> _Pictures:
        """The pictures of a folder, or of the only folder below it that has some.

        Raises:
            DataError: there is none, or more than one and none of them is KITTI's image_03.
        """
        if files := list_frames(folder):
            return cls(folder, files)
        found = [inner for inner in walk_folders(folder, lambda _: False) if list_frames(inner)]
        third = [inner for inner in found if "image_03" in (inner.name, inner.parent.name)]
        chosen = found if len(found) == 1 else third
        if len(chosen) != 1:
            several = ", ".join(shown(inner) for inner in found[:4]) + (", ..." if len(found) > 4 else "")
            raise DataError(
                f"{shown(folder)}: {len(found)} folders in it hold pictures ({several}). Next: name one of them"
                if found
                else f"{shown(folder)}: no picture in this folder. Next: name a video file or a folder of pictures"
            )
        return cls(chosen[0], list_frames(chosen[0]))

    def choose(self, start: int, count: int | None, fps: float | None) -> tuple[list[int] | None, float]:
        return None, KITTI_HZ

    def read(self, start: int, count: int | None, chosen: list[int] | None) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        stop = None if count is None else start + count
        for number, file in enumerate(self.files[start:stop], start):
            yield number, decode_image(file)[0]
