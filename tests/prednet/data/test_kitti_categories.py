from collections.abc import Callable
from pathlib import Path

import pytest

from prednet.data.cache import VideoDataset
from prednet.data.kitti import prepare_kitti
from prednet.data.kitti_categories import read_categories
from prednet.errors import DataError

Writer = Callable[..., list[Path]]
KNOWN, INVENTED, CAMPUS, VAL = (
    f"2011_09_{day}_drive_{n}" for day, n in (("26", "0001"), ("26", "9001"), ("28", "0016"), ("26", "0005"))
)


def written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def test_csv_and_yaml_give_the_same(tmp_path: Path) -> None:
    table = {KNOWN: "road", INVENTED: "highway"}
    csv = written(tmp_path / "a.csv", f"drive,category\n{KNOWN}_sync,road\n{INVENTED}, highway\n")
    yaml = written(tmp_path / "a.yaml", f"{KNOWN}: road\n{INVENTED}_sync: highway\n")
    assert read_categories(csv) == read_categories(yaml) == table


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "drive;category\n", r"expected drive,category"),
        ("a.csv", "drive,category\nx\n", r"'x': None is no drive with a category"),
        ("a.yaml", "- x\n- y\n", r"lines of `DRIVE: CATEGORY`"),
        ("a.yaml", "a: 3\n", r"'a': 3 is no drive with a category"),
        ("a.yaml", "a: [", r"no table of drives"),
        ("a.csv", "drive,category\na,city\na,road\n", r"names the drive a 2 times"),
    ],
)
def test_what_is_no_table_is_said(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_categories(written(tmp_path / name, text))


def test_a_missing_table_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read.*--categories-file"):
        read_categories(tmp_path / "none.csv")


@pytest.fixture
def raw(tmp_path: Path, write_drive: Writer) -> Path:
    for index, drive in enumerate((KNOWN, INVENTED, CAMPUS, VAL)):
        write_drive(tmp_path / "raw", drive, seed=index)
    return tmp_path / "raw"


def build(raw: Path, dest: str, **options: object) -> VideoDataset:
    return prepare_kitti(raw, raw.parent / dest, height=16, width=20, **options)  # type: ignore[arg-type]


def test_the_users_table_goes_before_kittis_listing_and_is_recorded(raw: Path, tmp_path: Path) -> None:
    plain = build(raw, "plain")
    assert not any(r.name == CAMPUS for r in plain.split("train").recordings + plain.split("test").recordings)
    table = written(tmp_path / "d.csv", f"drive,category\n{CAMPUS},city\n{INVENTED},highway\n{KNOWN},person\n")
    own = build(raw, "out", categories_file=table)
    used = {r.name: r.category for split in ("train", "test") for r in own.split(split).recordings}
    assert used == {INVENTED: "highway", CAMPUS: "city"}
    assert any("highway" in text and "none of KITTI's" in text for text in own.warnings)
    assert f"{KNOWN}: left out, category person was not asked for" in own.warnings
    assert own.meta["options"]["drive_categories"] == read_categories(table)


def test_a_changed_table_rebuilds_and_an_equal_one_does_not(raw: Path, tmp_path: Path) -> None:
    table = written(tmp_path / "d.yaml", f"{INVENTED}: highway\n")
    first = build(raw, "out", categories_file=table)
    same = build(raw, "out", categories_file=written(tmp_path / "e.csv", f"drive,category\n{INVENTED},highway\n"))
    assert same.meta["key"] == first.meta["key"]
    second = build(raw, "out", categories_file=written(table, f"{INVENTED}: road\n"))
    assert second.meta["key"] != first.meta["key"]
    assert "drive_categories" not in build(raw, "plain").meta["options"]


def test_the_table_goes_before_a_folder_named_for_a_category(tmp_path: Path, write_drive: Writer) -> None:
    write_drive(tmp_path / "raw" / "city", KNOWN, seed=1)
    write_drive(tmp_path / "raw" / "city", VAL, seed=2)
    own = build(tmp_path / "raw", "out", categories_file=written(tmp_path / "d.yaml", f"{KNOWN}: residential\n"))
    assert own.split("train").recordings[0].category == "residential"
    assert own.split("val").recordings[0].category == "city"
