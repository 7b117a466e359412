"""What kinds of video data lie under a path, by the names of folders and files alone."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from prednet.data.cache import META_NAME
from prednet.data.clip_folders import CLIP_FILE
from prednet.data.frame_folders import list_frames, natural_key, walk_folders
from prednet.data.images import IMAGE_SUFFIXES, shown
from prednet.data.kitti_drives import CATEGORIES
from prednet.data.kitti_folders import camera_of
from prednet.data.sources import SPLITS
from prednet.data.video import VIDEO_SUFFIXES


@dataclass
class Survey:
    """Places by kind: `drives` hold `image_0X`, `releases` hold `X_SPLIT.hkl`, each of `vlog` a `clip.hkl`."""

    prepared: list[Path] = field(default_factory=list)
    drives: list[Path] = field(default_factory=list)
    releases: list[Path] = field(default_factory=list)
    vlog: list[Path] = field(default_factory=list)
    objects: list[Path] = field(default_factory=list)
    clips: list[Path] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)

    @property
    def empty(self) -> bool:
        """Whether nothing was recognised."""
        return not any((self.prepared, self.drives, self.releases, self.vlog, self.objects, self.clips))


def survey(path: Path) -> Survey:
    """One walk over the folders below `path`, not entering what was recognised; or what a single file is."""
    found = Survey()
    if path.is_file():
        _file(path, found)
        return found
    for folder in walk_folders(path, _ends):
        _recognise(folder, found)
    return found


def root_of(path: Path, found: Survey, places: list[Path]) -> Path:
    """The folder to name for all drives or clips: `path` when nothing else is there, else their nearest common one."""
    kinds = (found.prepared, found.drives, found.releases, found.vlog, found.objects, found.clips)
    if path.is_dir() and sum(map(bool, kinds)) == 1:
        return path
    common = places[0].parent
    while not all(place.is_relative_to(common) for place in places):
        common = common.parent
    # The folder of a date or category says what its drives are: it must stay below the one that is named.
    while common != path and (common.name in CATEGORIES or re.fullmatch(r"\d{4}_\d\d_\d\d", common.name)):
        common = common.parent
    return common


def _ends(folder: Path) -> bool:
    """Whether what lies below a folder belongs to it, so that the walk need not enter."""
    return bool(
        camera_of(folder)
        or (folder / META_NAME).is_file()
        or (folder / CLIP_FILE).is_file()
        or _is_release(folder)
        or _holds_objects(folder)
        or folder.name in ("velodyne_points", "oxts")
    )


def _recognise(folder: Path, found: Survey) -> None:
    if (folder / META_NAME).is_file():
        found.prepared.append(folder)
    elif camera_of(folder):
        _once(found.drives, folder.parent)
    elif (folder / CLIP_FILE).is_file():
        found.vlog.append(folder)
    elif _is_release(folder):
        found.releases.append(folder)
    elif _holds_objects(folder):
        found.objects.append(folder)
    else:
        if list_frames(folder):
            found.clips.append(folder)
        for file in sorted((entry for entry in folder.iterdir() if entry.is_file()), key=lambda f: natural_key(f.name)):
            if file.suffix.lower() not in IMAGE_SUFFIXES and not file.name.startswith("."):
                _file(file, found)


def _is_release(folder: Path) -> bool:
    return any((folder / f"{part}_{split}.hkl").exists() for split in SPLITS for part in ("X", "sources"))


def _holds_objects(folder: Path) -> bool:
    return (folder / "objects").is_dir() and next((folder / "objects").glob("*/*.png"), None) is not None


def _once(places: list[Path], place: Path) -> None:
    if place not in places:
        places.append(place)


def _file(file: Path, found: Survey) -> None:
    suffix = file.suffix.lower()
    if suffix in VIDEO_SUFFIXES:
        found.clips.append(file)
    elif file.name == CLIP_FILE:
        found.vlog.append(file.parent)
    elif file.name.startswith(("X_", "sources_")) and suffix == ".hkl":
        found.releases.append(file.parent)
    elif suffix in IMAGE_SUFFIXES:
        found.clips.append(file.parent)
    else:
        found.others[suffix or shown(file.name)] += 1
