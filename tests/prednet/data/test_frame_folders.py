import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.data.frame_folders import frame_runs, image_recordings, list_frames, walk_folders
from prednet.data.sources import Target
from prednet.errors import DataError

Writer = Callable[..., list[Path]]
TARGET = Target(16, 20, "antialias")


def run(files: list[Path], *, skip_bad: bool = False) -> list[object]:
    recordings, _ = image_recordings(files, group="g", category="", source="s", skip_bad=skip_bad)
    return [job() for recording in recordings for job in recording.chunks(TARGET)]


def test_unpadded_names_come_in_natural_order(tmp_path: Path, write_frames: Writer) -> None:
    write_frames(tmp_path, 12, names="frame{}.png")
    (tmp_path / ".frame3.png.swp").touch()
    (tmp_path / "notes.txt").touch()
    assert [file.stem for file in list_frames(tmp_path)] == [f"frame{t}" for t in range(12)]


def test_missing_numbers_split_and_are_counted() -> None:
    files = [Path(f"{number:06d}.png") for number in (0, 1, 2, 5, 6, 9)]
    runs, missing = frame_runs(files)
    assert [[int(file.stem) for file in part] for part in runs] == [[0, 1, 2], [5, 6], [9]]
    assert missing == [2, 2]
    recordings, warnings = image_recordings(files, group="drive", category="", source="", skip_bad=False)
    assert [recording.name for recording in recordings] == ["drive", "drive [2]", "drive [3]"]
    assert {recording.group for recording in recordings} == {"drive"}
    assert warnings == ["drive: 4 frame numbers are missing; split into 3 recordings"]


def test_a_regular_stride_is_no_gap_unless_the_step_is_known() -> None:
    files = [Path(f"{number}.png") for number in range(0, 30, 3)]
    assert frame_runs(files)[1] == []
    assert len(frame_runs(files, step=1)[0]) == 10


def test_frames_without_numbers_are_one_run() -> None:
    files = [Path("a.png"), Path("b.png"), Path("c7.png")]
    assert frame_runs(files) == ([files], [])


def test_one_number_twice_is_an_error(tmp_path: Path, write_frames: Writer) -> None:
    write_frames(tmp_path, 3, names=["0001.png", "0002.png", "0002.bmp"])
    with pytest.raises(DataError, match=r"0002\.(bmp|png).*0002\.(bmp|png).*same frame number"):
        frame_runs(list_frames(tmp_path))


def test_mixed_sizes_name_the_frame_and_both_sizes(tmp_path: Path, write_frames: Writer) -> None:
    files = write_frames(tmp_path, 12)
    Image.fromarray(np.zeros((10, 12, 3), np.uint8)).save(files[9])
    with pytest.raises(DataError, match=r"0000000009\.png: 12x10 pixels.*30x24"):
        run(files)
    with pytest.raises(DataError, match="12x10"):
        run(files, skip_bad=True)


def test_bad_frame_fails_or_is_marked(tmp_path: Path, write_frames: Writer) -> None:
    files = write_frames(tmp_path, 12)
    files[9].write_bytes(files[9].read_bytes()[:200])
    with pytest.raises(DataError, match=r"0000000009\.png.*truncated.*--skip-bad"):
        run(files)
    first, second = run(files, skip_bad=True)
    assert not first.bad and list(second.bad) == [9]
    assert "0000000009.png" in second.bad[9]
    assert second.first == 8 and len(second.frames) == 4 and not second.frames[1].any()


def test_bad_first_frame_does_not_hide_the_size(tmp_path: Path, write_frames: Writer) -> None:
    files = write_frames(tmp_path, 9)
    files[0].write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        run(files)
    assert list(run(files, skip_bad=True)[0].bad) == [0]
    for file in files:
        file.write_bytes(b"")
    with pytest.raises(DataError, match="none of its 9 frames"):
        run(files, skip_bad=True)


def test_links_that_loop_are_walked_once(tmp_path: Path) -> None:
    (tmp_path / "drive" / "data").mkdir(parents=True)
    (tmp_path / "drive" / "data" / "up").symlink_to(tmp_path)
    (tmp_path / "drive" / "self").symlink_to(tmp_path / "drive" / "self")
    (tmp_path / "drive" / "gone").symlink_to(tmp_path / "nowhere")
    assert list(walk_folders(tmp_path, lambda _: False)) == [tmp_path, tmp_path / "drive", tmp_path / "drive" / "data"]


def test_non_ascii_and_undecodable_names_are_read(tmp_path: Path, write_frames: Writer) -> None:
    folder = tmp_path / os.fsdecode(b"stra\xc3\x9fe \xff")
    files = write_frames(folder, 3, names=[os.fsdecode(b"b\xfeld_%d.png" % t) for t in range(3)])
    assert list_frames(folder) == files
    assert run(list_frames(folder))[0].frames.any()
