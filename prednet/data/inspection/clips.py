"""What is true of video files and folders of frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from prednet.data.frame_folders import list_frames
from prednet.data.images import decode_image, shell_word, shown
from prednet.data.inspection.findings import (
    FoundRecording,
    Inspection,
    Way,
    attempted,
    narrow_facts,
    recording_of_images,
)
from prednet.data.inspection.image_facts import ImageFacts, images_facts
from prednet.data.inspection.look_alikes import look_alikes
from prednet.data.sources import MIN_FRAMES, Progress
from prednet.data.video import clips_of, unique_names, video_preparation
from prednet.data.video_file import VideoRecording, cut_note
from prednet.data.video_scan import VideoScan, decode_video, rgb, scan_video
from prednet.errors import DataError


@dataclass(frozen=True)
class _Clip:
    found: FoundRecording
    problems: list[str]
    facts: list[str]


def inspect_clips(path: Path, clips: Sequence[Path], dest: Path, *, quick: bool, progress: Progress) -> Inspection:
    """Each clip with its frames, size, rate and cuts; what cannot be read; what would be held out.

    `path` is what the person named, `clips` the files and folders of frames that lie there.
    """
    names = unique_names(clips)
    frames = {clip: list_frames(clip) for clip in clips if clip.is_dir()}
    facts_of = images_facts([file for files in frames.values() for file in files], quick=quick, progress=progress)
    looked = {
        clip: _folder(clip, names[clip], [facts_of[file] for file in frames[clip]])
        if clip.is_dir()
        else _video(clip, names[clip], quick)
        for clip in clips
    }
    recordings = [clip.found for clip in looked.values()]
    problems = [text for clip in looked.values() for text in clip.problems]
    if not quick:
        problems += look_alikes(recordings, progress)
    facts = [text for clip in looked.values() for text in clip.facts] + narrow_facts(recordings)
    good = [clip for clip, clip_facts in looked.items() if clip_facts.found.frames > clip_facts.found.bad]
    folders = sum(clip.is_dir() for clip in clips)
    kinds = [
        f"{n} {what}{'' if n == 1 else 's'}"
        for n, what in ((len(clips) - folders, "video file"), (folders, "folder of frames"))
        if n
    ]
    return Inspection(
        shown(path.absolute()),
        "video",
        " and ".join(kinds).replace("folder of framess", "folders of frames"),
        tuple(recordings),
        tuple(facts),
        tuple(problems),
        (_way(path, clips, good, recordings, dest, quick, progress),) if good else (),
    )


def _folder(clip: Path, name: str, pictures: list[ImageFacts]) -> _Clip:
    found, problems = recording_of_images(
        name, pictures, lambda index: decode_image(pictures[index].file)[0], step=None, source=shown(clip)
    )
    if len(pictures) < MIN_FRAMES:
        problems.append(f"{name}: {len(pictures)} frames, fewer than the {MIN_FRAMES} of one sequence: left out")
    return _Clip(found, problems, [])


def _video(clip: Path, name: str, quick: bool) -> _Clip:
    try:
        with clip.open("rb"):
            pass
        header = _header(clip)
        if quick:
            return _Clip(header_recording(name, clip, header), [], [])
        scan = scan_video(clip)
    except (DataError, OSError) as error:
        message = str(error) if isinstance(error, DataError) else f"{shown(clip)}: cannot be read: {error.strerror}"
        return _Clip(FoundRecording(name, 0, source=shown(clip)), [message], [])
    found = _scanned(name, clip, header, scan)
    facts = []
    if scan.cuts:
        shots = [stop - start for start, stop in pairwise([0, *scan.cuts, found.frames])]
        facts.append(f"{name}: {cut_note(scan.cuts)}: {len(shots)} recordings of {', '.join(map(str, shots))} frames")
    return _Clip(found, [f"{name}: {text}" for text in scan.warnings], facts)


@dataclass(frozen=True)
class _Header:
    size: str
    codec: str
    rate: float
    frames: int


def _header(clip: Path) -> _Header:
    """From the file's first decoded frame and what it declares."""
    for stream, frame in decode_video(clip):
        rate = float(stream.average_rate or stream.guessed_rate or 0)
        return _Header(f"{frame.width}x{frame.height}", stream.codec_context.name, rate, _declared(stream, rate))
    raise DataError(f"{shown(clip)}: no frame could be decoded; is the file complete?")


def _declared(stream: av.VideoStream, rate: float) -> int:
    if stream.frames or stream.duration is None or stream.time_base is None:
        return stream.frames
    return round(float(stream.duration * stream.time_base) * rate)


def header_recording(name: str, clip: Path, header: _Header) -> FoundRecording:
    """A recording by what the file declares; nothing behind its first frame was decoded."""
    n = header.frames
    return FoundRecording(
        name, n, source=shown(clip), rate=header.rate, sizes={header.size: n}, formats={header.codec: n}
    )


def _scanned(name: str, clip: Path, header: _Header, scan: VideoScan) -> FoundRecording:
    n = len(scan.times)
    stamps = None if scan.stamps is None else tuple(scan.stamps)
    recording = VideoRecording(name, name, "", clip, tuple(range(n)), stamps)

    def read(index: int) -> NDArray[np.uint8]:
        return rgb(next(recording.part(index, index + 1).decoded()))

    return FoundRecording(
        name,
        n,
        source=shown(clip),
        rate=scan.rate,
        sizes={header.size: n},
        formats={header.codec: n},
        colours={"colour": n},
        read=read,
    )


def _way(
    path: Path,
    clips: Sequence[Path],
    good: Sequence[Path],
    recordings: Sequence[FoundRecording],
    dest: Path,
    quick: bool,
    progress: Progress,
) -> Way:
    skip_bad = any(recording.bad for recording in recordings)
    # Below the folder there may be images of other kinds of data, which the command would take for clips.
    given = [path] if list(clips_of({"train": [path]})) == list(clips_of({"train": good})) else good
    command = "hms data video " + " ".join(shell_word(clip) for clip in given)
    command += " --skip-bad" if skip_bad else ""
    if quick and not all(clip.is_dir() for clip in good):
        return Way(
            "", command, error="the splits follow from the cuts, which need the whole reading: leave out --quick"
        )

    def preview() -> Mapping[str, object]:
        return video_preparation(good, skip_bad=skip_bad).preview(dest, progress)

    return attempted("", command, preview)
