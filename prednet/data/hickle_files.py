"""The preprocessed PredNet release: `X_train.hkl`, `sources_train.hkl`, ... of any hickle generation.

hickle files are HDF5. h5py alone reads them: 1.x and 4.x keep the array in `data`, 2.x and 3.x in `data_0`,
5.x keeps lists as a group of members, some of them references to an equal member.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypedDict, Unpack

import h5py
import numpy as np
from numpy.typing import NDArray

from prednet.data.cache import VideoDataset
from prednet.data.frame_folders import natural_key, part_name
from prednet.data.images import not_media, shown
from prednet.data.preparation import Preparation
from prednet.data.resize import ResizeMode, check_resize, resize_frame
from prednet.data.sources import (
    MIN_FRAMES,
    SPLITS,
    Chunk,
    Plan,
    Progress,
    Request,
    SourceFiles,
    SourceRecording,
    Target,
    long_enough,
)
from prednet.errors import DataError

_BLOCK = 64


class HklOptions(TypedDict, total=False):
    """The options of `hkl_preparation`, which says what they mean."""

    height: int | None
    width: int | None
    resize: ResizeMode
    min_frames: int


def prepare_hkl(
    source: str | Path,
    dest: str | Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[HklOptions],
) -> VideoDataset:
    """Prepare a release at `dest`. See `hkl_preparation` for the options and errors, `prepare` for the rest."""
    return hkl_preparation(source, **options).build(dest, workers=workers, progress=progress)


def hkl_preparation(
    source: str | Path,
    *,
    height: int | None = None,
    width: int | None = None,
    resize: ResizeMode = "antialias",
    min_frames: int = MIN_FRAMES,
) -> Preparation:
    """What preparing a folder with `X_SPLIT.hkl` and `sources_SPLIT.hkl` for one or more of train, val, test means.

    The frames keep their size unless height and width are given. `resize` then counts; otherwise the frames
    are copied byte by byte (those of the released files look un-antialiased). The splits are the release's
    own. Each run of equal sources is a recording of its own, also where a source comes back later.

    Raises:
        DataError: no `X_*.hkl`, a truncated or foreign file (with sizes), frames that are no (N, H, W, 3) uint8;
            when built: lengths of X and sources that differ (with both), no space.
    """
    source = Path(source).absolute()
    pairs = find_pairs(source)
    shapes = {split: frames_shape(x_file) for split, (x_file, _) in pairs.items()}
    sizes = {shape[1:3] for shape in shapes.values()}
    if (height is None) != (width is None):
        raise DataError("give both --height and --width, or neither to keep the size of the release")
    if height is None or width is None:
        if len(sizes) > 1:
            raise DataError(f"{shown(source)}: its splits differ in size ({shapes}). Next: give --height and --width")
        height, width = next(iter(sizes))
    check_resize(height, width, resize)
    files = SourceFiles.of((file for pair in pairs.values() for file in pair), source)
    copied = sizes == {(height, width)}
    target = Target(height, width, "antialias" if copied else resize)
    options = {"frames": "copied" if copied else "resized", "min_frames": min_frames}
    label = "as released" if copied else ""
    inputs = {"source": str(source)}
    request = Request("hkl", shown(source), target, options, files.fingerprint, label, inputs, files)

    def make_plan(_: Progress) -> Plan:
        splits: dict[str, tuple[SourceRecording, ...]] = {}
        warnings = [f"no X_{split}.hkl: no {split} split" for split in SPLITS if split not in pairs]
        for split, (x_file, sources_file) in pairs.items():
            kept, short = long_enough(hkl_recordings(x_file, sources_file, shapes[split][0]), min_frames)
            warnings += [f"{split}: {text}" for text in short]
            if kept:
                splits[split] = tuple(kept)
        if not splits:
            raise DataError(f"{shown(source)}: no recording has {min_frames} frames ({'; '.join(warnings[:4])})")
        return Plan(splits, "as released", tuple(warnings))

    return Preparation(request, make_plan)


@dataclass(frozen=True)
class HickleRecording:
    """Rows start .. stop - 1 of an X file (a `SourceRecording`), read in blocks."""

    name: str
    group: str
    category: str
    file: Path
    start: int
    stop: int

    @property
    def source(self) -> str:
        """The file and its rows."""
        return f"{shown(self.file)} rows {self.start}-{self.stop - 1}"

    def __len__(self) -> int:
        return self.stop - self.start

    def part(self, start: int, stop: int) -> "HickleRecording":
        """See `SourceRecording.part`."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def chunks(self, target: Target) -> Iterator[Callable[[], Chunk]]:
        """See `SourceRecording.chunks`."""
        with _open(self.file) as handle:
            for row in range(self.start, self.stop, _BLOCK):
                yield _Job(row - self.start, _rows(self.file, handle, row, min(row + _BLOCK, self.stop)), target)


@dataclass(frozen=True)
class _Job:
    first: int
    block: Any
    target: Target

    def __call__(self) -> Chunk:
        height, width = self.target.height, self.target.width
        if self.block.shape[1:3] == (height, width):
            return Chunk(self.first, self.block)
        resized = [resize_frame(frame, height, width, self.target.resize) for frame in self.block]
        return Chunk(self.first, np.stack(resized))


