"""Clips split in time into one prepared dataset: the beginning of each is learned from, its last quarter is held out.

`hold_out` of the package holds out whole clips, or wants 2 s between the parts of a single one. The clips of a study of
few and short recordings are all learned from, so that each is split here, by time and never by window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prednet.data.build import prepare, previous_frame_mse
from prednet.data.cache import Split, VideoDataset
from prednet.data.frame_folders import ImageRecording, list_frames
from prednet.data.images import shown
from prednet.data.sources import Plan, Progress, Request, SourceRecording, Target, fingerprint_files
from prednet.data.video import FOLDER_HZ
from prednet.data.video_file import VideoRecording, nearest_in_time
from prednet.data.video_scan import scan_video
from prednet.errors import DataError

HELD_OUT = 0.25  # share of a clip's time; more where that is shorter than one window
GAP_SECONDS = 0.2  # left out between the two parts

Indices = NDArray[np.int64]


def prepare_clips(
    clips: Sequence[Path], dest: Path, *, height: int, width: int, fps: float, nt: int, progress: Progress
) -> VideoDataset:
    """Videos and folders of frames as splits `train` and `test`, each clip in both.

    Args:
        clips: video files, or folders with the images of one recording, taken at 10 Hz.
        dest: folder of the prepared dataset.
        height: of the frames, pixels.
        width: of the frames, pixels.
        fps: frames a second, those nearest in time. All phases are taken: at 25 frames a second, sequences that begin
            with frames 0, 1 and 2.
        nt: frames of a window; shorter sequences are left out.
        progress: called as progress(what, done, total).

    Raises:
        DataError: a clip is missing, broken, slower than fps, or too short for a window in both parts.
    """
    names = [clip_name(clip) for clip in clips]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"two clips have the name {', '.join(doubled)}: rename one")
    files = [file for clip in clips for file in (list_frames(clip) if clip.is_dir() else [clip])]
    options = {"fps": fps, "nt": nt, "held_out": HELD_OUT, "gap": GAP_SECONDS}
    source = ", ".join(shown(clip) for clip in clips)
    target = Target(height, width, "antialias")
    request = Request("clips split in time", source, target, options, fingerprint_files(files, Path("/")))

    def make_plan() -> Plan:
        splits: dict[str, list[SourceRecording]] = {"train": [], "test": []}
        for done, clip in enumerate(clips):
            progress("reading clips", done, len(clips))
            whole, times, cuts = _read(clip)
            for split, sequences in split_in_time(times, cuts, fps, nt).items():
                if not sequences:
                    raise DataError(
                        f"{shown(clip)}: {times[-1] - times[0]:.1f} s at {fps:g} frames a second leave no window of "
                        f"{nt} frames for its {split} part: give a longer clip"
                    )
                splits[split] += [whole(f"{clip_name(clip)}#{i}", taken) for i, taken in enumerate(sequences)]
        return Plan({name: tuple(parts) for name, parts in splits.items()}, "the last quarter of each clip")

    return prepare(dest, request, make_plan, progress=progress)


def split_in_time(times: NDArray[np.float64], cuts: Sequence[int], fps: float, nt: int) -> dict[str, list[Indices]]:
    """Frame indices of the sequences of both parts.

    Args:
        times: (n,) seconds, of all frames of a clip.
        cuts: frames that begin a new shot; no sequence crosses one.
        fps: frames a second that are taken.
        nt: shorter sequences are left out.

    Returns:
        `train` and `test` -> sequences. All frames of `test` are at least `GAP_SECONDS` later than all of `train`.
    """
    rate = 1 / float(np.median(np.diff(times)))
    if fps > rate * 1.01:
        raise DataError(f"{fps:g} frames a second asked for, the clip has {rate:.4g}: give --fps {rate:.4g} or less")
    begin = times[-1] - max(HELD_OUT * (times[-1] - times[0]), (nt - 0.5) / fps)
    parts = {"train": times < begin - GAP_SECONDS, "test": times >= begin}
    phases = math.ceil(rate / fps - 0.01)
    sequences: dict[str, list[Indices]] = {name: [] for name in parts}
    for first, stop in pairwise([0, *cuts, len(times)]):
        for name, inside in parts.items():
            shot = first + np.flatnonzero(inside[first:stop])
            for phase in range(min(phases, len(shot))):
                taken = shot[phase:][nearest_in_time(times[shot[phase:]], fps)]
                if len(taken) >= nt:
                    sequences[name].append(taken)
    return sequences


def clip_name(clip: Path) -> str:
    """The file's stem; of a folder of KITTI's raw layout the drive; else the folder's name."""
    if clip.is_dir():
        return next((part for part in clip.parts if "_drive_" in part), clip.name)
    return clip.stem


def clip_of(recording: str) -> str:
    """The clip that a prepared recording was cut from."""
    return recording.rpartition("#")[0]


def clip_previous_frame_mse(splits: Sequence[Split], clip: str) -> float:
    """Mean squared difference of neighbouring frames of a clip in all splits, pixels in [0, 1]."""
    total, pairs = 0.0, 0
    for split in splits:
        rows = [{"offset": r.offset, "length": r.length} for r in split.recordings if clip_of(r.name) == clip]
        n = sum(row["length"] - 1 for row in rows)
        total += n * (previous_frame_mse(split.frames, rows) or 0.0)
        pairs += n
    return total / pairs


@dataclass(frozen=True)
class _Clip:
    """All frames of a clip; called with a name and indices it gives the recording of these frames."""

    recording: VideoRecording | ImageRecording

    def __call__(self, name: str, indices: Indices) -> SourceRecording:
        whole = self.recording
        if isinstance(whole, ImageRecording):
            return replace(whole, name=name, frames=tuple(whole.frames[i] for i in indices))
        stamps = None if whole.stamps is None else tuple(whole.stamps[i] for i in indices)
        return replace(whole, name=name, indices=tuple(indices.tolist()), stamps=stamps)


def _read(clip: Path) -> tuple[Callable[[str, Indices], SourceRecording], NDArray[np.float64], list[int]]:
    name = clip_name(clip)
    if clip.is_dir():
        frames = list_frames(clip)
        if len(frames) < 2:
            raise DataError(f"{shown(clip)}: {len(frames)} images in this folder: name one that holds a recording")
        whole = ImageRecording(name, name, "", shown(clip), tuple(frames))
        return _Clip(whole), np.arange(len(frames)) / FOLDER_HZ, []
    scan = scan_video(clip)
    stamps = None if scan.stamps is None else tuple(scan.stamps)
    return _Clip(VideoRecording(name, name, "", clip, tuple(range(len(scan.times))), stamps)), scan.times, scan.cuts
