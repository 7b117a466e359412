"""The drives below a folder, in KITTI's raw layout or PredNet's own: which there are, and their frames."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prednet.data.frame_folders import list_frames, natural_key, walk_folders
from prednet.data.images import shown
from prednet.data.kitti_drives import CATEGORIES, category_of, drive_id
from prednet.errors import DataError

_CAMERA = re.compile(r"image_(\d\d)$")
_NO_IMAGES = frozenset({"velodyne_points", "oxts"})


@dataclass(frozen=True)
class DriveFolder:
    """A drive as it lies on disk: its official id (or folder name), and the folder of each camera by its number."""

    name: str
    folder: Path
    cameras: Mapping[str, Path]

    def frames(self, camera: str) -> tuple[Path, ...]:
        """The images of a camera that the drive has, in natural order."""
        data = self.cameras[camera] / "data"
        return tuple(list_frames(data if data.is_dir() else self.cameras[camera]))

    def category(self, source: Path, own: Mapping[str, str]) -> str:
        """By `own` (the user's table), else the folder of a category above it, else KITTI's listing, else empty."""
        above = self.folder.relative_to(source).parts if self.folder.is_relative_to(source) else ()
        return own.get(self.name) or next((part for part in above if part in CATEGORIES), category_of(self.name))


@dataclass(frozen=True)
class Drive:
    """One drive as it is used: name, category, and the frames of the chosen camera."""

    name: str
    category: str
    folder: Path
    frames: tuple[Path, ...]


def camera_of(folder: Path) -> str | None:
    """`03` of a folder named `image_03`; None for other names."""
    match = _CAMERA.match(folder.name)
    return match.group(1) if match else None


def drive_folders(source: Path) -> tuple[list[DriveFolder], list[str]]:
    """The drives under a folder in natural order, each once, and warnings for those left out.

    Raises:
        DataError: the folder is missing, holds no drive, or only unsynchronised ones.
    """
    if not source.is_dir():
        raise DataError(f"{shown(source)}: no such folder. Next: `hms data kitti DIR` with KITTI's raw data")
    folders: dict[Path, dict[str, Path]] = {}
    for folder in walk_folders(source, lambda path: bool(camera_of(path)) or path.name in _NO_IMAGES):
        if camera := camera_of(folder):
            folders.setdefault(folder.parent, {})[camera] = folder
    if not folders:
        raise DataError(
            f"{shown(source)}: no KITTI drive found (DATE/DATE_drive_NNNN_sync/image_03/data)."
            f" Next: name the folder above the drives, or use `hms data video {shown(source)}` for plain frames"
        )
    chosen, warnings = _choose(folders)
    if not chosen:
        raise DataError(
            f"{shown(source)}: only unsynchronised (_extract) drives were found."
            " Next: download KITTI's `synced+rectified data` and name that folder"
        )
    return [DriveFolder(name, folder, folders[folder]) for name, folder in chosen.items()], warnings


def find_drives(source: Path, camera: str, own: Mapping[str, str]) -> tuple[list[Drive], list[str]]:
    """The drives under a folder that have the camera, in natural order, and warnings by name.

    `own` gives categories by drive, before KITTI's listing.

    Raises:
        DataError: the folder is missing, holds no drive, or no drive has the camera (names those there).
    """
    found, warnings = drive_folders(source)
    drives = []
    for drive in found:
        if camera not in drive.cameras:
            warnings.append(f"{drive.name}: left out, it has no camera image_{camera}")
            continue
        drives.append(Drive(drive.name, drive.category(source, own), drive.folder, drive.frames(camera)))
        if not drives[-1].frames:
            warnings.append(f"{drive.name}: left out, {shown(drive.cameras[camera])} holds no image")
    if not drives:
        there = sorted({number for drive in found for number in drive.cameras})
        raise DataError(
            f"{shown(source)}: no drive has camera {camera} (image_{camera}); found"
            f" {', '.join(f'image_{number}' for number in there)} in {len(found)} drives."
            f" Next: `hms data kitti {shown(source)} --camera {there[-1]}`"
        )
    return drives, warnings


def _choose(folders: Mapping[Path, object]) -> tuple[dict[str, Path], list[str]]:
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
