"""Collections of clips: real hickle files of every generation, images and a real video, one folder each."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from prednet.data.demo import demo_clips
from prednet.data.sequences import Windows
from prednet.data.vlog import prepare_vlog, vlog_preparation
from prednet.errors import DataError

GENERATIONS = ("1.4.0", "2.0.5", "3.4.9", "4.0.4", "5.0.3")
SIZE = {"height": 16, "width": 20}


@pytest.fixture
def clip(tmp_path) -> Callable[..., Path]:
    """Write `clips/ID/clip.hkl` as hickle 2 and 3 lay it out."""

    def clip(name: str, frames: np.ndarray | None = None, n: int = 12) -> Path:
        if frames is None:
            frames = np.random.default_rng(len(name)).integers(0, 256, (n, 16, 20, 3), np.uint8)
        file = tmp_path / "clips" / name / "clip.hkl"
        file.parent.mkdir(parents=True)
        with h5py.File(file, "w") as handle:
            handle["data_0"] = frames
        return file

    return clip


def splits(preparation) -> dict[str, str]:
    """Recording -> split."""
    plan = preparation.plan()
    return {recording.name: split for split, recordings in plan.splits.items() for recording in recordings}


def test_clips_of_every_hickle_generation_are_copied_byte_by_byte(tmp_path, samples):
    for generation in GENERATIONS:
        folder = tmp_path / "clips" / f"id-{generation}"
        folder.mkdir(parents=True)
        shutil.copy(samples / "hickle" / f"h{generation}_X_test.hkl", folder / "clip.hkl")
    dataset = prepare_vlog(tmp_path / "clips", tmp_path / "dataset", **SIZE, test=1.0)
    split = dataset.split("test")
    assert [recording.name for recording in split.recordings] == [f"id-{each}" for each in GENERATIONS]
    i = np.arange(24)[:, None, None, None]
    expected = ((np.arange(960).reshape(16, 20, 3) + 5 * i) % 256).astype(np.uint8)
    for recording in split.recordings:
        assert recording.length == 24
        np.testing.assert_array_equal(split.frames[recording.offset : recording.offset + 24], expected)
    assert (dataset.meta["resize"], dataset.meta["kind"]) == ("as released", "vlog")
    assert any("can only be tested on" in warning for warning in dataset.warnings)
    assert len(Windows(split, 10, "unique")) == 5 * 2  # no window runs from one clip into the next
    with pytest.raises(DataError, match="no 'train' split"):
        dataset.split("train")


def test_hkl_video_and_images_in_one_collection(tmp_path, clip, write_frames):
    clip("a/1")
    write_frames(tmp_path / "clips" / "b", 13)
    (tmp_path / "clips" / "c").mkdir()
    shutil.copy(demo_clips()["val"], tmp_path / "clips" / "c" / "film.mp4")
    dataset = prepare_vlog(tmp_path / "clips", tmp_path / "dataset", **SIZE)
    found = {r.name: r.length for name in dataset.meta["splits"] for r in dataset.split(name).recordings}
    assert found == {"a/1": 12, "b": 13, "c": 120}
    assert dataset.meta["resize"] == "antialias"  # not all were copied
    assert set(dataset.meta["splits"]) == {"train", "val", "test"}


def test_clips_that_are_added_move_no_other_and_the_seed_draws_anew(tmp_path, clip):
    for number in range(60):
        clip(f"id{number:03d}")
    before = splits(vlog_preparation(tmp_path / "clips", **SIZE, val=0.2, test=0.3))
    for number in range(60, 90):
        clip(f"id{number:03d}")
    after = splits(vlog_preparation(tmp_path / "clips", **SIZE, val=0.2, test=0.3))
    assert {name: after[name] for name in before} == before
    counts = {split: list(after.values()).count(split) for split in ("train", "val", "test")}
    # Five standard deviations of binomial draws from 90.
    for split, share in {"train": 0.5, "val": 0.2, "test": 0.3}.items():
        assert abs(counts[split] - 90 * share) < 5 * np.sqrt(90 * share * (1 - share))
    assert splits(vlog_preparation(tmp_path / "clips", **SIZE, val=0.2, test=0.3, seed=1)) != after


def test_clips_of_one_vlog_video_stay_on_one_side(tmp_path, clip):
    for video in range(12):
        for part in ("001", "002", "003"):
            clip(f"v_abcdefghi{video:02d}/{part}")
    found = splits(vlog_preparation(tmp_path / "clips", **SIZE, val=0.3, test=0.3))
    assert len(set(found.values())) == 3
    for video in range(12):
        assert len({found[f"v_abcdefghi{video:02d}/{part}"] for part in ("001", "002", "003")}) == 1


def test_a_test_list_names_the_test_clips_and_keeps_their_videos_out_of_training(tmp_path, clip):
    for name in ("p", "q", "r", "s", "v_abcdefghijk/1", "v_abcdefghijk/2"):
        clip(name)
    listing = tmp_path / "test.txt"
    listing.write_text("# of the paper\nq\nv_abcdefghijk/2/clip.hkl\n\n", encoding="utf-8-sig")
    preparation = vlog_preparation(tmp_path / "clips", **SIZE, val=0.0, test_list=listing)
    plan = preparation.plan()
    assert splits(preparation) == {"p": "train", "r": "train", "s": "train", "q": "test", "v_abcdefghijk/2": "test"}
    assert any("1 clips left out" in warning for warning in plan.warnings)
    listing.write_text("q\nnobody\n")
    with pytest.raises(DataError, match="1 of its 2 ids name no clip: nobody"):
        vlog_preparation(tmp_path / "clips", **SIZE, test_list=listing)
    listing.write_text("# nothing\n")
    with pytest.raises(DataError, match="no id in it"):
        vlog_preparation(tmp_path / "clips", **SIZE, test_list=listing)


def test_few_clips_still_give_every_split_and_a_single_one_its_last_fifth(tmp_path, clip):
    for name in ("one", "two", "three"):
        clip(name)
    plan = vlog_preparation(tmp_path / "clips", **SIZE, val=1e-9, test=1e-9).plan()
    assert {split: len(recordings) for split, recordings in plan.splits.items()} == {"train": 1, "val": 1, "test": 1}
    assert sum("as none was drawn" in warning for warning in plan.warnings) == 2
    shutil.rmtree(tmp_path / "clips")
    clip("only", n=200)
    plan = vlog_preparation(tmp_path / "clips", **SIZE).plan()
    assert plan.held_out == "same recording, no generalisation claim"
    assert (len(plan.splits["val"][0]), len(plan.splits["train"][0])) == (40, 100)  # 2 s at 30 Hz between them


def test_bad_clips_are_named_or_left_out(tmp_path, clip):
    for name in ("good", "better", "best"):
        clip(name)
    clip("cut").write_bytes(clip("whole").read_bytes()[:-500])
    clip("floats", np.zeros((12, 16, 20, 3)))
    clip("scaled", np.random.default_rng(0).integers(0, 2, (12, 16, 20, 3), np.uint8))
    clip("short", n=4)
    with pytest.raises(DataError, match=r"cut/clip\.hkl: truncated: \d+ bytes, \d+ expected.*--skip-bad"):
        vlog_preparation(tmp_path / "clips", **SIZE).plan()
    plan = vlog_preparation(tmp_path / "clips", **SIZE, skip_bad=True).plan()
    assert {r.name for recordings in plan.splits.values() for r in recordings} == {"good", "better", "best", "whole"}
    text = "\n".join(plan.warnings)
    assert "cut: left out: " in text and "holds float64 (12, 16, 20, 3), expected uint8" in text
    assert "its pixels are 0..1, expected 0..255" in text
    assert "short: left out, 4 frames are fewer than 10" in text


def test_what_is_no_collection_of_clips_is_refused(tmp_path, clip, write_frames):
    with pytest.raises(DataError, match=r"no such folder. Next: `hms data vlog DIR`"):
        vlog_preparation(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no clip found.*hms data inspect"):
        vlog_preparation(tmp_path / "empty")
    write_frames(tmp_path / "two" / "x", 12)
    shutil.copy(demo_clips()["val"], tmp_path / "two" / "x" / "a.mp4")
    with pytest.raises(DataError, match="a video file and 12 images"):
        vlog_preparation(tmp_path / "two")
    shutil.copy(demo_clips()["val"], tmp_path / "two" / "x" / "b.mp4")
    with pytest.raises(DataError, match="2 video files in one folder"):
        vlog_preparation(tmp_path / "two")
    clip("a")
    with pytest.raises(DataError, match=r"shares val=0.6 and test=0.6 are impossible"):
        vlog_preparation(tmp_path / "clips", val=0.6, test=0.6)


def test_another_size_is_resized_and_a_new_clip_is_noticed(tmp_path, clip):
    clip("a")
    clip("b")
    clip("c")
    first = prepare_vlog(tmp_path / "clips", tmp_path / "dataset", height=8, width=10)
    assert (first.size, first.meta["resize"]) == ((8, 10), "antialias")
    same = prepare_vlog(tmp_path / "clips", tmp_path / "dataset", height=8, width=10)
    assert same.meta == first.meta
    clip("d")
    more = prepare_vlog(tmp_path / "clips", tmp_path / "dataset", height=8, width=10)
    assert more.fingerprint != first.fingerprint
