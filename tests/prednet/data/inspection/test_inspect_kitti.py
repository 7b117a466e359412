from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.data.inspection.findings import Inspection
from prednet.data.inspection.kitti import inspect_kitti
from prednet.data.inspection.look_alikes import look_alikes
from prednet.errors import DataError

Writer = Callable[..., list[Path]]
DRIVE, VAL = "2011_09_26_drive_0001", "2011_09_26_drive_0005"


def quiet(what: str, done: int, total: int) -> None:
    pass


def inspect(source: Path, *, quick: bool = False) -> Inspection:
    return inspect_kitti(source, source.parent / "out", quick=quick, progress=quiet)


@pytest.fixture
def drive(tmp_path: Path) -> Callable[..., list[Path]]:
    """Write a drive of noise that differs from drive to drive, so that no two look alike."""

    def write(name: str, n: int = 12, *, camera: str = "03", size: tuple[int, int] = (24, 30)) -> list[Path]:
        folder = tmp_path / "raw" / name[:10] / f"{name}_sync" / f"image_{camera}" / "data"
        folder.mkdir(parents=True)
        blocks = np.random.default_rng(sum(map(ord, name))).integers(0, 255, (3, 5, 3), np.uint8)
        frame = Image.fromarray(blocks).resize((size[1], size[0]), Image.Resampling.NEAREST)
        files = [folder / f"{number:010d}.png" for number in range(n)]
        for file in files:
            frame.save(file)
        return files

    return write


def test_every_bad_file_is_named_and_the_command_skips_them(drive: Writer, tmp_path: Path) -> None:
    files = drive(DRIVE, 40)
    drive(VAL)
    files[3].write_bytes(b"")
    files[20].write_bytes(files[20].read_bytes()[:60])
    files[30].write_bytes(b"<html>")
    files[39].write_bytes(files[39].read_bytes()[:-8])
    found = inspect(tmp_path / "raw")
    wrong = "\n".join(found.problems)
    for file, says in ((files[3], "empty"), (files[20], "truncated"), (files[30], "HTML"), (files[39], "end marker")):
        (line,) = [text for text in found.problems if str(file) in text]
        assert says in line, wrong
    assert found.recordings[0].bad == 3 and found.recordings[0].frames == 40
    (way,) = found.ways
    assert way.command.endswith("raw --skip-bad") and way.preview is not None
    assert way.preview["splits"]["train"]["frames"] == 40
    quick = inspect(tmp_path / "raw", quick=True)
    assert not any("end marker" in text for text in quick.problems) and any("empty" in t for t in quick.problems)


def test_mixed_sizes_gaps_and_short_drives_are_all_reported(drive: Writer, tmp_path: Path) -> None:
    files = drive(DRIVE, 30)
    drive(VAL, 4)
    files[10].unlink()
    Image.fromarray(np.zeros((10, 12, 3), np.uint8)).save(files[20])
    found = inspect(tmp_path / "raw")
    assert f"{DRIVE}: mixed sizes (30x24 (28), 12x10 (1)): 0000000020.png is 12x10" in found.problems
    assert f"{DRIVE}: 1 frame number is missing; split into 2 recordings" in found.problems
    assert f"{VAL} image_03: 4 frames, fewer than the 10 of one sequence: left out" in found.problems
    assert found.recordings[0].numbers == ((0, 9), (11, 29)) and found.recordings[0].missing == 1


def test_cameras_categories_sizes_and_colours(drive: Writer, tmp_path: Path) -> None:
    drive(DRIVE, camera="02", size=(375, 1242))
    drive(VAL, camera="00", size=(188, 621))
    for file in drive("2011_09_28_drive_9999", camera="02", size=(100, 100)):
        Image.open(file).convert("L").save(file)
    found = inspect(tmp_path / "raw")
    facts = "\n".join(found.facts)
    assert "image_02 (colour) in 2 drives, image_00 (grey) in 1 drive; image_03" in facts
    assert "2011_09_28_drive_9999: no such drive in KITTI's listing" in facts
    assert "categories: city; none of residential, road" in facts
    assert f"{VAL} image_00: 621x188 is half that day's 1242x375" in facts
    assert "2011_09_28_drive_9999 image_02: 100x100 is not that day's 1224x370" in facts
    assert "2011_09_28_drive_9999: 100x100 is narrower than 160x128" in facts
    assert f"{VAL} image_00: should be grey, it holds colour frames" in facts
    assert "2011_09_28_drive_9999 image_02: should be colour, its frames are grey" in facts
    assert f"{DRIVE} image_02: 1242x375" not in facts
    assert [way.label for way in found.ways] == ["camera 02", "camera 00"]
    assert "--camera 00" in found.ways[1].command and "too few to hold out" in found.ways[1].error


