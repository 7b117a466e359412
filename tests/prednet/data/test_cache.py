import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from prednet.data.cache import VideoDataset, describe
from prednet.errors import DataError


def test_splits_recordings_and_frames(dataset: VideoDataset) -> None:
    train = dataset.split("train")
    assert dataset.size == (16, 20)
    assert [(r.name, r.offset, r.length) for r in train.recordings] == [("a", 0, 15), ("b", 15, 12)]
    assert train.n_frames == 27 and train.frames.shape == (27, 16, 20, 3)
    assert isinstance(train.frames, np.memmap) and not train.frames.flags.writeable
    assert train.frames is train.frames


def test_a_missing_split_names_those_that_exist(dataset: VideoDataset) -> None:
    assert dataset.has_split("val") and not dataset.has_split("extra")
    with pytest.raises(DataError, match="no 'extra' split; it has train, val, test"):
        dataset.split("extra")


def test_pickling_reopens_instead_of_copying(dataset: VideoDataset) -> None:
    split = dataset.split("train")
    frames = np.array(split.frames)
    data = pickle.dumps((dataset, split))
    assert len(data) < 8000 < frames.nbytes
    other_dataset, other = pickle.loads(data)
    assert isinstance(other.frames, np.memmap)
    np.testing.assert_array_equal(other.frames, frames)
    assert other_dataset.fingerprint == dataset.fingerprint


def test_describe_is_plain_and_reads_no_frames(dataset: VideoDataset) -> None:
    for file in dataset.path.glob("*.npy"):
        file.unlink()
    report = describe(VideoDataset.open(dataset.path))
    assert json.loads(json.dumps(report)) == report
    assert report["size"] == [16, 20] and report["resize"] == "antialias"
    assert {name: split["frames"] for name, split in report["splits"].items()} == {"train": 27, "val": 11, "test": 23}
    assert report["splits"]["train"]["names"] == ["a", "b"]
    assert 0 < report["splits"]["val"]["previous_frame_mse"] < 0.1


def test_previous_frame_mse_is_that_of_the_frames(dataset: VideoDataset) -> None:
    split = dataset.split("train")
    pairs = []
    for recording in split.recordings:
        frames = split.frames[recording.offset : recording.offset + recording.length].astype(float) / 255
        pairs.append(np.square(np.diff(frames, axis=0)))
    expected = np.concatenate(pairs).mean()
    assert describe(dataset)["splits"]["train"]["previous_frame_mse"] == pytest.approx(expected, rel=1e-12)


def test_what_is_no_dataset_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not exist.*hms data demo"):
        VideoDataset.open(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"is not finished.*hms data"):
        VideoDataset.open(tmp_path)
    (tmp_path / "meta.json").write_text("{torn")
    with pytest.raises(DataError, match="cannot be read"):
        VideoDataset.open(tmp_path)
    (tmp_path / "meta.json").write_text('{"version": 0}')
    with pytest.raises(DataError, match="prepared in format 0"):
        VideoDataset.open(tmp_path)


def test_truncated_and_missing_frame_files_are_named(dataset: VideoDataset) -> None:
    file = dataset.split("val").file
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    with pytest.raises(DataError, match=rf"{file.name}.*cannot be opened"):
        _ = dataset.split("val").frames
    np.save(file, np.zeros((11, 16, 20), np.uint8))
    with pytest.raises(DataError, match=r"expected uint8 \(11, 16, 20, 3\)"):
        _ = dataset.split("val").frames
    file.unlink()
    with pytest.raises(DataError, match="prepare the data again"):
        _ = dataset.split("val").frames
