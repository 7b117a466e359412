import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.data.cache import VideoDataset
from prednet.data.video import prepare_videos


def moving_square(n: int, *, h: int = 24, w: int = 30, seed: int = 0) -> np.ndarray:
    """(n, h, w, 3) uint8: noise that stays, and a bright square that moves one pixel a frame."""
    frames = np.repeat(np.random.default_rng(seed).integers(0, 120, (1, h, w, 3), np.uint8), n, axis=0)
    for t in range(n):
        left = t % (w - 6)
        frames[t, 8:14, left : left + 6] = 250 - seed % 5
    return frames


@pytest.fixture
def square() -> Callable[..., np.ndarray]:
    return moving_square


@pytest.fixture
def write_frames() -> Callable[..., list[Path]]:
    """Write n PNG frames into a folder; the names come from a format or a list."""

    def write(folder: Path, n: int, *, names: str | list[str] = "{:010d}.png", **square: int) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / (names.format(t) if isinstance(names, str) else names[t]) for t in range(n)]
        for file, frame in zip(files, moving_square(n, **square), strict=True):
            Image.fromarray(frame).save(file)
        return files

    return write


@pytest.fixture
def write_drive(write_frames: Callable[..., list[Path]]) -> Callable[..., list[Path]]:
    """Write a drive of KITTI's raw layout; returns its frames."""

    def write(root: Path, drive: str, n: int = 12, *, camera: str = "03", **kwargs: int) -> list[Path]:
        return write_frames(root / drive[:10] / f"{drive}_sync" / f"image_{camera}" / "data", n, **kwargs)

    return write


@pytest.fixture
def dataset(tmp_path: Path, write_frames: Callable[..., list[Path]]) -> VideoDataset:
    """Train recordings of 15 and 12 frames, validation of 11, test of 23, at 16x20."""
    for index, (name, n) in enumerate({"a": 15, "b": 12, "c": 11, "d": 23}.items()):
        write_frames(tmp_path / "clips" / name, n, seed=index)
    return prepare_videos([tmp_path / "clips"], tmp_path / "dataset", height=16, width=20)


@pytest.fixture(scope="session")
def samples() -> Path:
    place = os.environ.get("HMS_TEST_DATA")
    if not place:
        pytest.skip("HMS_TEST_DATA is not set: it names the folder with KITTI, hickle and video samples")
    return Path(place)
