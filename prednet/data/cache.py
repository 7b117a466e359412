"""A prepared video dataset: one uint8 `.npy` a split and `meta.json`, opened lazily in each process.

Layout of a dataset folder (`build.py` writes it, `meta.json` last):

    meta.json                 size, options, recordings, warnings, fingerprints
    train-1a2b3c4d5e6f.npy    (N, H, W, 3) uint8; the name holds the first digits of the content's sha256
    val-....npy, test-....npy
    source_files.json         name, size and modification time of each file that was read

Rows that belong to no recording are frames that could not be read (`--skip-bad`).
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prednet.data.images import shown
from prednet.errors import DataError

CACHE_VERSION = 1
META_NAME = "meta.json"
SOURCES_NAME = "source_files.json"
BUILDING = ".building"  # folder of an unfinished build, with the request below in it
REQUEST_NAME = "request.json"
PREPARE = "`hms data demo`, or `hms data kitti|hkl|video SOURCE` for your own"


@dataclass(frozen=True)
class Recording:
    """Consecutive frames of one camera in a split: rows offset .. offset + length - 1."""

    name: str
    offset: int
    length: int
    category: str = ""
    source: str = ""


@dataclass(frozen=True)
class Split:
    """The frames of `train`, `val` or `test`. Pickling it carries the path, never the frames."""

    name: str
    recordings: tuple[Recording, ...]
    file: Path
    shape: tuple[int, int, int, int]
    dataset_fingerprint: str
    _opened: list[NDArray[np.uint8]] = field(default_factory=list, repr=False, compare=False)

    @property
    def n_frames(self) -> int:
        """Frames that belong to recordings."""
        return sum(recording.length for recording in self.recordings)

    @property
    def frames(self) -> NDArray[np.uint8]:
        """(N, H, W, 3) uint8, read-only, mapped from the file on first use in this process."""
        if not self._opened:
            self._opened.append(self._open())
        return self._opened[0]

    def _open(self) -> NDArray[np.uint8]:
        try:
            frames = np.load(self.file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(
                f"{shown(self.file)}: the prepared frames cannot be opened ({error}). Next: prepare the"
                " data again with the same `hms data` command"
            ) from error
        if frames.shape != self.shape or frames.dtype != np.uint8:
            raise DataError(
                f"{shown(self.file)}: holds {frames.dtype} {frames.shape}, expected uint8 {self.shape}."
                " Next: delete the folder and prepare the data again"
            )
        return frames

    def __getstate__(self) -> dict[str, Any]:
        # A pickled memmap is a full copy of the frames; the receiver maps the file again instead.
        return {**self.__dict__, "_opened": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class VideoDataset:
    """A prepared dataset. Cheap to open and to pickle: no frame is touched until `Split.frames`."""

    path: Path
    meta: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> "VideoDataset":
        """Read `meta.json`. Raises DataError when the folder holds no finished dataset of this version."""
        path = Path(path)
        file = path / META_NAME
        try:
            meta = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            state = "is not finished" if path.is_dir() else "does not exist"
            raise DataError(f"{shown(path)}: this prepared video dataset {state}. Next: {PREPARE}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{shown(file)}: cannot be read ({error}). Next: {PREPARE}") from error
        version = meta.get("version") if isinstance(meta, dict) else None
        if version != CACHE_VERSION:
            raise DataError(
                f"{shown(path)}: prepared in format {version}, this program reads {CACHE_VERSION}."
                f" Next: prepare it again: {PREPARE}"
            )
        return cls(path, meta)

    @property
    def fingerprint(self) -> str:
        """sha256 over the frames, the recordings and the size: equal on every machine with the same data."""
        return self.meta["fingerprint"]

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of the frames in pixels."""
        height, width = self.meta["size"]
        return height, width

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, split, accepted with a flaw, or held out by rule when this was prepared."""
        return tuple(self.meta["warnings"])

    def has_split(self, name: str) -> bool:
        """Whether the dataset has a split of this name."""
        return name in self.meta["splits"]

    def split(self, name: str) -> Split:
        """One of `train`, `val`, `test`. Raises DataError, naming those that exist."""
        if not self.has_split(name):
            have = ", ".join(self.meta["splits"])
            raise DataError(f"{shown(self.path)}: no {name!r} split; it has {have}. Next: {PREPARE}")
        entry = self.meta["splits"][name]
        recordings = tuple(Recording(**recording) for recording in entry["recordings"])
        shape = (entry["rows"], *self.size, 3)
        return Split(name, recordings, self.path / entry["file"], shape, self.fingerprint)


def describe(dataset: VideoDataset) -> dict[str, Any]:
    """A plain dictionary for reports; reads `meta.json` only.

    `previous_frame_mse` of a split is the mean squared difference of neighbouring frames inside its
    recordings, pixels in [0, 1]: the error of predicting each frame by the one before it (lower = less
    motion). It depends on `resize`, so that datasets of different modes are not comparable.
    """
    meta = dataset.meta
    splits = {
        name: {
            "frames": sum(recording["length"] for recording in entry["recordings"]),
            "recordings": len(entry["recordings"]),
            "names": [recording["name"] for recording in entry["recordings"]],
            "previous_frame_mse": entry["previous_frame_mse"],
        }
        for name, entry in meta["splits"].items()
    }
    return {
        "path": shown(dataset.path),
        "kind": meta["kind"],
        "source": meta["source"],
        "size": list(dataset.size),
        "resize": meta["resize"],
        "options": meta["options"],
        "held_out": meta["held_out"],
        "fingerprint": dataset.fingerprint,
        "splits": splits,
        "warnings": list(dataset.warnings),
    }
