"""VLOG and other collections of clips -> a prepared dataset: one folder a clip, whole clips held out at random.

A clip's folder holds `clip.hkl` (hickle 1 to 5: one array of frames), one video file, or images; it may lie at any
depth. Its path below the collection is its id. VLOG is that of Fouhey et al., "From Lifestyle Vlogs to Everyday
Interactions" (CVPR 2018).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

from prednet.data.cache import VideoDataset
from prednet.data.clip_folders import CLIP_FILE, find_clips, recordings_of
from prednet.data.holdout import hold_out
from prednet.data.images import shown
from prednet.data.preparation import Preparation
from prednet.data.resize import ResizeMode, check_resize
from prednet.data.sources import (
    MIN_FRAMES,
    SPLITS,
    Plan,
    Progress,
    Request,
    SourceFiles,
    SourceRecording,
    Target,
    long_enough,
)
from prednet.data.video_scan import CUT_VERSION
from prednet.errors import DataError

# A folder of VLOG named for the YouTube video that its clips were cut from.
_VIDEO_FOLDER = re.compile(r"v_[A-Za-z0-9_-]{11}")


class VlogOptions(TypedDict, total=False):
    """The options of `vlog_preparation`, which says what they mean."""

    height: int
    width: int
    val: float
    test: float
    test_list: str | Path | None
    seed: int
    fps: float | None
    resize: ResizeMode
    skip_bad: bool
    min_frames: int


def prepare_vlog(
    source: str | Path,
    dest: str | Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[VlogOptions],
) -> VideoDataset:
    """Prepare a folder of clips at `dest`. Options and errors: `vlog_preparation`; the rest: `prepare`."""
    return vlog_preparation(source, **options).build(dest, workers=workers, progress=progress)


def vlog_preparation(
    source: str | Path,
    *,
    height: int = 128,
    width: int = 160,
    val: float = 0.1,
    test: float = 0.1,
    test_list: str | Path | None = None,
    seed: int = 0,
    fps: float | None = None,
    resize: ResizeMode = "antialias",
    skip_bad: bool = False,
    min_frames: int = MIN_FRAMES,
) -> Preparation:
    """What preparing a folder of clips means.

    Args:
        source: the folder above the clips; it is only read.
        height: target height in pixels.
        width: target width in pixels.
        val: share of clips that is held out for validation, 0..1.
        test: share that is held out for the test, 0..1; with 1 all are (a dataset to transfer to, not to train on).
        test_list: text file of test clips, one id a line; `test` then counts for nothing.
        seed: of the draw. Each clip is drawn by its id alone: clips that are added later move no other.
        fps: take the frames of video files at this rate, those nearest in time; None keeps every frame.
        resize: see `resize_frame`; `clip.hkl` frames of the target's size are copied as they are.
        skip_bad: leave out clips that cannot be read, and split image recordings at bad images, instead of failing.
        min_frames: recordings with fewer consecutive frames are left out, with a warning.

    Each clip is one recording; only cuts in video files and missing image numbers split it. Clips of one VLOG video
    (below a folder `v_` + 11 characters) are drawn together.

    Raises:
        DataError: no clip, impossible shares, unknown ids in the list; when built: a broken clip, nothing long enough.
    """
    source = Path(source).absolute()
    check_resize(height, width, resize)
    _check_shares(val, test)
    clips = find_clips(source)
    listed = None if test_list is None else _listed(Path(test_list), [clip.id for clip in clips])
    options = {
        "val": val,
        "test": test if listed is None else sorted(listed),
        "seed": seed,
        "fps": fps,
        "skip_bad": skip_bad,
        "min_frames": min_frames,
        "cuts": CUT_VERSION,
    }
    files = SourceFiles.of((file for clip in clips for file in clip.files), source)
    copied = all(clip.frame_size == (height, width) for clip in clips)
    inputs = {"source": str(source), **({} if test_list is None else {"test_list": str(Path(test_list).absolute())})}
    request = Request(
        "vlog",
        shown(source),
        Target(height, width, resize),
        options,
        files.fingerprint,
        "as released" if copied else "",
        inputs,
        files,
    )
    draw = _Draw(val, test, seed, listed)

    def make_plan(_: Progress) -> Plan:
        found, warnings, rate = recordings_of(clips, fps=fps, skip_bad=skip_bad)
        plan = draw.plan(found, rate, min_frames, shown(source))
        return replace(plan, warnings=(*warnings, *plan.warnings))

    return Preparation(request, make_plan)


@dataclass(frozen=True)
class _Draw:
    """Which clips are held out. `listed`: the ids of the test clips, where a list was given."""

    val: float
    test: float
    seed: int
    listed: frozenset[str] | None

    def plan(self, recordings: Sequence[SourceRecording], rate: float, min_frames: int, source: str) -> Plan:
        kept, warnings = long_enough(recordings, min_frames)
        ids = list(dict.fromkeys(recording.group for recording in kept))
        if len(ids) == 1 and self.listed is None and self.test < 1:
            return hold_out(recordings, {}, label="", frame_rate=rate, min_frames=min_frames, source=source)
        if not kept:
            raise DataError(f"{source}: no clip has {min_frames} frames in a row ({'; '.join(warnings[:3])})")
        split_of = {clip: self._split(clip) for clip in ids}
        warnings += self._fill(split_of)
        splits = {
            split: tuple(recording for recording in kept if split_of[recording.group] == split)
            for split in SPLITS
            if split in split_of.values()
        }
        if "train" not in splits:
            warnings.append("no training split: this dataset can only be tested on (`data.transfer`)")
        elif "val" not in splits:
            warnings.append(
                "no validation split: no clip is held out for it, so nothing can be trained on this dataset"
            )
        how = f"test {self.test:g}" if self.listed is None else "test by list"
        return Plan(splits, f"whole clips at random (seed {self.seed}): val {self.val:g}, {how}", tuple(warnings))

    def _split(self, clip: str) -> str:
        place = self._place(clip)
        if self.listed is not None:
            if clip in self.listed:
                return "test"
            # The other clips of a listed clip's video: neither to be trained on nor to be validated on.
            if _drawn_together(clip) in {_drawn_together(other) for other in self.listed}:
                return "left out"
            return "val" if place < self.val else "train"
        if place < self.test:
            return "test"
        return "val" if place < self.test + self.val else "train"

    def _place(self, clip: str) -> float:
        """Uniform in [0, 1), a function of the seed and the clip's id."""
        digest = hashlib.sha256(f"{self.seed}\0{_drawn_together(clip)}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def _fill(self, split_of: dict[str, str]) -> list[str]:
        """Give a split that came out empty its nearest clips: with few clips a draw may miss it."""
        warnings = []
        left = sorted(clip for clip, split in split_of.items() if split == "left out")
        if left:
            warnings.append(f"{len(left)} clips left out: their videos have clips in the test list ({left[0]}, ...)")
        wanted = [("val", self.val)] + ([("test", self.test)] if self.listed is None else [])
        for split, share in wanted:
            free = sorted((clip for clip in split_of if split_of[clip] == "train"), key=self._place)
            videos = list(dict.fromkeys(map(_drawn_together, free)))
            if share == 0 or split in split_of.values() or len(videos) < 2:
                continue
            taken = [clip for clip in free if _drawn_together(clip) == videos[0]]
            split_of.update(dict.fromkeys(taken, split))
            warnings.append(
                f"{taken[0]}: held out as {split}, as none was drawn of so few clips; more clips may free it"
            )
        return warnings


def _drawn_together(clip: str) -> str:
    """What is drawn: the clip, or the VLOG video that it was cut from."""
    parts = clip.split("/")
    video = next((index for index, part in enumerate(parts[:-1]) if _VIDEO_FOLDER.fullmatch(part)), None)
    return clip if video is None else "/".join(parts[: video + 1])


def _check_shares(val: float, test: float) -> None:
    # With all clips in the test, as data to transfer to need it, the default of `val` is no mistake.
    if not (0 <= val <= 1 and 0 <= test <= 1 and (val + test <= 1 or test == 1)):
        raise DataError(f"shares val={val:g} and test={test:g} are impossible: each is 0..1, and so is their sum")


def _listed(file: Path, ids: Sequence[str]) -> frozenset[str]:
    """The ids in a list, one a line; `#` begins a comment. Raises DataError naming those that no clip has."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig", errors="replace").splitlines()]
    except OSError as error:
        raise DataError(f"{shown(file)}: the list of test clips cannot be read: {error.strerror}") from error
    listed = [line.removesuffix(f"/{CLIP_FILE}") for line in lines if line and not line.startswith("#")]
    known = set(ids)
    unknown = [clip for clip in listed if clip not in known]
    if unknown or not listed:
        what = f"{len(unknown)} of its {len(listed)} ids name no clip: {', '.join(unknown[:3])}"
        raise DataError(
            f"{shown(file)}: {what if listed else 'no id in it'}. An id is a clip's folder below the collection, for"
            f" example {ids[0]}. Next: mend the list, one id a line"
        )
    return frozenset(listed)
