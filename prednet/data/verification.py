"""Whether a prepared dataset is still what was prepared, and whether its source has changed since."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prednet.data.build import sha256_of
from prednet.data.cache import SOURCES_NAME, VideoDataset
from prednet.data.clip_folders import find_clips
from prednet.data.hickle_files import find_pairs
from prednet.data.images import shown
from prednet.data.kitti_categories import read_categories
from prednet.data.kitti_folders import find_drives
from prednet.data.sources import Progress, SourceFiles
from prednet.data.video import clips_of, source_files
from prednet.errors import DataError


@dataclass(frozen=True)
class SourceState:
    """What became of the source: `state` is unchanged, changed, gone or unknown; `details` say which files."""

    state: str
    details: tuple[str, ...] = ()


def source_state(dataset: VideoDataset) -> SourceState:
    """Compare names, sizes and times of the source's files with those recorded; no content is read."""
    meta = dataset.meta
    list_now = _LISTINGS.get(meta["kind"])
    inputs = meta.get("inputs") or ({"source": meta["source"]} if meta["kind"] in ("kitti", "hkl") else {})
    if list_now is None or not inputs:
        return SourceState("unknown", ("it does not say which files it was made of",))
    try:
        now = list_now(inputs, meta["options"])
    except DataError as error:
        return SourceState("gone", (str(error),))
    details = _other_categories(inputs, meta["options"])
    if now.fingerprint != meta["source_fingerprint"]:
        details += _differences(_recorded(dataset.path), now)
    return SourceState("changed", details) if details else SourceState("unchanged")


def damaged_splits(dataset: VideoDataset, progress: Progress) -> list[str]:
    """A sentence for each frame file that is missing or whose sha256 is not the one recorded; all are read."""
    entries = dataset.meta["splits"]
    problems = []
    for done, (split, entry) in enumerate(entries.items()):
        progress("verifying frames", done, len(entries))
        file = dataset.path / entry["file"]
        if not file.is_file():
            problems.append(f"{split}: {shown(file)} is missing")
        elif (digest := sha256_of(file)) != entry["sha256"]:
            problems.append(
                f"{split}: {shown(file)} has sha256 {digest[:12]}..., {entry['sha256'][:12]}... was written"
            )
    progress("verifying frames", len(entries), len(entries))
    return problems


def _kitti(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> SourceFiles:
    source = Path(inputs["source"])
    drives, _ = find_drives(source, options["camera"], {})
    return SourceFiles.of((frame for drive in drives for frame in drive.frames), source)


def _hkl(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> SourceFiles:
    source = Path(inputs["source"])
    return SourceFiles.of((file for pair in find_pairs(source).values() for file in pair), source)


def _video(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> SourceFiles:
    return source_files(clips_of({"train": inputs["files"], "val": inputs["val"], "test": inputs["test"]}))


def _vlog(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> SourceFiles:
    source = Path(inputs["source"])
    return SourceFiles.of((file for clip in find_clips(source) for file in clip.files), source)


_LISTINGS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], SourceFiles]] = {
    "kitti": _kitti,
    "hkl": _hkl,
    "video": _video,
    "vlog": _vlog,
}


def _other_categories(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    if "categories_file" not in inputs:
        return ()
    file = Path(inputs["categories_file"])
    try:
        changed = read_categories(file) != options["drive_categories"]
    except DataError as error:
        return (str(error),)
    return (f"the table {shown(file)} has other categories",) if changed else ()


def _recorded(folder: Path) -> dict[str, tuple[int, int]]:
    try:
        files = json.loads((folder / SOURCES_NAME).read_text(encoding="ascii"))["files"]
    except (OSError, ValueError, KeyError):
        return {}
    return {name: (size, modified) for name, size, modified in files}


def _differences(before: Mapping[str, tuple[int, int]], now: SourceFiles) -> tuple[str, ...]:
    if not before:
        return ("the files' names, sizes or times differ; which ones was not recorded then",)
    after = {name: (size, modified) for name, size, modified in now.stats}
    details = [f"{shown(name)} is gone" for name in before.keys() - after.keys()]
    details += [f"{shown(name)} is new" for name in after.keys() - before.keys()]
    for name in before.keys() & after.keys():
        if before[name][0] != after[name][0]:
            details.append(f"{shown(name)} has {after[name][0]} bytes, {before[name][0]} then")
        elif before[name] != after[name]:
            details.append(f"{shown(name)} was written again")
    return tuple(sorted(details)) or ("its files are in another order",)
