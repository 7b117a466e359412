"""Video files (decoded with PyAV) and folders of frames -> a prepared dataset."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from prednet.data.cache import VideoDataset
from prednet.data.frame_folders import image_recordings, list_files, list_frames, natural_key, walk_folders
from prednet.data.holdout import hold_out
from prednet.data.images import shown
from prednet.data.preparation import Preparation
from prednet.data.resize import ResizeMode, check_resize
from prednet.data.sources import (
    MIN_FRAMES,
    Plan,
    Progress,
    Request,
    SourceFiles,
    SourceRecording,
    Target,
)
from prednet.data.video_file import video_recordings
from prednet.data.video_scan import CUT_VERSION
from prednet.errors import DataError

FOLDER_HZ = 10.0
VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".wmv", ".flv", ".ts", ".3gp", ".ogv", ".y4m"}
)


class VideoOptions(TypedDict, total=False):
    """The options of `video_preparation`, which says what they mean."""

    height: int
    width: int
    fps: float | None
    val: Sequence[str | Path]
    test: Sequence[str | Path]
    resize: ResizeMode
    skip_bad: bool
    min_frames: int


def prepare_videos(
    files: Sequence[str | Path],
    dest: str | Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[VideoOptions],
) -> VideoDataset:
    """Prepare clips at `dest`. See `video_preparation` for the options and errors, `prepare` for the rest."""
    return video_preparation(files, **options).build(dest, workers=workers, progress=progress)


def video_preparation(
    files: Sequence[str | Path],
    *,
    height: int = 128,
    width: int = 160,
    fps: float | None = None,
    val: Sequence[str | Path] = (),
    test: Sequence[str | Path] = (),
    resize: ResizeMode = "antialias",
    skip_bad: bool = False,
    min_frames: int = MIN_FRAMES,
) -> Preparation:
    """What preparing video files and folders of frames means.

    Args:
        files: videos, or folders: each video and each folder with images in it, at any depth, is one clip.
        height: target height in pixels.
        width: target width in pixels.
        fps: take frames at this rate, those nearest in time; None keeps every frame. Videos only.
        val: files (they need not be in `files`) that are the validation split.
        test: files that are the test split.
        resize: see `resize_frame`.
        skip_bad: split a folder's recording at images that cannot be read, instead of failing.
        min_frames: recordings with fewer consecutive frames are left out, with a warning.

    Videos are split into recordings at their cuts. A clip is held out as a whole; see `hold_out` for the
    rule where val and test are not given.

    Raises:
        DataError: a file is missing or is in two splits; when built: a file is broken, holds no video, or
            nothing long remains.
    """
    check_resize(height, width, resize)
    if fps is not None and not fps > 0:
        raise DataError(f"fps={fps} is impossible; give a positive rate or leave it out to keep every frame")
    clips = clips_of({"train": files, "val": val, "test": test})
    names = unique_names(list(clips))
    roles = {names[clip]: split for clip, split in clips.items() if split != "train"}
    options = {
        "fps": fps,
        "skip_bad": skip_bad,
        "min_frames": min_frames,
        "held_out": sorted(roles.items()),
        "cuts": CUT_VERSION,
    }
    source = ", ".join(shown(clip) for clip in list(clips)[:3]) + (", ..." if len(clips) > 3 else "")
    tracked = source_files(clips)
    given = {"files": files, "val": val, "test": test}
    inputs = {name: [str(Path(path).absolute()) for path in paths] for name, paths in given.items()}
    target = Target(height, width, resize)
    request = Request("video", source, target, options, tracked.fingerprint, inputs=inputs, files=tracked)

    def make_plan(progress: Progress) -> Plan:
        recordings, warnings, rate = _recordings(names, fps, skip_bad, progress)
        plan = hold_out(
            recordings,
            roles,
            label="whole clips, chosen by name",
            frame_rate=rate,
            min_frames=min_frames,
            source=source,
        )
        return Plan(plan.splits, plan.held_out, (*warnings, *plan.warnings))

    return Preparation(request, make_plan)


def source_files(clips: Iterable[Path]) -> SourceFiles:
    """The video files and images of clips in natural order, relative to the folder of the first clip."""
    clips = list(clips)
    files = [file for clip in clips for file in (list_frames(clip) if clip.is_dir() else [clip])]
    return SourceFiles.of(files, clips[0].parent)


def _recordings(
    names: Mapping[Path, str], fps: float | None, skip_bad: bool, progress: Progress
) -> tuple[list[SourceRecording], list[str], float]:
    """(recordings of all clips, warnings, the highest frame rate among them)."""
    recordings: list[SourceRecording] = []
    warnings: list[str] = []
    rates = []
    for done, (clip, name) in enumerate(names.items()):
        progress("finding cuts", done, len(names))
        found: Sequence[SourceRecording]
        if clip.is_dir():
            found, notes = image_recordings(
                list_frames(clip), group=name, category="", source=shown(clip), skip_bad=skip_bad
            )
            rate = FOLDER_HZ
            if fps is not None:
                notes.append(f"{name}: a folder of frames has no times; --fps {fps:g} does not apply to it")
        else:
            found, notes, rate = video_recordings(clip, group=name, fps=fps)
        recordings += found
        warnings += notes
        rates.append(rate)
    progress("finding cuts", len(names), len(names))
    return recordings, warnings, max(rates)


def clips_of(asked: Mapping[str, Sequence[str | Path]]) -> dict[Path, str]:
    """Clip -> split, in natural order. A clip of val or test may also be listed among the files."""
    split_of: dict[Path, str] = {}
    known: dict[Path, Path] = {}  # the file itself -> the path it was first given by: links must not split a clip
    for split, files in asked.items():
        for file in files:
            for given in _expand(Path(file).absolute()):
                clip = known.setdefault(given.resolve(), given)
                if split_of.get(clip, "train") not in ("train", split):
                    raise DataError(f"{shown(clip)}: asked for as {split_of[clip]} and as {split}; choose one")
                split_of[clip] = split
    if not split_of:
        raise DataError("no video given. Next: `hms data video FILE...`, or `hms data demo` for the demo clips")
    return dict(sorted(split_of.items(), key=lambda item: natural_key(str(item[0]))))


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        clips = []
        for folder in walk_folders(path, lambda _: False):
            clips += [folder] if list_frames(folder) else []
            clips += list_files(folder, VIDEO_SUFFIXES)
        if not clips:
            raise DataError(f"{shown(path)}: no video and no image in this folder. Next: name files, or another folder")
        return clips
    if not path.exists():
        raise DataError(f"{shown(path)}: no such file. Next: `hms data video FILE...`")
    return [path]


def unique_names(clips: Sequence[Path]) -> dict[Path, str]:
    """File or folder names; where two are equal, with as much of the path as tells them apart."""
    names: dict[Path, str] = {}
    depth = 0
    while len(names) < len(clips):
        depth += 1
        uses = Counter(clip.parts[-depth:] for clip in clips)
        for clip in clips:
            if clip not in names and uses[clip.parts[-depth:]] == 1:
                names[clip] = shown(Path(*clip.parts[-depth:]))
    return {clip: names[clip] for clip in clips}
