"""KITTI raw: `DATE/DATE_drive_NNNN_sync/image_0X/data/*.png` and PredNet's `CATEGORY/DRIVE/...`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prednet.data.build import prepare
from prednet.data.cache import VideoDataset
from prednet.data.frame_folders import image_recordings, list_frames, natural_key, walk_folders
from prednet.data.holdout import hold_out
from prednet.data.images import shown
from prednet.data.kitti_drives import (
    CATEGORIES,
    OFFICIAL_HELD_OUT,
    TRAINED_CATEGORIES,
    category_of,
    drive_id,
)
from prednet.data.resize import ResizeMode, check_resize
from prednet.data.sources import (
    MIN_FRAMES,
    Plan,
    Progress,
    Request,
    SourceRecording,
    Target,
    fingerprint_files,
)
from prednet.errors import DataError

KITTI_HZ = 10.0
_CAMERA = re.compile(r"image_(\d\d)$")
_NO_IMAGES = frozenset({"velodyne_points", "oxts"})


@dataclass(frozen=True)
class Drive:
    """One drive as found: its official id (or folder name), category, and the frames of the chosen camera."""

    name: str
    category: str
    folder: Path
    frames: tuple[Path, ...]


def prepare_kitti(
    source: str | Path,
    dest: str | Path,
    *,
    height: int = 128,
    width: int = 160,
    camera: str = "03",
    resize: ResizeMode = "antialias",
    skip_bad: bool = False,
    categories: Sequence[str] = TRAINED_CATEGORIES,
    held_out: str = "official",
    min_frames: int = MIN_FRAMES,
    workers: int | None = None,
    progress: Progress | None = None,
) -> VideoDataset:
    """Prepare a KITTI raw folder.

    Args:
        source: any folder above the drives; it is only read.
        dest: folder of the prepared dataset.
        height: target height in pixels.
        width: target width in pixels.
        camera: 00 and 01 are grey, 02 and 03 colour. Lotter et al. use 03.
        resize: see `resize_frame`.
        skip_bad: split a recording at frames that cannot be read, instead of failing.
        categories: which of KITTI's categories to use; drives that it does not list are always used.
        held_out: "official" holds out Lotter's drives where they exist; "rule" ignores which drives these are.
        min_frames: recordings with fewer consecutive frames are left out, with a warning.
        workers: decoding threads; None takes all cores of this process.
        progress: called as progress(what, done, total).

    Raises:
        DataError: no drive, the camera is missing, a bad frame, mixed sizes, no space.
    """
    source = Path(source).absolute()
    check_resize(height, width, resize)
    options = {
        "camera": _camera_number(camera),
        "skip_bad": skip_bad,
        "categories": sorted(_known("category", category, CATEGORIES) for category in categories),
        "held_out": _known("held-out rule", held_out, ("official", "rule")),
        "min_frames": min_frames,
    }
    drives, found_warnings = find_drives(source, _camera_number(camera))
    fingerprint = fingerprint_files((frame for drive in drives for frame in drive.frames), source)
    request = Request("kitti", shown(source), Target(height, width, resize), options, fingerprint)

    def make_plan() -> Plan:
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

    return prepare(dest, request, make_plan, workers=workers, progress=progress)


def find_drives(source: Path, camera: str) -> tuple[list[Drive], list[str]]:
    """The drives under a folder that have the camera, in natural order, and warnings by name.

    Raises:
        DataError: the folder is missing, holds no drive, or no drive has the camera (names those there).
    """
    if not source.is_dir():
        raise DataError(f"{shown(source)}: no such folder. Next: `hms data kitti DIR` with KITTI's raw data")
    folders: dict[Path, dict[str, Path]] = {}
    for folder in walk_folders(source, lambda path: bool(_CAMERA.match(path.name)) or path.name in _NO_IMAGES):
        if match := _CAMERA.match(folder.name):
            folders.setdefault(folder.parent, {})[match.group(1)] = folder
    if not folders:
        raise DataError(
            f"{shown(source)}: no KITTI drive found (DATE/DATE_drive_NNNN_sync/image_{camera}/data)."
            f" Next: name the folder above the drives, or use `hms data video {shown(source)}` for plain frames"
        )
    chosen, warnings = _choose_drives(folders)
    if not chosen:
        raise DataError(
            f"{shown(source)}: only unsynchronised (_extract) drives were found."
            " Next: download KITTI's `synced+rectified data` and name that folder"
        )
    lacking = [drive for drive in chosen if camera not in folders[chosen[drive]]]
    if len(lacking) == len(chosen):
        there = sorted({number for folder in chosen.values() for number in folders[folder]})
        raise DataError(
            f"{shown(source)}: no drive has camera {camera} (image_{camera}); found"
            f" {', '.join(f'image_{number}' for number in there)} in {len(chosen)} drives."
            f" Next: `hms data kitti {shown(source)} --camera {there[-1]}`"
        )
    warnings += [f"{drive}: left out, it has no camera image_{camera}" for drive in lacking]
    drives = []
    for name, folder in chosen.items():
        if name not in lacking:
            drive = _read_drive(source, name, folder, folders[folder][camera])
            drives.append(drive)
            if not drive.frames:
                warnings.append(f"{name}: left out, {shown(folders[folder][camera])} holds no image")
    return drives, warnings


def _choose_drives(folders: dict[Path, dict[str, Path]]) -> tuple[dict[str, Path], list[str]]:
    """One folder per drive name: a drive that came twice would lie on both sides of a split."""
    chosen: dict[str, Path] = {}
    warnings = []
    for folder in folders:
        if folder.name.endswith("_extract"):
            warnings.append(f"{shown(folder)}: left out, unsynchronised (_extract) drives have another size")
            continue
        name = drive_id(folder.name) or shown(folder.name)
        if name in chosen:
            warnings.append(f"{shown(folder)}: left out, {shown(chosen[name])} is the same drive")
            continue
        chosen[name] = folder
    return dict(sorted(chosen.items(), key=lambda item: natural_key(item[0]))), warnings


def _read_drive(source: Path, name: str, folder: Path, camera_folder: Path) -> Drive:
    data = camera_folder / "data"
    frames = list_frames(data if data.is_dir() else camera_folder)
    above = folder.relative_to(source).parts if folder.is_relative_to(source) else ()
    category = next((part for part in above if part in CATEGORIES), category_of(name))
    return Drive(name, category, folder, tuple(frames))


def _recordings(
    drives: Sequence[Drive], categories: set[str], skip_bad: bool
) -> tuple[list[SourceRecording], list[str]]:
    recordings: list[SourceRecording] = []
    warnings = []
    for drive in drives:
        if drive.category and drive.category not in categories:
            warnings.append(f"{drive.name}: left out, category {drive.category} was not asked for")
            continue
        if not drive.category:
            warnings.append(f"{drive.name}: not in KITTI's list of drives; used without a category")
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
