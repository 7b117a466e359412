"""What is true of a folder of the preprocessed PredNet release."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from prednet.data.hickle_files import HickleRecording, frames_shape, hkl_preparation, hkl_recordings, read_rows
from prednet.data.images import shell_word, shown
from prednet.data.inspection.findings import FoundRecording, Inspection, attempted
from prednet.data.sources import MIN_FRAMES, SPLITS, Progress
from prednet.errors import DataError

T = TypeVar("T")


def inspect_hkl(source: Path, dest: Path, *, quick: bool, progress: Progress) -> Inspection:
    """Recordings of each split with categories and sizes; each file that cannot be used.

    All rows are read unless `quick`. Raises nothing for broken files: they are the problems.
    """
    source = source.absolute()
    recordings: list[FoundRecording] = []
    problems: list[str] = []
    facts: list[str] = []
    for split in SPLITS:
        x_file, sources_file = source / f"X_{split}.hkl", source / f"sources_{split}.hkl"
        if not x_file.exists() and not sources_file.exists():
            facts.append(f"no X_{split}.hkl: no {split} split")
            continue
        shape = _tried(partial(frames_shape, x_file), problems)
        runs = None
        if shape is not None:
            facts.append(f"X_{split}.hkl: {shape[0]} frames of {shape[2]}x{shape[1]}, {_layout(x_file)}")
            runs = _tried(partial(hkl_recordings, x_file, sources_file, shape[0]), problems)
        elif not sources_file.exists():
            problems.append(f"{shown(sources_file)}: missing")
        if shape is not None and runs is not None:
            recordings += [_found(run, split, shape) for run in runs]
            back = [name for name, uses in Counter(run.group for run in runs).items() if uses > 1]
            facts += [
                f"{split}: {name} comes back after another source: each run is its own recording" for name in back
            ]
            facts += [
                f"{split}: {r.name}: {len(r)} frames, fewer than {MIN_FRAMES}: left out"
                for r in runs
                if len(r) < MIN_FRAMES
            ]
            if not quick:
                _read_all(x_file, shape[0], problems, progress)
    command = f"hms data hkl {shell_word(source)}"
    way = attempted("", command, lambda: hkl_preparation(source).preview(dest))
    return Inspection(
        shown(source),
        "hkl",
        f"preprocessed PredNet release (.hkl): {len({r.name for r in recordings})} recordings",
        tuple(recordings),
        tuple(facts),
        tuple(dict.fromkeys(problems)),
        (way,),
    )


def _tried(read: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return read()
    except DataError as error:
        problems.append(str(error))
        return None


def _found(run: HickleRecording, split: str, shape: tuple[int, int, int]) -> FoundRecording:
    def read(index: int) -> NDArray[np.uint8]:
        return read_rows(run.file, run.start + index, run.start + index + 1)[0]

    return FoundRecording(
        run.name,
        len(run),
        category=run.category,
        camera=split,
        source=run.source,
        sizes={f"{shape[2]}x{shape[1]}": len(run)},
        formats={"HDF5": len(run)},
        colours={"colour": len(run)},
        numbers=((run.start, run.stop - 1),),
        read=read,
    )


def _read_all(file: Path, n: int, problems: list[str], progress: Progress) -> None:
    try:
        for start in range(0, n, 256):
            read_rows(file, start, min(n, start + 256))
            progress(f"reading {file.name}", min(n, start + 256), n)
    except DataError as error:
        problems.append(str(error))


def _layout(file: Path) -> str:
    with h5py.File(file, "r") as handle:
        return "as hickle 2 and 3 write (`data_0`)" if "data_0" in handle else "as hickle 1, 4 and 5 write (`data`)"
