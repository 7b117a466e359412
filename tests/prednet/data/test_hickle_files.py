import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from prednet.data.cache import VideoDataset
from prednet.data.hickle_files import prepare_hkl, read_sources
from prednet.data.sequences import Windows
from prednet.errors import DataError

GENERATIONS = ["1.4.0", "2.0.5", "3.4.9", "4.0.4", "5.0.3"]
CITY, ROAD = "city-2011_09_26_drive_0001_sync", "road-2011_09_26_drive_0015_sync"


def frames(n: int, h: int = 16, w: int = 20) -> np.ndarray:
    return np.stack([(np.arange(h * w * 3).reshape(h, w, 3) + 5 * t) % 256 for t in range(n)]).astype(np.uint8)


def write_release(folder: Path, split: str, sources: list[str], x: np.ndarray | None = None) -> None:
    """As hickle 2.0.x lays its files out."""
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / f"X_{split}.hkl", "w") as file:
        file["data_0"] = frames(len(sources)) if x is None else x
    with h5py.File(folder / f"sources_{split}.hkl", "w") as file:
        file["data_0"] = np.array(sources, "S")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_hickle_generation(samples: Path, tmp_path: Path, generation: str) -> None:
    for kind in ("X", "sources"):
        shutil.copy(samples / "hickle" / f"h{generation}_{kind}_test.hkl", tmp_path / f"{kind}_test.hkl")
    assert read_sources(tmp_path / "sources_test.hkl") == [CITY] * 13 + [ROAD] * 11
    dataset = prepare_hkl(tmp_path, tmp_path / "out")
    split = dataset.split("test")
    np.testing.assert_array_equal(split.frames, frames(24))
    assert [(r.name, r.offset, r.length, r.category) for r in split.recordings] == [
        (CITY, 0, 13, "city"),
        (ROAD, 13, 11, "road"),
    ]
    assert dataset.size == (16, 20) and dataset.meta["options"]["frames"] == "copied"
    assert dataset.meta["resize"] == "as released"
    assert dataset.meta["held_out"] == "as released"
    assert "no X_train.hkl: no train split" in dataset.warnings


def test_a_source_that_comes_back_is_another_recording(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "val", ["a"] * 11 + ["b"] * 10 + ["a"] * 12)
    dataset = prepare_hkl(tmp_path / "in", tmp_path / "out")
    split = dataset.split("val")
    spans = [(r.name, r.offset, r.length) for r in split.recordings]
    assert spans == [("a", 0, 11), ("b", 11, 10), ("a [2]", 21, 12)]
    assert Windows(split, 10).starts.tolist() == [0, 1, 11, 21, 22, 23]


def test_all_splits_and_short_recordings(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        write_release(tmp_path / "in", split, ["x-1"] * 12 + ["x-2"] * 3)
    dataset = prepare_hkl(tmp_path / "in", tmp_path / "out")
    assert [dataset.split(split).n_frames for split in ("train", "val", "test")] == [12, 12, 12]
    assert dataset.warnings == tuple(
        f"{split}: x-2: left out, 3 frames are fewer than 10" for split in ("train", "val", "test")
    )
    with pytest.raises(DataError, match=r"no recording has 50 frames.*x-1"):
        prepare_hkl(tmp_path / "in", tmp_path / "none", min_frames=50)


def test_long_recordings_are_copied_over_several_blocks(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 150)
    np.testing.assert_array_equal(prepare_hkl(tmp_path / "in", tmp_path / "out").split("train").frames, frames(150))


def test_another_size_is_resized_and_recorded(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12, frames(12, 32, 40))
    dataset = prepare_hkl(tmp_path / "in", tmp_path / "out", height=16, width=20, resize="legacy")
    assert dataset.split("train").frames.shape == (12, 16, 20, 3)
    assert dataset.meta["options"]["frames"] == "resized" and dataset.meta["resize"] == "legacy"
    with pytest.raises(DataError, match="both --height and --width"):
        prepare_hkl(tmp_path / "in", tmp_path / "out", height=16)


def test_a_truncated_file_says_both_sizes(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12)
    file = tmp_path / "in" / "X_train.hkl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1000])
    with pytest.raises(DataError, match=rf"X_train\.hkl: truncated: {len(whole) - 1000} bytes, {len(whole)} expected"):
        prepare_hkl(tmp_path / "in", tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"<html>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"x" * 900, "no HDF5"),
    ],
)
def test_what_is_no_hdf5_is_said(tmp_path: Path, data: bytes, says: str) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12)
    (tmp_path / "in" / "sources_train.hkl").write_bytes(data)
    with pytest.raises(DataError, match=rf"sources_train\.hkl.*{says}"):
        prepare_hkl(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_lengths_that_differ_are_both_named(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12, frames(13))
    with pytest.raises(DataError, match=r"X_train\.hkl has 13 frames.*sources_train\.hkl has 12 sources"):
        prepare_hkl(tmp_path / "in", tmp_path / "out")


def test_arrays_that_are_no_frames_are_refused(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12, frames(12).astype(np.float32))
    with pytest.raises(DataError, match=r"float32 \(12, 16, 20, 3\), expected uint8"):
        prepare_hkl(tmp_path / "in", tmp_path / "out")


def test_missing_files_name_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        prepare_hkl(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(DataError, match=r"no X_train\.hkl, X_val\.hkl or X_test\.hkl"):
        prepare_hkl(tmp_path, tmp_path / "out")
    write_release(tmp_path / "in", "train", ["a"] * 12)
    (tmp_path / "in" / "sources_train.hkl").unlink()
    with pytest.raises(DataError, match=r"sources_train\.hkl is missing"):
        prepare_hkl(tmp_path / "in", tmp_path / "out")


def test_a_list_file_that_lost_a_member_is_refused(samples: Path, tmp_path: Path) -> None:
    for kind in ("X", "sources"):
        shutil.copyfile(samples / "hickle" / f"h5.0.3_{kind}_test.hkl", tmp_path / f"{kind}_test.hkl")
    with h5py.File(tmp_path / "sources_test.hkl", "r+") as file:
        del file["data/data7"]
    with pytest.raises(DataError, match="says 24 items, holds 23"):
        prepare_hkl(tmp_path, tmp_path / "out")


def test_the_dataset_reopens(tmp_path: Path) -> None:
    write_release(tmp_path / "in", "train", ["a"] * 12)
    dataset = prepare_hkl(tmp_path / "in", tmp_path / "out")
    shutil.rmtree(tmp_path / "in")
    assert VideoDataset.open(tmp_path / "out").fingerprint == dataset.fingerprint
