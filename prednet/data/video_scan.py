"""One pass over a video file: decoding, times of its frames, and where its cuts are."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from prednet.data.images import not_media, shown
from prednet.data.resize import resize_frame
from prednet.errors import DataError

CUT_VERSION = 1
CUT_FLOOR = 0.02
CUT_RATIO = 4.0
_NEIGHBOURS = 3
_CUT_SIZE = (64, 80)
_USUAL_RATE = 25.0


@dataclass(frozen=True)
class VideoScan:
    """What one pass over a video showed: time of each frame in seconds, frames that begin after a cut."""

    times: NDArray[np.float64]  # (n,)
    stamps: list[int] | None
    cuts: list[int]
    rate: float
    warnings: list[str]


def scan_video(file: Path) -> VideoScan:
    """Decode a video once, keeping only times and the change from frame to frame. Raises DataError."""
    times: list[float] = []
    stamps: list[int] = []
    changes: list[float] = []
    before: NDArray[np.float64] | None = None
    declared = _Declared()
    for stream, frame in decode_video(file):
        if before is None:
            declared = _Declared.of(stream, frame)
        declared.check_size(file, frame, len(times))
        small = resize_frame(rgb(frame), *_CUT_SIZE, "antialias") / 255.0
        if before is not None:
            changes.append(float(np.square(small - before).mean()))
        before = small
        stamps += [] if frame.pts is None else [frame.pts]
        times.append(len(times) / (declared.rate or _USUAL_RATE) if frame.time is None else float(frame.time))
    if not times:
        raise DataError(f"{shown(file)}: no frame could be decoded; is the file complete?")
    span = times[-1] - times[0]
    rate = declared.rate or (len(changes) / span if span > 0 else _USUAL_RATE)
    increasing = len(stamps) == len(times) and all(a < b for a, b in pairwise(stamps))
    warnings = declared.shortfall(len(times), span + 1 / rate)
    return VideoScan(np.asarray(times), stamps if increasing else None, find_cuts(changes), rate, warnings)


@dataclass(frozen=True)
class _Declared:
    """What the file's header says: frames per second, frame count, seconds (0 where it says nothing)."""

    rate: float = 0.0
    frames: int = 0
    seconds: float = 0.0
    size: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, stream: av.VideoStream, frame: av.VideoFrame) -> "_Declared":
        rate = float(stream.average_rate or stream.guessed_rate or 0)
        duration = stream.container.duration if isinstance(stream.container, av.container.InputContainer) else None
        return cls(rate, stream.frames, (duration or 0) / av.time_base, (frame.height, frame.width))

    def check_size(self, file: Path, frame: av.VideoFrame, index: int) -> None:
        if (frame.height, frame.width) != self.size:
            raise DataError(
                f"{shown(file)}: the picture changes from {self.size[1]}x{self.size[0]} to"
                f" {frame.width}x{frame.height} at frame {index}. Next: cut the file there"
            )

    def shortfall(self, frames: int, seconds: float) -> list[str]:
        """A warning when clearly less came out than was declared: the file is probably truncated."""
        if self.frames > frames:
            return [f"{frames} of the {self.frames} frames that the file declares could be decoded"]
        if seconds < 0.95 * self.seconds - 0.5:
            return [f"{seconds:.1f} s of the {self.seconds:.1f} s that the file declares could be decoded"]
        return []


def find_cuts(changes: Sequence[float]) -> list[int]:
    """Frames that begin a new shot.

    Args:
        changes: previous-frame MSE of frames 1, 2, ... at 64x80 pixels in [0, 1].

    A frame is a cut when its change is at least 0.02 and 4 times the median of the three changes on either
    side: fast motion is large for many frames, a cut for one.
    """
    values = np.asarray(changes, np.float64)
    cuts = []
    for at in np.flatnonzero(values >= CUT_FLOOR):
        around = np.concatenate([values[max(0, at - _NEIGHBOURS) : at], values[at + 1 : at + 1 + _NEIGHBOURS]])
        if not around.size or values[at] >= CUT_RATIO * np.median(around):
            cuts.append(int(at) + 1)
    return cuts


def rgb(frame: av.VideoFrame) -> NDArray[np.uint8]:
    """(h, w, 3) uint8 of a decoded frame."""
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def decode_video(file: Path, start: int | None = None) -> Iterator[tuple[av.VideoStream, av.VideoFrame]]:
    """The frames of the first video stream in presentation order; from the key frame before `start`.

    Raises DataError for a broken file.
    """
    try:
        with file.open("rb") as stream:
            head = stream.read(512)
            if reason := not_media(head):
                raise DataError(f"{shown(file)}: {reason}")
            stream.seek(0)
            # From an open file, so that names which are not valid UTF-8 work too.
            with av.open(stream, mode="r") as container:
                if not container.streams.video:
                    raise DataError(f"{shown(file)}: no video in it. Next: `hms data video FILE...` with a video")
                video = container.streams.video[0]
                video.thread_type = "AUTO"
                if start is not None:
                    # Where seeking is impossible, decoding simply begins at the first frame.
                    with suppress(av.error.FFmpegError):
                        container.seek(start, stream=video, backward=True)
                for count, frame in enumerate(container.decode(video)):
                    # Behind a seek, the frames before the first whole one may be incomplete; none is used.
                    if frame.is_corrupt and start is None:
                        raise DataError(f"{shown(file)}: frame {count} is damaged. Next: copy or re-encode the file")
                    yield video, frame
    except av.error.FFmpegError as error:
        raise DataError(
            f"{shown(file)}: not a complete video that can be decoded: {error.strerror}. Next: copy the file again"
        ) from error
    except OSError as error:
        raise DataError(f"{shown(file)}: cannot be read: {error.strerror or error}") from error
