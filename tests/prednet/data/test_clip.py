from pathlib import Path

import numpy as np
import pytest

from prednet.data.clip import read_clip
from prednet.data.demo import demo_clips
from prednet.data.resize import resize_frame
from prednet.data.video_file import nearest_in_time
from prednet.data.video_scan import decode_video, rgb, scan_video
from prednet.errors import DataError


@pytest.fixture(scope="module")
def bikes():
    return demo_clips()["train"]


@pytest.fixture(scope="module")
def decoded(bikes):
    """The first 60 frames at 32x40, decoded one after the other."""
    frames = []
    for _, frame in decode_video(bikes):
        frames.append(resize_frame(rgb(frame), 32, 40, "antialias"))
        if len(frames) == 60:
            return np.stack(frames)


def test_frames_of_a_video_in_order(bikes, decoded):
    clip = read_clip(bikes, 32, 40, start=7, count=20)
    np.testing.assert_array_equal(clip.frames, decoded[7:27])
    assert clip.numbers == tuple(range(7, 27))
    assert clip.rate == 25.0
    assert clip.source == bikes


def test_a_lower_rate_takes_the_frames_nearest_in_time(bikes, decoded):
    clip = read_clip(bikes, 32, 40, start=3, count=9, fps=7)
    times = scan_video(bikes).times[3:]
    expected = 3 + nearest_in_time(times, 7)[:9]
    assert clip.numbers == tuple(expected)
    assert clip.rate == 7
    np.testing.assert_array_equal(clip.frames, decoded[list(expected)])


def test_without_a_count_everything_is_read(bikes):
    scan = scan_video(bikes)
    clip = read_clip(bikes, 8, 8, start=len(scan.times) - 5)
    assert clip.numbers == tuple(range(len(scan.times) - 5, len(scan.times)))
    assert len(read_clip(bikes, 8, 8, fps=2).frames) == len(nearest_in_time(scan.times, 2))


def test_pictures_in_the_order_of_their_numbers(tmp_path, write_frames, square):
    write_frames(tmp_path, 12, names="{}.png")
    clip = read_clip(tmp_path, 24, 30, start=1, count=100)
    np.testing.assert_array_equal(clip.frames, square(12)[1:])
    assert clip.numbers == tuple(range(1, 12))
    assert clip.rate == 10.0
    assert clip.notes == ()


def test_missing_pictures_are_noted(tmp_path, write_frames):
    write_frames(tmp_path, 4, names=["1.png", "2.png", "5.png", "6.png"])
    assert read_clip(tmp_path, 24, 30).notes == ("2 pictures are missing in 1 places",)


def test_a_drive_is_read_from_the_camera_of_the_paper(tmp_path, write_drive, square):
    write_drive(tmp_path, "2011_09_26_drive_0001", camera="02", seed=1)
    only = read_clip(tmp_path / "2011_09_26" / "2011_09_26_drive_0001_sync", 24, 30)
    np.testing.assert_array_equal(only.frames, square(12, seed=1))
    write_drive(tmp_path, "2011_09_26_drive_0001", camera="03", seed=2)
    both = read_clip(tmp_path / "2011_09_26" / "2011_09_26_drive_0001_sync", 24, 30)
    np.testing.assert_array_equal(both.frames, square(12, seed=2))
    assert both.source.parent.name == "image_03"


def test_several_folders_are_listed(tmp_path, write_frames):
    for name in ("one", "two"):
        write_frames(tmp_path / name, 3)
    with pytest.raises(DataError, match=r"2 folders.*one.*two.*name one"):
        read_clip(tmp_path, 24, 30)


def test_cropped_sides_are_noted(bikes, tmp_path, write_frames):
    write_frames(tmp_path, 2, h=40, w=20)
    assert "its height cropped" in read_clip(tmp_path, 16, 24).notes[0]


def test_progress_ends_complete_although_the_source_is_short(tmp_path, write_frames):
    write_frames(tmp_path, 3)
    calls = []
    read_clip(tmp_path, 24, 30, count=10, progress=lambda *call: calls.append(call))
    assert calls == [("reading", 1, 10), ("reading", 2, 10), ("reading", 3, 10), ("reading", 10, 10)]


def test_mistakes(tmp_path, bikes, write_frames):
    folder = tmp_path / "folder"
    write_frames(folder, 3)
    text = tmp_path / "video.mp4"
    text.write_text("this is no video " * 50)
    (tmp_path / "empty").mkdir()
    for wrong, options, message in (
        (tmp_path / "none.mp4", {}, "no such file or folder"),
        (text, {}, "not a complete video"),
        (tmp_path / "empty", {}, "no picture in this folder"),
        (bikes, {"start": 100000}, "there is no frame 100000"),
        (folder, {"start": 3}, "there is no frame 3"),
        (bikes, {"start": -1}, "start=-1"),
        (bikes, {"count": 0}, "count=0"),
        (bikes, {"fps": -2.0}, "fps=-2"),
        (bikes, {"fps": 60.0, "count": 3}, "it has 25"),
        (folder, {"fps": 5.0}, "leave --fps 5 out"),
    ):
        with pytest.raises(DataError, match=message):
            read_clip(wrong, 24, 30, **options)
    with pytest.raises(DataError, match="4x4"):
        read_clip(bikes, 4, 4)


def test_real_recordings(samples: Path):
    drive = samples / "footage/kitti_raw/2011_09_26/2011_09_26_drive_9001_sync"
    clip = read_clip(drive, 64, 80, count=5)
    assert clip.frames.shape == (5, 64, 80, 3)
    assert clip.source.name == "data"
    road = read_clip(samples / "footage/video/solidWhiteRight_480x270_25fps.mp4", 64, 80, start=200)
    assert road.numbers == tuple(range(200, 221))
