"""The same frames in our cache, HDF5, zarr, JPEG and PNG files, each read as ten-frame sequences.

Every writer puts frames (N, H, W, 3) uint8 into a folder and returns a reader: starts of windows -> (B, nt, H, W, 3)
uint8. zarr is no dependency of this project: without it `FORMATS` has no such entry, and the benchmark says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.cache import Recording, Split
from prednet.data.sequences import Windows

Frames = NDArray[np.uint8]
Reader = Callable[[Sequence[int]], Frames]
OURS = "our cache (.npy)"
JPEG_QUALITY = 95


def our_cache(frames: Frames, folder: Path, nt: int) -> Reader:
    """What training reads: `Windows` of a `Split`."""
    windows = our_windows(frames, folder, nt)
    return lambda starts: windows.take(np.asarray(starts))


def our_windows(frames: Frames, folder: Path, nt: int) -> Windows:
    """All windows of one recording that holds the frames; window i starts at row i."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "train.npy", frames)
    height, width = frames.shape[1:3]
    recording = Recording("all", 0, len(frames))
    return Windows(Split("train", (recording,), folder / "train.npy", (len(frames), height, width, 3), "benchmark"), nt)


def hdf5(frames: Frames, folder: Path, nt: int) -> Reader:
    """Contiguous and uncompressed, as the PredNet release has it; the file stays open."""
    return _hdf5(frames, folder, nt, {})


def hdf5_gzip(frames: Frames, folder: Path, nt: int) -> Reader:
    """One frame a chunk, gzip level 4."""
    return _hdf5(frames, folder, nt, {"chunks": (1, *frames.shape[1:]), "compression": "gzip"})


def _hdf5(frames: Frames, folder: Path, nt: int, storage: dict[str, object]) -> Reader:
    folder.mkdir(parents=True)
    with h5py.File(folder / "frames.h5", "w") as file:
        file.create_dataset("X", data=frames, **storage)
    stored = h5py.File(folder / "frames.h5", "r")["X"]
    return lambda starts: np.stack([stored[start : start + nt] for start in starts])


def zarr_chunks(frames: Frames, folder: Path, nt: int) -> Reader:
    """One frame a chunk, zarr's own default compression."""
    import zarr

    array = zarr.create_array(
        store=str(folder), shape=frames.shape, chunks=(1, *frames.shape[1:]), dtype="uint8", overwrite=True
    )
    array[:] = frames
    stored = zarr.open_array(store=str(folder), mode="r")
    return lambda starts: np.stack([stored[start : start + nt] for start in starts])


def jpeg(frames: Frames, folder: Path, nt: int) -> Reader:
    """One file a frame, quality 95 (not the same pixels: JPEG loses some)."""
    return _images(frames, folder, nt, ".jpg", {"quality": JPEG_QUALITY})


def png(frames: Frames, folder: Path, nt: int) -> Reader:
    """One file a frame."""
    return _images(frames, folder, nt, ".png", {})


def _images(frames: Frames, folder: Path, nt: int, suffix: str, settings: dict[str, int]) -> Reader:
    folder.mkdir(parents=True)
    files = [folder / f"{index:010d}{suffix}" for index in range(len(frames))]
    for file, frame in zip(files, frames, strict=True):
        Image.fromarray(frame).save(file, **settings)

    def sequence(start: int) -> Frames:
        return np.stack([np.asarray(Image.open(file)) for file in files[start : start + nt]])

    return lambda starts: np.stack([sequence(start) for start in starts])


FORMATS: dict[str, Callable[[Frames, Path, int], Reader]] = {
    OURS: our_cache,
    "HDF5, contiguous": hdf5,
    "HDF5, gzip": hdf5_gzip,
    **({"zarr": zarr_chunks} if find_spec("zarr") else {}),
    f"JPEG, quality {JPEG_QUALITY}": jpeg,
    "PNG": png,
}
