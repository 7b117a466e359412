from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from prednet.data.demo import demo_clips
from prednet.data.inspection.clips import inspect_clips
from prednet.data.inspection.contact_sheet import write_contact_sheet
from prednet.data.inspection.findings import FoundRecording
from prednet.data.inspection.releases import inspect_hkl
from prednet.errors import DataError

Writer = Callable[..., list[Path]]


def quiet(what: str, done: int, total: int) -> None:
    pass


def write_release(folder: Path, split: str, sources: list[str], frames: int | None = None) -> None:
    folder.mkdir(exist_ok=True)
    with h5py.File(folder / f"X_{split}.hkl", "w") as file:
        file["data_0"] = np.zeros((frames or len(sources), 16, 20, 3), np.uint8)
    with h5py.File(folder / f"sources_{split}.hkl", "w") as file:
        file["data_0"] = np.array(sources, "S")


def test_videos_and_folders_with_cuts_and_every_broken_one(tmp_path: Path, write_frames: Writer) -> None:
    bikes = demo_clips()["train"]
    write_frames(tmp_path / "frames", 30)
    for name, data in (("page.mp4", b"<html>"), ("empty.avi", b""), ("half.mp4", bikes.read_bytes()[:9000])):
        (tmp_path / name).write_bytes(data)
    clips = [bikes, tmp_path / "frames", *sorted(tmp_path.glob("*.*"))]
    found = inspect_clips(tmp_path, clips, tmp_path / "out", quick=False, progress=quiet)
    assert found.title == "4 video files and 1 folder of frames"
    by_name = {recording.name: recording for recording in found.recordings}
    assert by_name["bikes.mp4"].frames == 250 and dict(by_name["bikes.mp4"].sizes) == {"640x272": 250}
    assert "bikes.mp4: 5 cuts, at frames 30, 76, 137, 187, 242: 6 recordings of 30, 46, 61, 50, 55, 8" in found.facts[0]
    assert {name for name in ("page.mp4", "empty.avi", "half.mp4") if any(name in p for p in found.problems)} == {
        "page.mp4",
        "empty.avi",
        "half.mp4",
    }
    (way,) = found.ways
    assert way.command == f"hms data video {bikes} {tmp_path / 'frames'}"
    assert way.preview is not None and way.preview["splits"]["train"]["frames"] == 30
    read = by_name["bikes.mp4"].read
    assert read is not None and read(200).shape == (272, 640, 3) and (read(200) != read(20)).any()


def test_a_folder_of_videos_is_named_as_a_whole_and_quick_leaves_cuts_alone(tmp_path: Path) -> None:
    carphone = demo_clips()["val"]
    (tmp_path / "v.mp4").write_bytes(carphone.read_bytes())
    full = inspect_clips(tmp_path, [tmp_path / "v.mp4"], tmp_path / "out", quick=False, progress=quiet)
    assert full.ways[0].command == f"hms data video {tmp_path}"
    assert any("v.mp4: 176x144 is narrower than 160x128" in text for text in full.facts)
    quick = inspect_clips(tmp_path, [tmp_path / "v.mp4"], tmp_path / "out", quick=True, progress=quiet)
    assert quick.recordings[0].frames == full.recordings[0].frames == 120
    assert "leave out --quick" in quick.ways[0].error


def test_a_release_names_recordings_splits_and_every_bad_file(tmp_path: Path) -> None:
    release = tmp_path / "in"
    write_release(release, "train", ["city-a"] * 11 + ["road-b"] * 10 + ["city-a"] * 4)
    write_release(release, "val", ["city-c"] * 12, 13)
    write_release(release, "test", ["city-d"] * 12)
    x_test = release / "X_test.hkl"
    x_test.write_bytes(x_test.read_bytes()[:-500])
    found = inspect_hkl(release, tmp_path / "out", quick=False, progress=quiet)
    assert [(r.camera, r.name, r.category, r.frames) for r in found.recordings] == [
        ("train", "city-a", "city", 11),
        ("train", "road-b", "road", 10),
        ("train", "city-a [2]", "city", 4),
    ]
    assert "train: city-a comes back after another source: each run is its own recording" in found.facts
    assert "train: city-a [2]: 4 frames, fewer than 10: left out" in found.facts
    lengths, truncated = found.problems
    assert "X_val.hkl has 13 frames" in lengths and "X_test.hkl: truncated" in truncated
    assert "truncated" in found.ways[0].error


@pytest.mark.parametrize("lacks", ["X", "sources"])
def test_a_release_with_one_file_of_a_pair(tmp_path: Path, lacks: str) -> None:
    write_release(tmp_path / "in", "val", ["a"] * 12)
    (tmp_path / "in" / f"{lacks}_val.hkl").unlink()
    found = inspect_hkl(tmp_path / "in", tmp_path / "out", quick=True, progress=quiet)
    assert len(found.problems) == 1 and f"{lacks}_val.hkl" in found.problems[0] and found.ways[0].error


def test_the_contact_sheet_shows_frames_and_what_is_left_after_cropping(tmp_path: Path) -> None:
    grey = np.full((60, 200, 3), 90, np.uint8)
    wide = FoundRecording("wide", 40, camera="02", sizes={"200x60": 40}, read=lambda index: grey + np.uint8(index))

    def broken(index: int) -> np.ndarray:
        raise DataError("x.png: damaged")

    file = write_contact_sheet(
        [wide, FoundRecording("bad", 3, read=broken)], tmp_path / "s" / "a.png", height=128, width=160, progress=quiet
    )
    sheet = np.asarray(Image.open(file))
    yellow = np.argwhere((sheet == (255, 214, 0)).all(axis=2))
    assert len(yellow) > 5 * 300
    top, left = yellow.min(axis=0)
    # 60x200 is shown at 96x320, of which the middle 120 columns stay (128x160 of 128x427).
    assert abs(left - (10 + 100 + 1)) <= 1 and top > 10
    levels = {int(level) for level in np.unique(sheet[..., 0])}
    assert {90, 100, 110, 119, 129} <= levels and not list((tmp_path / "s").glob(".*"))
    with pytest.raises(DataError, match="no frame can be read"):
        write_contact_sheet([FoundRecording("none", 0)], tmp_path / "b.png", height=8, width=8, progress=quiet)
