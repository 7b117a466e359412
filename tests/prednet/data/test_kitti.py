import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from prednet.data.cache import VideoDataset, describe
from prednet.data.kitti import prepare_kitti
from prednet.data.kitti_drives import category_of, drive_id
from prednet.errors import DataError

Writer = Callable[..., list[Path]]
OFFICIAL = ["2011_09_26_drive_0005", "2011_09_26_drive_0104", "2011_09_26_drive_0079", "2011_09_26_drive_0070"]


def build(root: Path, dest: Path, **kwargs: object) -> VideoDataset:
    return prepare_kitti(root, dest, height=16, width=20, **kwargs)  # type: ignore[arg-type]


def names(dataset: VideoDataset) -> dict[str, list[str]]:
    return {split: entry["names"] for split, entry in describe(dataset)["splits"].items()}


@pytest.fixture
def drives(tmp_path: Path, write_drive: Writer) -> Path:
    for index, drive in enumerate([*OFFICIAL, "2011_09_26_drive_0001", "2011_09_30_drive_0018"]):
        write_drive(tmp_path / "raw", drive, seed=index)
    return tmp_path / "raw"


def test_official_drives_are_held_out_and_categories_known(drives: Path, tmp_path: Path) -> None:
    dataset = build(drives, tmp_path / "out")
    assert names(dataset) == {
        "train": ["2011_09_26_drive_0001", "2011_09_30_drive_0018"],
        "val": ["2011_09_26_drive_0005"],
        "test": ["2011_09_26_drive_0070", "2011_09_26_drive_0079", "2011_09_26_drive_0104"],
    }
    assert dataset.meta["held_out"] == "official recordings (Lotter et al.)" and not dataset.warnings
    assert [r.category for r in dataset.split("train").recordings] == ["city", "residential"]
    assert [r.category for r in dataset.split("test").recordings] == ["road", "residential", "city"]
    assert dataset.meta["options"]["camera"] == "03" and dataset.meta["resize"] == "antialias"


def test_prednets_own_layout_takes_the_category_from_the_folder(tmp_path: Path, write_drive: Writer) -> None:
    for index, (category, drive) in enumerate(
        [("city", OFFICIAL[0]), ("road", "2011_09_26_drive_0015"), ("city", "2011_09_26_drive_0104")]
    ):
        write_drive(tmp_path / "raw" / category / f"{drive}_sync", drive, seed=index)
    dataset = build(tmp_path / "raw", tmp_path / "out")
    assert names(dataset) == {"train": ["2011_09_26_drive_0015"], "val": [OFFICIAL[0]], "test": [OFFICIAL[1]]}
    assert dataset.split("train").recordings[0].category == "road"


def test_campus_and_person_are_left_out_unless_asked_for(drives: Path, tmp_path: Path, write_drive: Writer) -> None:
    write_drive(drives, "2011_09_28_drive_0016")
    write_drive(drives, "2011_09_28_drive_0053")
    dataset = build(drives, tmp_path / "out")
    assert len(names(dataset)["train"]) == 2
    assert any("2011_09_28_drive_0016: left out, category campus" in text for text in dataset.warnings)
    more = build(drives, tmp_path / "more", categories=("city", "residential", "road", "campus"))
    assert "2011_09_28_drive_0016" in names(more)["train"]
    with pytest.raises(DataError, match="category 'town' is unknown; choose from city"):
        build(drives, tmp_path / "none", categories=("town",))


def test_a_missing_camera_is_never_replaced(tmp_path: Path, write_drive: Writer) -> None:
    write_drive(tmp_path / "raw", "2011_09_26_drive_0001", camera="00")
    write_drive(tmp_path / "raw", "2011_09_26_drive_0002", camera="02")
    with pytest.raises(DataError, match=r"camera 03 .*found image_00, image_02 in 2 drives.*--camera 02"):
        build(tmp_path / "raw", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError, match="camera '7' is unknown"):
        build(tmp_path / "raw", tmp_path / "out", camera="7")


def test_a_drive_without_the_camera_is_left_out_by_name(drives: Path, tmp_path: Path, write_drive: Writer) -> None:
    write_drive(drives, "2011_09_26_drive_0002", camera="02")
    dataset = build(drives, tmp_path / "out")
    assert dataset.warnings == ("2011_09_26_drive_0002: left out, it has no camera image_03",)
    write_drive(drives, "2011_09_26_drive_0009", camera="02")
    assert names(build(drives, tmp_path / "other", camera="image_02")) == {
        "train": ["2011_09_26_drive_0002"],
        "val": ["2011_09_26_drive_0009"],
    }


def test_frames_come_in_order_at_the_target_size(
    drives: Path, tmp_path: Path, square: Callable[..., np.ndarray]
) -> None:
    dataset = prepare_kitti(drives, tmp_path / "out", height=24, width=30)
    np.testing.assert_array_equal(dataset.split("val").frames, square(12, seed=0))


def test_missing_numbers_split_a_drive_and_are_reported(tmp_path: Path, write_drive: Writer) -> None:
    frames = write_drive(tmp_path / "raw", "2011_09_26_drive_0001", 40)
    write_drive(tmp_path / "raw", OFFICIAL[0], 12, seed=1)
    for number in (13, 14, 28):
        frames[number].unlink()
    dataset = build(tmp_path / "raw", tmp_path / "out")
    spans = [(r.name.removeprefix("2011_09_26_drive_"), r.offset, r.length) for r in dataset.split("train").recordings]
    assert spans == [("0001", 0, 13), ("0001 [2]", 13, 13), ("0001 [3]", 26, 11)]
    assert "2011_09_26_drive_0001: 3 frame numbers are missing; split into 3 recordings" in dataset.warnings