def read_rows(file: Path, start: int, stop: int) -> NDArray[np.uint8]:
    """Frames start .. stop - 1 of an X file, (stop - start, height, width, 3). Raises DataError."""
    with _open(file) as handle:
        return _rows(file, handle, start, stop)


def _rows(file: Path, handle: h5py.File, start: int, stop: int) -> NDArray[np.uint8]:
    frames = _array(file, handle)
    try:
        return frames[start:stop]
    except OSError as error:
        raise DataError(f"{shown(file)}: rows {start} to {stop - 1} cannot be read: {error}") from error


def read_sources(file: Path) -> list[str]:
    """The source of each frame, from a sources file of any hickle generation. Raises DataError."""
    with _open(file) as handle:
        node = _data(file, handle)
        members: list[Any]
        if isinstance(node, h5py.Group):
            names = sorted((name for name in node if re.fullmatch(r"data_?\d+", name)), key=natural_key)
            members = [_member(handle, node[name]) for name in names]
            expected = int(node.attrs.get("num_items", len(members)))
            if expected != len(members):
                raise DataError(f"{shown(file)}: says {expected} items, holds {len(members)}")
        else:
            members = list(node[()])
    return [item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in members]


def _member(handle: h5py.File, node: h5py.Dataset) -> bytes | str:
    """One list member of hickle 5: characters in an array, or a reference to an equal earlier member."""
    value = node[()]
    if isinstance(value, h5py.Reference):
        value = handle[value][()]
    return value.tobytes() if isinstance(value, np.ndarray) else value


def find_pairs(source: Path) -> dict[str, tuple[Path, Path]]:
    """Split -> (X file, sources file). Raises DataError when there is none, or one without the other."""
    if not source.is_dir():
        raise DataError(f"{shown(source)}: no such folder. Next: `hms data hkl DIR`, DIR holding X_train.hkl and so on")
    pairs = {}
    for split in SPLITS:
        x_file, sources_file = source / f"X_{split}.hkl", source / f"sources_{split}.hkl"
        if x_file.exists() and not sources_file.exists():
            raise DataError(f"{shown(source)}: X_{split}.hkl is there, sources_{split}.hkl is missing")
        if x_file.exists():
            pairs[split] = (x_file, sources_file)
    if not pairs:
        raise DataError(f"{shown(source)}: no X_train.hkl, X_val.hkl or X_test.hkl. Next: `hms data hkl DIR`")
    return pairs


def _open(file: Path) -> h5py.File:
    try:
        head = file.read_bytes() if file.stat().st_size < 512 else _head(file)
    except OSError as error:
        raise DataError(f"{shown(file)}: cannot be read: {error.strerror}") from error
    if reason := not_media(head):
        raise DataError(f"{shown(file)}: {reason}")
    try:
        return h5py.File(file, "r")
    except (OSError, ValueError) as error:
        if sizes := re.search(r"eof = (\d+).*stored_eof = (\d+)", str(error)):
            actual, expected = sizes.groups()
            raise DataError(
                f"{shown(file)}: truncated: {actual} bytes, {expected} expected. Next: copy the file again"
            ) from error
        raise DataError(f"{shown(file)}: no HDF5 file that can be read ({len(head)} bytes seen: {error})") from error


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(512)


def _data(file: Path, handle: h5py.File) -> h5py.Dataset | h5py.Group:
    for name in ("data_0", "data"):
        if name in handle:
            return handle[name]
    raise DataError(f"{shown(file)}: no hickle data in it (found {', '.join(handle) or 'nothing'})")


def _array(file: Path, handle: h5py.File) -> h5py.Dataset:
    node = _data(file, handle)
    if not isinstance(node, h5py.Dataset):
        raise DataError(f"{shown(file)}: holds a list or dictionary, expected one array of frames")
    if node.ndim != 4 or node.shape[3] != 3 or node.dtype != np.uint8:
        raise DataError(f"{shown(file)}: holds {node.dtype} {node.shape}, expected uint8 (N, height, width, 3)")
    return node


def frames_shape(file: Path) -> tuple[int, int, int]:
    """(N, height, width) of an X file. Raises DataError."""
    with _open(file) as handle:
        n, height, width, _ = _array(file, handle).shape
    return n, height, width


def hkl_recordings(x_file: Path, sources_file: Path, n: int) -> list[HickleRecording]:
    """One recording for each run of equal sources. Raises DataError when there are not n sources."""
    sources = read_sources(sources_file)
    if len(sources) != n:
        raise DataError(
            f"{shown(x_file)} has {n} frames, {shown(sources_file)} has {len(sources)} sources:"
            " they do not belong together. Next: copy both files from one release"
        )
    recordings = []
    seen: dict[str, int] = {}
    start = 0
    for source, run in groupby(sources):
        length = sum(1 for _ in run)
        index = seen.get(source, 0)
        seen[source] = index + 1
        category = source.split("-", 1)[0] if "-" in source else ""
        name = part_name(source, index)
        recordings.append(HickleRecording(name, source, category, x_file, start, start + length))
        start += length
    return recordings
