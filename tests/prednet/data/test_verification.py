import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from prednet.data.cache import VideoDataset
from prednet.data.hickle_files import prepare_hkl
from prednet.data.kitti import kitti_preparation, prepare_kitti
from prednet.data.verification import damaged_splits, source_state
from prednet.data.video import prepare_videos, video_preparation
from prednet.data.vlog import prepare_vlog

Writer = Callable[..., list[Path]]


def quiet(what: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def clips(tmp_path: Path, write_frames: Writer) -> Path:
    for index, name in enumerate("abc"):
        write_frames(tmp_path / "in" / name, 12, seed=index)
    return tmp_path / "in"


def build(clips: Path, name: str = "out") -> VideoDataset:
    return prepare_videos([clips], clips.parent / name, height=16, width=20)


def test_an_unchanged_dataset_is_whole(clips: Path) -> None:
    dataset = build(clips)
    assert source_state(dataset).state == "unchanged" and damaged_splits(dataset, quiet) == []


def test_each_changed_new_and_lost_file_is_named(clips: Path, write_frames: Writer) -> None:
    dataset = build(clips)
    (clips / "a" / "0000000003.png").unlink()
    write_frames(clips / "b", 13, seed=9)
    (clips / "c" / "0000000001.png").touch()
    state = source_state(dataset)
    assert state.state == "changed"
    assert "a/0000000003.png is gone" in state.details and "b/0000000012.png is new" in state.details
    assert "c/0000000001.png was written again" in state.details
    assert any(text.startswith("b/0000000000.png has ") for text in state.details)
    rebuilt = build(clips)
    assert rebuilt.meta["key"] != dataset.meta["key"] and source_state(rebuilt).state == "unchanged"


def test_a_source_that_is_gone_is_said_and_the_frames_stay_whole(clips: Path) -> None:
    dataset = build(clips)
    shutil.rmtree(clips)
    assert source_state(dataset).state == "gone" and damaged_splits(dataset, quiet) == []


def test_a_moved_source_is_found_again_by_preparing_without_building(clips: Path) -> None:
    dataset = build(clips)
    frames = {file: file.stat().st_mtime_ns for file in dataset.path.glob("*.npy")}
    moved = clips.rename(clips.parent / "elsewhere")
    assert source_state(dataset).state == "gone"
    again = build(moved)
    assert source_state(again).state == "unchanged" and again.fingerprint == dataset.fingerprint
    assert again.meta["inputs"]["files"] == [str(moved)]
    assert {file: file.stat().st_mtime_ns for file in again.path.glob("*.npy")} == frames


def test_kitti_and_releases_know_their_sources_too(tmp_path: Path, write_drive: Writer) -> None:
    for index, drive in enumerate(("2011_09_26_drive_0001", "2011_09_26_drive_0005")):
        write_drive(tmp_path / "raw", drive, seed=index)
    table = tmp_path / "d.yaml"
    table.write_text("2011_09_26_drive_0001: road\n")
    kitti = prepare_kitti(tmp_path / "raw", tmp_path / "k", height=16, width=20, categories_file=table)
    assert source_state(kitti).state == "unchanged"
    table.write_text("2011_09_26_drive_0001: city\n")
    assert source_state(kitti).details == (f"the table {table} has other categories",)
    (tmp_path / "rel").mkdir()
    for name, data in (("X", np.zeros((12, 16, 20, 3), np.uint8)), ("sources", np.array(["a"] * 12, "S"))):
        with h5py.File(tmp_path / "rel" / f"{name}_val.hkl", "w") as file:
            file["data_0"] = data
    release = prepare_hkl(tmp_path / "rel", tmp_path / "h")
    assert source_state(release).state == "unchanged"
    (tmp_path / "rel" / "X_val.hkl").touch()
    assert source_state(release).details == ("X_val.hkl was written again",)


def test_a_dataset_of_before_sources_were_recorded(clips: Path) -> None:
    dataset = build(clips)
    meta = {name: value for name, value in dataset.meta.items() if name != "inputs"}
    (dataset.path / "meta.json").write_text(json.dumps(meta))
    (dataset.path / "source_files.json").unlink()
    old = VideoDataset.open(dataset.path)
    assert source_state(old).state == "unknown"
    assert source_state(build(clips)).state == "unchanged"


def test_altered_and_missing_frames_are_found(clips: Path) -> None:
    dataset = build(clips)
    train, val = dataset.split("train").file, dataset.split("val").file
    train.unlink()
    data = bytearray(val.read_bytes())
    data[500] ^= 1
    val.write_bytes(data)
    missing, altered = damaged_splits(dataset, quiet)
    assert missing == f"train: {train} is missing" and altered.startswith(f"val: {val} has sha256")


def test_a_preview_says_what_building_does_and_writes_nothing(clips: Path) -> None:
    preparation = video_preparation([clips], height=16, width=20)
    dest = clips.parent / "deep" / "out"
    preview = preparation.preview(dest)
    assert not dest.parent.exists() and not preview["prepared"] and json.dumps(preview)
    dataset = preparation.build(dest)
    for name, split in preview["splits"].items():
        made = dataset.split(name)
        assert split["frames"] == made.n_frames
        assert [r["name"] for r in split["recordings"]] == [r.name for r in made.recordings]
    assert preview["bytes"] == sum(dataset.split(name).frames.nbytes for name in preview["splits"])
    assert preparation.preview(dest)["prepared"]


def test_a_preview_of_kitti_reads_no_pixels(tmp_path: Path, write_drive: Writer) -> None:
    for index, drive in enumerate(("2011_09_26_drive_0001", "2011_09_26_drive_0005")):
        for file in write_drive(tmp_path / "raw", drive, seed=index):
            file.write_bytes(b"")
    preview = kitti_preparation(tmp_path / "raw").preview(tmp_path / "out")
    assert preview["splits"]["val"]["recordings"][0]["name"] == "2011_09_26_drive_0005"


def test_a_folder_of_clips_knows_its_source(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / "in" / name).mkdir(parents=True)
        with h5py.File(tmp_path / "in" / name / "clip.hkl", "w") as file:
            file["data_0"] = np.full((12, 16, 20, 3), 9, np.uint8)
    dataset = prepare_vlog(tmp_path / "in", tmp_path / "out", height=16, width=20, val=0.4, test=0.0)
    assert source_state(dataset).state == "unchanged"
    (tmp_path / "in" / "b" / "clip.hkl").touch()
    assert source_state(dataset).details == ("b/clip.hkl was written again",)
