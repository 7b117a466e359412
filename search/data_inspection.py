"""`hms data inspect`: recognise what lies at a path, and inspect each kind that is there."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import load_objects
from prednet.data.cache import VideoDataset, describe
from prednet.data.images import not_media, shell_word, shown
from prednet.data.inspection.clips import inspect_clips
from prednet.data.inspection.findings import FoundRecording, Inspection, Way
from prednet.data.inspection.kitti import inspect_kitti
from prednet.data.inspection.releases import inspect_hkl
from prednet.data.inspection.survey import Survey, root_of, survey
from prednet.data.inspection.vlog import inspect_vlog
from prednet.data.sources import Progress
from prednet.errors import DataError
from search.object_check import object_problems

_KNOWN = (
    "KITTI raw (image_0X below a drive), X_train.hkl and so on, video files, folders of images, <id>/clip.hkl,"
    " objects/<object>/<view>.png, prepared data"
)


def inspect_path(path: Path, videos: Path, *, quick: bool, progress: Progress) -> list[Inspection]:
    """One inspection for each kind of data found. `videos`: where datasets are prepared.

    Raises:
        DataError: there is nothing at the path, or nothing that is recognised (says what lies there).
    """
    if not path.exists():
        raise DataError(f"{shown(path)}: no such file or folder")
    path = path.absolute()
    found = survey(path)
    if found.empty:
        raise DataError(_unrecognised(path, found))
    inspections = [_prepared(place) for place in found.prepared]
    if found.drives:
        root = root_of(path, found, found.drives)
        inspections.append(inspect_kitti(root, videos / "kitti", quick=quick, progress=progress))
    inspections += [
        inspect_hkl(place, videos / "kitti-hkl", quick=quick, progress=progress) for place in found.releases
    ]
    if found.vlog:
        root = root_of(path, found, found.vlog)
        inspections.append(inspect_vlog(root, videos / "vlog", quick=quick, progress=progress))
    inspections += [_objects(place, progress) for place in found.objects]
    if found.clips:
        inspections.append(inspect_clips(path, found.clips, videos / "video", quick=quick, progress=progress))
    return inspections


def _unrecognised(path: Path, found: Survey) -> str:
    if path.is_file():
        with path.open("rb") as stream:
            reason = not_media(stream.read(512)) or f"a {path.suffix or 'nameless'} file is none of: {_KNOWN}"
        return f"{shown(path)}: {reason}"
    what = ", ".join(f"{n} {suffix}" for suffix, n in found.others.most_common(6)) or "no file at all"
    return f"{shown(path)}: nothing that is known lies here ({what} found). Known: {_KNOWN}"


def _prepared(place: Path) -> Inspection:
    """A dataset that `hms data` made, or a folder whose meta.json is not of this program."""
    try:
        dataset = VideoDataset.open(place)
    except DataError as error:
        return Inspection(shown(place), "prepared", "prepared data that cannot be opened", problems=(str(error),))
    facts = describe(dataset)
    height, width = facts["size"]
    recordings = tuple(
        FoundRecording(
            recording["name"],
            recording["length"],
            category=recording["category"],
            camera=split,
            source=recording["source"],
            sizes={f"{width}x{height}": recording["length"]},
            read=partial(_row, dataset, split, recording["offset"]),
        )
        for split, entry in dataset.meta["splits"].items()
        for recording in entry["recordings"]
    )
    told = (
        f"from {facts['source']}",
        f"resize {facts['resize']}",
        f"held out: {facts['held_out']}",
        *facts["warnings"],
    )
    command = f"hms data verify {shell_word(place.name)}"
    return Inspection(
        shown(place), "prepared", f"prepared {facts['kind']} dataset", recordings, told, ways=(Way("", command),)
    )


def _row(dataset: VideoDataset, split: str, offset: int, index: int) -> NDArray[np.uint8]:
    return np.asarray(dataset.split(split).frames[offset + index])


def _objects(place: Path, progress: Progress) -> Inspection:
    title = "object images for the matching task (objects/<object>/<view>.png)"
    problems = tuple(object_problems(place, progress))
    try:
        objects = load_objects(place)
    except MetricError as error:
        return Inspection(shown(place), "objects", title, problems=problems or (str(error),))
    height, width = objects.images.shape[1:3]
    rows: dict[str, list[int]] = {}
    for index, row in enumerate(objects.rows):
        rows.setdefault(row.object, []).append(index)
    recordings = tuple(
        FoundRecording(
            name,
            len(indices),
            category=objects.rows[indices[0]].family,
            sizes={f"{width}x{height}": len(indices)},
            formats={"PNG": len(indices)},
            read=partial(_pick, objects.images, indices),
        )
        for name, indices in rows.items()
    )
    families = {row.family for row in objects.rows if row.family}
    facts = (
        f"{objects.object_count} objects, {len(objects.rows)} images",
        f"{len(families)} families" if families else "families unknown: no manifest.csv that names them",
    )
    return Inspection(shown(place), "objects", title, recordings, facts, problems)


def _pick(frames: NDArray[np.uint8], rows: Sequence[int], index: int) -> NDArray[np.uint8]:
    return np.asarray(frames[rows[index]])
