"""Folders of clips, one folder a clip: `clip.hkl`, one video file, or images."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from prednet.data.frame_folders import image_recordings, list_frames, natural_key, walk_folders
from prednet.data.hickle_files import HickleRecording, frames_shape, read_rows
from prednet.data.images import shown
from prednet.data.sources import SourceRecording
from prednet.data.video import VIDEO_SUFFIXES
from prednet.data.video_file import video_recordings
from prednet.errors import DataError

CLIP_FILE = "clip.hkl"
# Frames of images and .hkl files carry no times; this is the usual rate of the videos that they were taken from.
UNTIMED_HZ = 30.0


@dataclass(frozen=True)
class ClipFolder:
    """One clip: its id (the path below the collection) and the files that are read, all of one kind."""

    id: str
    folder: Path
    files: tuple[Path, ...]

    @property
    def is_hkl(self) -> bool:
        """Whether the clip is a `clip.hkl`."""
        return self.files[0].name == CLIP_FILE

    @property
    def is_video(self) -> bool:
        """Whether the clip is a video file."""
        return self.files[0].suffix.lower() in VIDEO_SUFFIXES

    @cached_property
    def frame_size(self) -> tuple[int, int] | None:
        """(height, width) of a `clip.hkl` in pixels; None where it cannot be read, and for other clips."""
        try:
            return frames_shape(self.files[0])[1:] if self.is_hkl else None
        except DataError:
            return None


def find_clips(source: Path) -> list[ClipFolder]:
    """All clips below a folder, in natural order of their ids.

    Raises:
        DataError: no such folder, no clip in it, or a folder with several videos, or with a video beside images.
    """
    if not source.is_dir():
        raise DataError(f"{shown(source)}: no such folder. Next: `hms data vlog DIR`, DIR holding one folder a clip")
    clips = [clip for folder in walk_folders(source, lambda _: False) if (clip := _clip(folder, source))]
    if not clips:
        raise DataError(
            f"{shown(source)}: no clip found: each is a folder with {CLIP_FILE}, a video file or images. Next:"
            f" `hms data inspect {shown(source)}` says what lies there"
        )
    return sorted(clips, key=lambda clip: natural_key(clip.id))


def _clip(folder: Path, source: Path) -> ClipFolder | None:
    name = shown(folder.name if folder == source else folder.relative_to(source))
    if (folder / CLIP_FILE).is_file():
        return ClipFolder(name, folder, (folder / CLIP_FILE,))
    images = list_frames(folder)
    videos = [
        file
        for file in folder.iterdir()
        if file.suffix.lower() in VIDEO_SUFFIXES and not file.name.startswith(".") and file.is_file()
    ]
    if len(videos) > 1:
        raise DataError(
            f"{shown(folder)}: {len(videos)} video files in one folder, but each folder is one clip. Next: give each a"
            f" folder of its own, or prepare them with `hms data video {shown(folder)}/*`"
        )
    if videos and images:
        raise DataError(
            f"{shown(folder)}: a video file and {len(images)} images; which are the clip? Remove the others"
        )
    files = tuple(videos or images)
    return ClipFolder(name, folder, files) if files else None


def recordings_of(
    clips: Sequence[ClipFolder], *, fps: float | None, skip_bad: bool
) -> tuple[list[SourceRecording], list[str], float]:
    """(recordings of all clips, warnings, the highest frame rate in Hz).

    Raises:
        DataError: a clip cannot be read; with `skip_bad` it is left out with a warning instead.
    """
    recordings: list[SourceRecording] = []
    warnings: list[str] = []
    rates = []
    for clip in clips:
        try:
            found, notes, rate = _recordings(clip, fps, skip_bad)
        except DataError as error:
            if not skip_bad:
                raise DataError(
                    f"{error}. Next: mend or remove the clip, or leave bad clips out with --skip-bad"
                ) from error
            warnings.append(f"{clip.id}: left out: {error}")
            continue
        recordings += found
        warnings += notes
        rates.append(rate)
    if any(not clip.is_video for clip in clips) and fps is not None:
        warnings.append(f"images and {CLIP_FILE} have no times; --fps {fps:g} does not apply to them")
    return recordings, warnings, max(rates, default=UNTIMED_HZ)


def _recordings(
    clip: ClipFolder, fps: float | None, skip_bad: bool
) -> tuple[Sequence[SourceRecording], list[str], float]:
    if clip.is_hkl:
        length, _, _ = frames_shape(clip.files[0])
        _check_range(clip.files[0], length)
        return [HickleRecording(clip.id, clip.id, "", clip.files[0], 0, length)], [], UNTIMED_HZ
    if clip.is_video:
        return video_recordings(clip.files[0], group=clip.id, fps=fps)
    found, notes = image_recordings(
        clip.files, group=clip.id, category="", source=shown(clip.folder), skip_bad=skip_bad
    )
    return found, notes, UNTIMED_HZ


def _check_range(file: Path, length: int) -> None:
    """Refuse frames that were scaled to 0..1 before they became whole numbers: nearly nothing is left of them."""
    if not length:
        return
    middle = read_rows(file, length // 2, length // 2 + 1)
    if middle.max() == 1 and np.max(read_rows(file, 0, length)) == 1:
        raise DataError(f"{shown(file)}: its pixels are 0..1, expected 0..255: store frames before they are scaled")