def test_a_copy_of_a_drive_under_another_number_is_noticed(drive: Writer, tmp_path: Path) -> None:
    files = drive(DRIVE)
    for mine, theirs in zip(files, drive(VAL), strict=True):
        theirs.write_bytes(mine.read_bytes())
    (problem,) = inspect(tmp_path / "raw").problems
    assert problem.startswith(f"{DRIVE} and {VAL} hold the same frames: one recording under two names")


def test_many_alike_are_counted_not_all_named(drive: Writer, tmp_path: Path) -> None:
    files = drive(DRIVE)
    for number in range(10, 18):
        for mine, theirs in zip(files, drive(f"2011_09_26_drive_90{number}"), strict=True):
            theirs.write_bytes(mine.read_bytes())
    found = inspect(tmp_path / "raw")
    assert len(found.problems) == 21 and found.problems[-1] == "and 16 more pairs of recordings that are alike"
    (fact,) = [text for text in found.facts if "not that day's" in text]
    assert fact.startswith(f"{DRIVE} image_03, ") and " and 3 more: 30x24 is not that day's 1242x375" in fact


def test_a_broken_recording_is_not_compared(drive: Writer, tmp_path: Path) -> None:
    drive(DRIVE)[0].write_bytes(b"")
    drive(VAL)
    assert look_alikes(inspect(tmp_path / "raw").recordings, quiet) == []


def test_no_drive_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    with pytest.raises(DataError, match="no KITTI drive found"):
        inspect(tmp_path / "raw")


def test_all_that_is_true_of_the_real_excerpts(samples: Path, tmp_path: Path) -> None:
    found = inspect_kitti(samples / "footage" / "kitti_raw", tmp_path / "out", quick=False, progress=quiet)
    d1, d2, d3, d4 = (f"2011_{day}_drive_900{n}" for day, n in (("09_26", 1), ("09_26", 2), ("09_30", 3), ("10_03", 4)))
    rows = [(r.name, r.category, r.camera, r.frames, dict(r.sizes), dict(r.formats)) for r in found.recordings]
    assert rows == [
        (d1, "", "02", 26, {"621x188": 26}, {"PNG": 26}),
        (d2, "", "02", 28, {"1242x375": 28}, {"JPEG": 28}),
        (d3, "", "00", 24, {"613x185": 24}, {"PNG": 24}),
        (d4, "", "00", 24, {"620x188": 24}, {"PNG": 24}),
    ]
    assert [dict(r.colours) for r in found.recordings] == [{"colour": 26}, {"colour": 28}, {"grey": 24}, {"grey": 24}]
    facts = "\n".join(found.facts)
    for says in (
        f"{d1}, {d2}, {d3}, {d4}: no such drive in KITTI's listing, so that the number is invented",
        "image_02 (colour) in 2 drives, image_00 (grey) in 2 drives; image_03, the camera of Lotter et al.",
        "categories: none known; none of city, residential, road",
        "4 sizes",
        f"{d1} image_02: 621x188 is half that day's 1242x375",
        f"{d3} image_00: 613x185 is half that day's 1226x370",
        f"{d4} image_00: 620x188 is half that day's 1241x376",
        f"{d2} image_02: JPEG; KITTI ships PNG",
        f"{d3} image_00, {d4} image_00: grey frames",
        "102 frames, 10.2 s at 10 Hz",
    ):
        assert says in facts
    (problem,) = found.problems
    assert problem.startswith(f"{d1} and {d2} may be one recording: the first ends as the second begins")
    assert [way.command.split()[-1] for way in found.ways] == ["02", "00"]
    assert all(way.preview is not None for way in found.ways)
    assert not (tmp_path / "out").exists()