def test_every_second_frame_missing_is_not_10_hz(tmp_path: Path, write_drive: Writer) -> None:
    frames = write_drive(tmp_path / "raw", "2011_09_26_drive_0001", 40)
    for file in frames[::2]:
        file.unlink()
    with pytest.raises(DataError, match="no recording has 10 frames"):
        build(tmp_path / "raw", tmp_path / "out")


def test_short_and_empty_drives_are_named_and_none_left_is_an_error(
    drives: Path, tmp_path: Path, write_drive: Writer
) -> None:
    write_drive(drives, "2011_09_26_drive_0002", 9)
    (drives / "2011_09_26" / "2011_09_26_drive_0009_sync" / "image_03" / "data").mkdir(parents=True)
    warnings = build(drives, tmp_path / "out").warnings
    assert "2011_09_26_drive_0002: left out, 9 frames are fewer than 10" in warnings
    assert any("2011_09_26_drive_0009: left out" in text and "holds no image" in text for text in warnings)
    with pytest.raises(DataError, match="no recording has 100 frames"):
        build(drives, tmp_path / "none", min_frames=100)


def test_a_single_drive_is_held_out_in_time_with_a_label(tmp_path: Path, write_drive: Writer) -> None:
    write_drive(tmp_path / "raw", "2011_09_26_drive_0001", 60)
    dataset = build(tmp_path / "raw", tmp_path / "out")
    assert dataset.meta["held_out"] == "same recording, no generalisation claim"
    assert dataset.split("train").n_frames == 28 and dataset.split("val").n_frames == 12
    assert not dataset.has_split("test")


def test_only_official_drives_names_the_rule(tmp_path: Path, write_drive: Writer) -> None:
    for index, drive in enumerate(OFFICIAL):
        write_drive(tmp_path / "raw", drive, seed=index)
    with pytest.raises(DataError, match=r"none is left to train on.*--held-out rule"):
        build(tmp_path / "raw", tmp_path / "out")
    dataset = build(tmp_path / "raw", tmp_path / "out", held_out="rule")
    assert names(dataset)["train"] == ["2011_09_26_drive_0005", "2011_09_26_drive_0070"]
    assert dataset.meta["held_out"] == "whole recordings by rule"


def test_a_drive_found_twice_is_used_once(drives: Path, tmp_path: Path, write_drive: Writer) -> None:
    write_drive(drives / "copy", "2011_09_26_drive_0005", seed=9)
    (drives / "linked").symlink_to(drives / "2011_09_30")
    (drives / "2011_09_30" / "loop").symlink_to(drives)
    dataset = build(drives, tmp_path / "out")
    assert sum(map(len, names(dataset).values())) == 6
    assert [text for text in dataset.warnings if "is the same drive" in text and "copy" in text]


def test_unsynchronised_drives_are_left_out(drives: Path, tmp_path: Path, write_frames: Writer) -> None:
    extract = tmp_path / "extract" / "2011_09_26" / "2011_09_26_drive_0002_extract" / "image_03" / "data"
    write_frames(extract, 12)
    with pytest.raises(DataError, match=r"only unsynchronised \(_extract\)"):
        build(tmp_path / "extract", tmp_path / "out")
    write_frames(drives / "2011_09_26_drive_0002_extract" / "image_03" / "data", 12)
    assert any("unsynchronised" in text for text in build(drives, tmp_path / "out").warnings)


def test_folder_names_outside_utf8_work(tmp_path: Path, write_drive: Writer) -> None:
    root = tmp_path / os.fsdecode(b"Stra\xc3\x9fe \xff")
    for index, drive in enumerate(["2011_09_26_drive_0001", OFFICIAL[0]]):
        write_drive(root, drive, seed=index)
    dataset = build(root, tmp_path / "out")
    assert "Straße \\xff" in describe(dataset)["source"]
    VideoDataset.open(tmp_path / "out").meta["source"].encode()


def test_no_folder_and_no_drive_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such folder.*hms data kitti DIR"):
        build(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(DataError, match=r"no KITTI drive found.*hms data video"):
        build(tmp_path, tmp_path / "out")


def test_kittis_own_listing() -> None:
    assert drive_id("2011_09_26_drive_0005_sync") == "2011_09_26_drive_0005"
    assert drive_id("holiday") is None
    assert [category_of(drive) for drive in OFFICIAL] == ["city", "city", "residential", "road"]
    assert category_of("2011_09_28_drive_0222") == "person" and category_of("2011_09_26_drive_9001") == ""


def test_real_excerpts(samples: Path, tmp_path: Path) -> None:
    source = samples / "footage" / "kitti_raw"
    with pytest.raises(DataError, match=r"found image_00, image_02 in 4 drives.*--camera 02"):
        prepare_kitti(source, tmp_path / "none")
    error = {}
    for resize in ("antialias", "legacy"):
        dataset = prepare_kitti(source, tmp_path / resize, camera="02", resize=resize)
        assert {split: dataset.split(split).n_frames for split in ("train", "val")} == {"train": 26, "val": 28}
        assert dataset.size == (128, 160)
        error[resize] = describe(dataset)["splits"]["val"]["previous_frame_mse"]
    # 28 full-size JPEG frames of the recording whose 78 frames give 0.00240 and 0.00505, a ratio of 2.10.
    assert error["antialias"] == pytest.approx(0.00184, rel=0.02)
    assert error["legacy"] / error["antialias"] == pytest.approx(2.10, rel=0.02)


def test_real_grey_excerpt_becomes_rgb(samples: Path, tmp_path: Path) -> None:
    dataset = prepare_kitti(samples / "footage" / "kitti_raw", tmp_path / "grey", camera="00")
    frames = dataset.split("val").frames
    assert frames.shape == (24, 128, 160, 3)
    np.testing.assert_array_equal(frames[..., 0], frames[..., 2])
