"""KITTI raw -> a prepared dataset: one camera, KITTI's categories, the recordings that Lotter et al. hold out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from prednet.data.cache import VideoDataset
from prednet.data.frame_folders import image_recordings
from prednet.data.holdout import hold_out
from prednet.data.images import shown
from prednet.data.kitti_categories import read_categories
from prednet.data.kitti_drives import CATEGORIES, OFFICIAL_HELD_OUT, TRAINED_CATEGORIES
from prednet.data.kitti_folders import Drive, find_drives
from prednet.data.preparation import Preparation
from prednet.data.resize import ResizeMode, check_resize
from prednet.data.sources import MIN_FRAMES, Plan, Progress, Request, SourceFiles, SourceRecording, Target
from prednet.errors import DataError

KITTI_HZ = 10.0


class KittiOptions(TypedDict, total=False):
    """The options of `kitti_preparation`, which says what they mean."""

    height: int
    width: int
    camera: str
    resize: ResizeMode
    skip_bad: bool
    categories: Sequence[str]
    categories_file: str | Path | None
    held_out: str
    min_frames: int


def prepare_kitti(
    source: str | Path,
    dest: str | Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[KittiOptions],
) -> VideoDataset:
    """Prepare a KITTI raw folder at `dest`. Options and errors: `kitti_preparation`; the rest: `prepare`."""
    return kitti_preparation(source, **options).build(dest, workers=workers, progress=progress)


def kitti_preparation(
    source: str | Path,
    *,
    height: int = 128,
    width: int = 160,
    camera: str = "03",
    resize: ResizeMode = "antialias",
    skip_bad: bool = False,
    categories: Sequence[str] = TRAINED_CATEGORIES,
    categories_file: str | Path | None = None,
    held_out: str = "official",
    min_frames: int = MIN_FRAMES,
) -> Preparation:
    """What preparing a KITTI raw folder means.

    Args:
        source: any folder above the drives; it is only read.
        height: target height in pixels.
        width: target width in pixels.
        camera: 00 and 01 are grey, 02 and 03 colour. Lotter et al. use 03.
        resize: see `resize_frame`.
        skip_bad: split a recording at frames that cannot be read, instead of failing.
        categories: which of KITTI's categories to use; drives without a category, or with one that only
            `categories_file` knows, are always used.
        categories_file: the user's table of drives and categories (`read_categories`), before KITTI's listing.
        held_out: "official" holds out Lotter's drives where they exist; "rule" ignores which drives these are.
        min_frames: recordings with fewer consecutive frames are left out, with a warning.

    Raises:
        DataError: no drive, or the camera is missing; when built: a bad frame, mixed sizes, no space.
    """
    source = Path(source).absolute()
    check_resize(height, width, resize)
    number = _camera_number(camera)
    options: dict[str, Any] = {
        "camera": number,
        "skip_bad": skip_bad,
        "categories": sorted(_known("category", category, CATEGORIES) for category in categories),
        "held_out": _known("held-out rule", held_out, ("official", "rule")),
        "min_frames": min_frames,
    }
    inputs = {"source": str(source)}
    own: dict[str, str] = {}
    if categories_file is not None:
        own = read_categories(categories_file)
        options["drive_categories"] = own
        inputs["categories_file"] = str(Path(categories_file).absolute())
    drives, found_warnings = find_drives(source, number, own)
    absent = sorted(own.keys() - {drive.name for drive in drives})
    found_warnings += [f"{shown(name)}: in the categories file, but no drive of this name was found" for name in absent]
    files = SourceFiles.of((frame for drive in drives for frame in drive.frames), source)
    target = Target(height, width, resize)
    request = Request("kitti", shown(source), target, options, files.fingerprint, inputs=inputs, files=files)

    def make_plan(_: Progress) -> Plan:
        recordings, warnings = _recordings(drives, set(categories), skip_bad)
        plan = hold_out(
            recordings,
            OFFICIAL_HELD_OUT if held_out == "official" else {},
            label="official recordings (Lotter et al.)",
            frame_rate=KITTI_HZ,
            min_frames=min_frames,
            source=shown(source),
        )
        return Plan(plan.splits, plan.held_out, (*found_warnings, *warnings, *plan.warnings))

    return Preparation(request, make_plan)


def _recordings(
    drives: Sequence[Drive], categories: set[str], skip_bad: bool
) -> tuple[list[SourceRecording], list[str]]:
    recordings: list[SourceRecording] = []
    warnings = []
    for drive in drives:
        if drive.category in CATEGORIES and drive.category not in categories:
            warnings.append(f"{drive.name}: left out, category {drive.category} was not asked for")
            continue
        if not drive.category:
            warnings.append(f"{drive.name}: not in KITTI's list of drives; used without a category")
        elif drive.category not in CATEGORIES:
            warnings.append(f"{drive.name}: used as {drive.category!r}, which is none of KITTI's categories")
        if drive.frames:
            runs, notes = image_recordings(
                drive.frames,
                group=drive.name,
                category=drive.category,
                source=shown(drive.folder),
                skip_bad=skip_bad,
                step=1,
            )
            recordings += runs
            warnings += notes
    return recordings, warnings


def _camera_number(camera: str) -> str:
    number = camera.removeprefix("image_").zfill(2)
    if number not in ("00", "01", "02", "03"):
        raise DataError(f"camera {camera!r} is unknown; KITTI has 00, 01 (grey), 02, 03 (colour): `--camera 03`")
    return number


def _known(what: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise DataError(f"{what} {value!r} is unknown; choose from {', '.join(choices)}")
    return value
