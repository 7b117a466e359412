import os
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from prednet.data.sources import Target
from prednet.data.video_file import nearest_in_time, video_recordings
from prednet.data.video_scan import find_cuts, scan_video
from prednet.errors import DataError

Square = Callable[..., np.ndarray]
TARGET = Target(48, 60, "antialias")


def encode(
    file: Path,
    frames: np.ndarray,
    *,
    rate: int = 25,
    key_frames: int = 250,
    muxed: str = "mp4",
    options: dict[str, str] | None = None,
) -> Path:
    plain = file.with_name("encoded")
    with av.open(str(plain), "w", format=muxed, options=options or {}) as container:
        video = container.add_stream("mpeg4", rate=rate, options={"g": str(key_frames), "qscale": "2"})
        video.width, video.height, video.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        video.codec_context.time_base = Fraction(1, rate)
        for frame in frames:
            container.mux(video.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        container.mux(video.encode(None))
    return plain.rename(file)


@pytest.fixture
def three_shots(square: Square) -> np.ndarray:
    shots = ((15, 0), (20, 80), (25, 40))
    return np.concatenate([square(n, h=48, w=60, seed=light) // 2 + np.uint8(light) for n, light in shots])


def pixels(file: Path, fps: float | None = None) -> list[np.ndarray]:
    recordings, _, _ = video_recordings(file, group="v", fps=fps)
    return [np.concatenate([job().frames for job in recording.chunks(TARGET)]) for recording in recordings]


def test_cuts_split_the_video(tmp_path: Path, three_shots: np.ndarray) -> None:
    recordings, warnings, rate = video_recordings(encode(tmp_path / "v.mp4", three_shots), group="v", fps=None)
    assert [(r.name, r.indices[0], len(r)) for r in recordings] == [("v", 0, 15), ("v [2]", 15, 20), ("v [3]", 35, 25)]
    assert warnings == ["v: 2 cuts, at frames 15, 35"] and rate == 25


@pytest.mark.parametrize(("key_frames", "muxed"), [(250, "mp4"), (7, "mp4"), (12, "matroska"), (9, "avi"), (9, "m4v")])
def test_every_recording_holds_its_own_frames(
    tmp_path: Path, three_shots: np.ndarray, key_frames: int, muxed: str
) -> None:
    """Containers with and without an index, seeking and not: the same frames as one pass from the start."""
    file = encode(tmp_path / "v", three_shots, key_frames=key_frames, muxed=muxed)
    with av.open(str(file)) as container:
        straight = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    parts = pixels(file)
    assert [len(part) for part in parts] == [15, 20, 25]
    np.testing.assert_array_equal(np.concatenate(parts), straight)
    brightness = [frames.mean(axis=(1, 2, 3)) for frames in (straight, three_shots)]
    np.testing.assert_allclose(brightness[0], brightness[1], atol=4)


def test_fps_takes_the_frames_nearest_in_time(tmp_path: Path, three_shots: np.ndarray) -> None:
    file = encode(tmp_path / "v.mp4", three_shots)
    recordings, _, rate = video_recordings(file, group="v", fps=10)
    assert rate == 10
    assert [list(r.indices) for r in recordings] == [
        [0, 2, 5, 7, 10, 12],
        [15, 17, 20, 22, 25, 27, 30, 32],
        [35, 37, 40, 42, 45, 47, 50, 52, 55, 57],
    ]
    every = pixels(file)
    for part, whole in zip(pixels(file, fps=10), every, strict=True):
        steps = [0, 2, 5, 7, 10, 12, 15, 17, 20, 22][: len(part)]
        np.testing.assert_array_equal(part, whole[steps])
    with pytest.raises(DataError, match=r"30 frames per second asked for, it has 25.*--fps 25"):
        video_recordings(file, group="v", fps=30)


def test_nearest_in_time_is_even_for_uneven_times() -> None:
    assert nearest_in_time(np.array([0.0]), 10).tolist() == [0]
    assert nearest_in_time(np.arange(10) / 10, 10).tolist() == list(range(10))
    uneven = np.array([0.0, 0.09, 0.11, 0.2, 0.5, 0.6])
    assert nearest_in_time(uneven, 10).tolist() == [0, 1, 3, 4, 5]


def test_fast_motion_and_small_jumps_are_no_cuts() -> None:
    assert find_cuts([0.01, 0.02, 0.025, 0.024, 0.02, 0.018]) == []
    assert find_cuts([1e-4, 1e-4, 0.015, 1e-4]) == []
    assert find_cuts([0.004, 0.004, 0.3, 0.007, 0.009]) == [3]
    assert find_cuts([0.3, 0.001, 0.001, 0.4]) == [1, 4]
    assert find_cuts([0.001, 0.2, 0.3, 0.001, 0.001, 0.001]) == [2, 3]  # a shot of one frame
    assert find_cuts([]) == []


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"<!doctype html>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"zz" * 999, "not a complete video"),
    ],
)
def test_what_is_no_video_is_said(tmp_path: Path, data: bytes, says: str) -> None:
    file = tmp_path / "v.mp4"
    file.write_bytes(data)
    with pytest.raises(DataError, match=rf"v\.mp4.*{says}"):
        scan_video(file)


def test_a_truncated_video_without_its_index_is_an_error(tmp_path: Path, three_shots: np.ndarray) -> None:
    whole = encode(tmp_path / "v.mp4", three_shots).read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole[: len(whole) // 2])  # the index stands at the end of this file
    with pytest.raises(DataError, match=r"cut\.mp4: not a complete video"):
        scan_video(cut)
    with pytest.raises(DataError, match="cannot be read"):
        scan_video(tmp_path / "none.mp4")


@pytest.mark.parametrize(("muxed", "says"), [("matroska", r"of the 2\.4 s"), ("mp4", "of the 60 frames")])
def test_a_truncated_video_that_still_plays(tmp_path: Path, three_shots: np.ndarray, muxed: str, says: str) -> None:
    file = encode(tmp_path / "v", three_shots, key_frames=10, muxed=muxed, options={"movflags": "faststart"})
    with av.open(str(file)) as container:
        position, after = [packet.pos for packet in container.demux(video=0) if packet.pos is not None][30:32]
    whole = file.read_bytes()
    file.write_bytes(whole[:position])  # between two frames: nothing damaged, but the end is missing
    scan = scan_video(file)
    assert 29 <= len(scan.times) <= 31
    assert len(scan.warnings) == 1 and re.search(says, scan.warnings[0])
    if muxed == "mp4":  # of Matroska, the decoder drops a torn frame without saying so
        file.write_bytes(whole[: (position + after) // 2])
        with pytest.raises(DataError, match=r"v: frame \d+ is damaged"):
            scan_video(file)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    file = tmp_path / "tone.wav"
    with av.open(str(file), "w") as container:
        audio = container.add_stream("pcm_s16le", rate=8000)
        samples = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        samples.sample_rate = 8000
        container.mux(audio.encode(samples))
    with pytest.raises(DataError, match=r"tone\.wav: no video in it"):
        scan_video(file)


def test_undecodable_names_are_read(tmp_path: Path, three_shots: np.ndarray) -> None:
    file = encode(tmp_path / os.fsdecode(b"f\xfclm \xc3\xbc.mp4"), three_shots)
    assert [len(part) for part in pixels(file)] == [15, 20, 25]


def test_real_footage_has_no_cut(samples: Path) -> None:
    scan = scan_video(samples / "footage" / "video" / "solidWhiteRight_480x270_25fps.mp4")
    assert len(scan.times) == 221 and scan.cuts == [] and scan.rate == 25 and scan.warnings == []
