"""The split of the footage study: nothing of a held-out part is learned from."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.errors import DataError

FPS, NT = 10.0, 4


@pytest.fixture
def split(monkeypatch):

    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "scripts" / "studies"))
    return importlib.import_module("timed_split")


@pytest.mark.parametrize(
    ("rate", "n", "cuts"), [(10.0, 26, []), (25.0, 250, [30, 187]), (29.97, 120, [60]), (10.0, 12, [])]
)
def test_every_held_out_frame_is_later_than_every_training_frame(split, rate, n, cuts):
    times = np.arange(n) / rate
    parts = split.split_in_time(times, cuts, FPS, NT)
    train, test = (np.concatenate(parts[name]) for name in ("train", "test"))
    assert times[test].min() - times[train].max() > split.GAP_SECONDS
    held_out = times[-1] - times[test].min()
    assert held_out == pytest.approx(max(0.25 * times[-1], (NT - 0.5) / FPS), abs=1.5 / rate)


def test_sequences_keep_the_rate_take_every_phase_and_cross_no_cut(split):
    times = np.arange(250) / 25.0
    sequences = split.split_in_time(times, [30, 100], FPS, NT)["train"]
    first_shot = [taken for taken in sequences if taken[0] < 30]
    assert [taken[0] for taken in first_shot] == [0, 1, 2]
    for taken in sequences:
        assert len(taken) >= NT
        assert np.abs(np.diff(times[taken]) - 0.1).max() < 1 / 25
        assert not any(taken[0] < cut <= taken[-1] for cut in (30, 100))


def test_prepared_frames_of_both_parts_are_different_frames(split, tmp_path):
    numbers = {}
    for clip, first in (("one", 0), ("two", 100)):
        (tmp_path / clip).mkdir()
        for t in range(20):
            Image.fromarray(np.full((16, 16, 3), first + 5 * t, np.uint8)).save(tmp_path / clip / f"{t:03}.png")
    clips = [tmp_path / "one", tmp_path / "two"]
    dataset = split.prepare_clips(
        clips, tmp_path / "frames", height=16, width=16, fps=FPS, nt=NT, progress=lambda *_: None
    )
    for name in ("train", "test"):
        part = dataset.split(name)
        assert [split.clip_of(recording.name) for recording in part.recordings] == ["one", "two"]
        numbers[name] = {int(frame[0, 0, 0]) for frame in part.frames}
    assert numbers["train"] == {*range(0, 65, 5), *range(100, 165, 5)}
    assert numbers["test"] == {*range(75, 100, 5), *range(175, 200, 5)}
    both = [dataset.split("train"), dataset.split("test")]
    assert split.clip_previous_frame_mse(both, "one") == pytest.approx((5 / 255) ** 2)


def test_too_short_or_too_slow_clips_are_refused(split, tmp_path):
    (tmp_path / "short").mkdir()
    for t in range(7):
        Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(tmp_path / "short" / f"{t}.png")
    with pytest.raises(DataError, match=r"short.*no window of 4 frames for its train part"):
        split.prepare_clips(
            [tmp_path / "short"], tmp_path / "frames", height=16, width=16, fps=FPS, nt=NT, progress=lambda *_: None
        )
    with pytest.raises(DataError, match="give --fps 8 or less"):
        split.split_in_time(np.arange(50) / 8, [], FPS, NT)
