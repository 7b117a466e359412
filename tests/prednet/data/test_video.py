import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prednet.data.cache import VideoDataset, describe
from prednet.data.video import prepare_videos
from prednet.errors import DataError

Writer = Callable[..., list[Path]]


def build(files: list[Path], dest: Path, **kwargs: object) -> VideoDataset:
    return prepare_videos(files, dest, height=16, width=20, **kwargs)  # type: ignore[arg-type]


def names(dataset: VideoDataset) -> dict[str, list[str]]:
    return {split: entry["names"] for split, entry in describe(dataset)["splits"].items()}


@pytest.fixture
def clips(tmp_path: Path, write_frames: Writer) -> Path:
    for index, name in enumerate(("clip10", "clip2", "clip1")):
        write_frames(tmp_path / "clips" / name, 12, names="f{}.png", seed=index)
    return tmp_path / "clips"


def test_folders_of_frames_are_clips_in_natural_order(clips: Path, tmp_path: Path) -> None:
    assert names(build([clips], tmp_path / "out")) == {"train": ["clip1"], "val": ["clip2"], "test": ["clip10"]}


def test_held_out_clips_can_be_chosen(clips: Path, tmp_path: Path) -> None:
    chosen = build([clips], tmp_path / "out", val=[clips / "clip10"], test=[clips / "clip1"])
    assert names(chosen) == {"train": ["clip2"], "val": ["clip10"], "test": ["clip1"]}
    assert chosen.meta["held_out"] == "whole clips, chosen by name"
    with pytest.raises(DataError, match=r"clip1: asked for as val and as test"):
        build([clips], tmp_path / "out", val=[clips / "clip1"], test=[clips / "clip1"])


def test_equal_names_are_told_apart_by_their_folders(tmp_path: Path, write_frames: Writer) -> None:
    for index, day in enumerate(("monday", "tuesday")):
        write_frames(tmp_path / day / "clip", 12, seed=index)
    dataset = build([tmp_path / "monday", tmp_path / "tuesday"], tmp_path / "out")
    assert names(dataset) == {"train": ["monday/clip"], "val": ["tuesday/clip"]}


def test_a_narrow_source_is_cropped_in_height_and_that_is_recorded(
    clips: Path, tmp_path: Path, write_frames: Writer
) -> None:
    write_frames(clips / "clip3", 20, h=40, w=30)
    warnings = build([clips], tmp_path / "out").warnings
    assert [text for text in warnings if "narrower" in text] == [
        "clip3: 30x40 is narrower than 20x16: scaled to the width, its height cropped"
    ]


def test_a_changed_choice_of_clips_is_another_request(clips: Path, tmp_path: Path) -> None:
    first = build([clips], tmp_path / "out")
    second = build([clips], tmp_path / "out", val=[clips / "clip10"])
    assert first.fingerprint != second.fingerprint


def test_nothing_to_read_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no video given.*hms data demo"):
        build([], tmp_path / "out")
    with pytest.raises(DataError, match=r"no\.mp4: no such file"):
        build([tmp_path / "no.mp4"], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no video and no image in this folder"):
        build([tmp_path / "empty"], tmp_path / "out")
    with pytest.raises(DataError, match="fps=0 is impossible"):
        build([tmp_path / "no.mp4"], tmp_path / "out", fps=0)


def test_a_loop_of_links_ends(clips: Path, tmp_path: Path) -> None:
    (clips / "clip1" / "again").symlink_to(clips)
    assert sum(map(len, names(build([clips], tmp_path / "out")).values())) == 3


def test_undecodable_folder_names_are_shown_escaped(tmp_path: Path, write_frames: Writer) -> None:
    write_frames(tmp_path / "in" / os.fsdecode(b"\xff1"), 12, seed=1)
    write_frames(tmp_path / "in" / "ü2", 12, seed=2)
    dataset = build([tmp_path / "in"], tmp_path / "out")
    assert sorted(names(dataset)["train"] + names(dataset)["val"]) == ["\\xff1", "ü2"]


def test_fps_does_not_apply_to_frames_and_that_is_said(clips: Path, tmp_path: Path) -> None:
    assert any("--fps 5 does not apply" in text for text in build([clips], tmp_path / "out", fps=5).warnings)


def test_one_real_video_holds_out_its_end(samples: Path, tmp_path: Path) -> None:
    file = samples / "footage" / "video" / "solidWhiteRight_480x270_25fps.mp4"
    dataset = build([file], tmp_path / "out")
    assert dataset.meta["held_out"] == "same recording, no generalisation claim"
    assert (dataset.split("train").n_frames, dataset.split("val").n_frames) == (127, 44)
    assert dataset.split("val").recordings[0].source.endswith("frames 177-220")


def test_a_link_to_a_held_out_clip_does_not_bring_it_back_into_training(clips: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(clips / "clip1")
    dataset = build([clips], tmp_path / "out", val=[link])
    assert names(dataset)["val"] == ["clip1"]
    assert "clip1" not in names(dataset)["train"]
    with pytest.raises(DataError, match="choose one"):
        build([clips], tmp_path / "other", val=[link], test=[clips / "clip1"])
