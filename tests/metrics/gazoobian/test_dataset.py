import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metrics.errors import StimuliError
from metrics.gazoobian.dataset import prepare_gazoobian
from metrics.gazoobian.objects import COLUMNS, ObjectSet, load_objects, pixel_digest
from metrics.gazoobian.settings import Settings
from metrics.gazoobian.views import view_names

Small = dict[str, int]


@pytest.fixture
def copied(small_root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_root, tmp_path / "copy"))


def test_the_folder_holds_what_it_promises(small_root: Path, small_set: ObjectSet) -> None:
    with (small_root / "manifest.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 18
    assert [row["view"] for row in rows[:6]] == list(view_names(6))
    assert {row["object"] for row in rows} == {"f00-00", "f00-01", "f00-02"}
    for row, image in zip(rows, small_set.images, strict=True):
        with Image.open(small_root / "objects" / row["object"] / f"{row['view']}.png") as file:
            assert np.array_equal(np.array(file), image)
        assert pixel_digest(image) == row["sha256"]
    assert len({row["sha256"] for row in rows}) == 18
    assert not list(small_root.rglob(".*"))


def test_a_second_run_changes_nothing(copied: Path, small: Small, small_set: ObjectSet) -> None:
    before = {file: file.stat().st_mtime_ns for file in copied.rglob("*") if file.is_file()}
    assert prepare_gazoobian(copied, **small).digest == small_set.digest
    assert {file: file.stat().st_mtime_ns for file in copied.rglob("*") if file.is_file()} == before


def test_two_processes_make_the_same_set_and_report_progress(
    tmp_path: Path, small: Small, small_set: ObjectSet
) -> None:
    seen: list[tuple[str, int, int]] = []
    made = prepare_gazoobian(
        tmp_path, **{**small, "workers": 2}, progress=lambda what, done, total: seen.append((what, done, total))
    )
    assert made.digest == small_set.digest
    images = [(done, total) for what, done, total in seen if what == "Gazoobian images"]
    assert images == [(0, 18), (6, 18), (12, 18), (18, 18)]


def test_an_interrupted_run_continues(tmp_path: Path, small: Small, small_set: ObjectSet) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        if what == "Gazoobian images" and done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_gazoobian(tmp_path, **small, progress=interrupt)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.png")}
    assert len(kept) == 12 and not (tmp_path / "manifest.csv").exists()
    assert prepare_gazoobian(tmp_path, **small).digest == small_set.digest
    assert all(file.stat().st_mtime_ns == time for file, time in kept.items())


def test_missing_torn_and_altered_images_are_mended(copied: Path, small: Small, small_set: ObjectSet) -> None:
    files = sorted(copied.rglob("*.png"))
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:100])
    Image.fromarray(small_set.images[0]).save(files[2])
    Image.new("RGB", (7, 7)).save(files[3])
    with pytest.raises(StimuliError):
        load_objects(copied)
    mended = prepare_gazoobian(copied, **small)
    assert mended.digest == small_set.digest and np.array_equal(mended.images, small_set.images)


def test_a_manifest_that_lost_rows_is_written_again(copied: Path, small: Small, small_set: ObjectSet) -> None:
    whole = (copied / "manifest.csv").read_text()
    (copied / "manifest.csv").write_text("".join(whole.splitlines(keepends=True)[:7]))
    assert prepare_gazoobian(copied, **small).digest == small_set.digest
    assert (copied / "manifest.csv").read_text() == whole


def test_another_set_in_the_folder_is_refused_with_the_difference(copied: Path, small: Small) -> None:
    with pytest.raises(StimuliError, match="seed 0 on disk, 1 asked"):
        prepare_gazoobian(copied, **{**small, "seed": 1})
    with pytest.raises(StimuliError, match="preset mix_l on disk, mix_m asked, height 24 on disk, 32 asked"):
        prepare_gazoobian(copied, **{**small, "height": 32}, preset="mix_m")
    (copied / "generator.json").write_text("{")
    with pytest.raises(StimuliError, match=r"generator\.json cannot be read.*hms data gazoobian"):
        prepare_gazoobian(copied, **small)
    (copied / "generator.json").unlink()
    with pytest.raises(StimuliError, match="did not make"):
        prepare_gazoobian(copied, **small)


def test_presets_show_the_same_objects(tmp_path: Path, small: Small, small_set: ObjectSet) -> None:
    other = prepare_gazoobian(tmp_path, **{**small, "views": 2}, preset="mix_m")
    assert np.array_equal(other.images[0], small_set.images[0])  # canonical
    assert not np.array_equal(other.images[1], small_set.images[1])  # rotation_1, by a smaller angle
    large, less = small_set.rows[1].dials, other.rows[1].dials
    assert large is not None and less is not None and less.yaw == pytest.approx(large.yaw / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preset": "mix_x"}, "mix_x.*mix_m, mix_l"),
        ({"views": 1}, "views must be at least 2, not 1"),
        ({"objects": 0}, "objects must be at least 1, not 0"),
        ({"samples": 5}, "5 samples"),
        ({"height": 4}, "height must be at least 8, not 4"),
    ],
)
def test_impossible_settings_are_refused(change: dict, message: str, tmp_path: Path, small: Small) -> None:
    with pytest.raises(StimuliError, match=message):
        prepare_gazoobian(tmp_path / "new", **{**small, **change})
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, small: Small) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StimuliError, match=r"file.*cannot be written"):
        prepare_gazoobian(tmp_path / "file" / "set", **small)


@pytest.mark.parametrize(("objects", "families"), [(3, 1), (50, 6), (60, 7), (96, 12), (100, 12), (400, 12)])
def test_families_are_large_enough_for_seven_kindred_distractors(objects: int, families: int) -> None:
    assert Settings("mix_l", objects, 12, 64, 80, 4, 0).families == families


def test_settings_file_names_the_version(small_root: Path) -> None:
    assert json.loads((small_root / "generator.json").read_text())["version"] == 2


def test_a_folder_of_an_earlier_generator_is_refused(copied: Path, small: Small) -> None:
    settings = json.loads((copied / "generator.json").read_text())
    del settings["dials"]
    (copied / "generator.json").write_text(json.dumps(settings | {"version": 1}))
    with pytest.raises(StimuliError, match="version 1 on disk, 2 asked"):
        prepare_gazoobian(copied, **small)


def test_dials_turn_their_views_alone(tmp_path: Path, small: Small, small_set: ObjectSet) -> None:
    made = prepare_gazoobian(tmp_path, **small, dials={"rotation.yaw": 0, "rotation.elevation": 0})
    for image, other, row in zip(made.images, small_set.images, made.rows, strict=True):
        if row.kind == "rotation":
            assert row.dials is not None and row.dials.yaw == row.dials.elevation == 0
        else:
            assert np.array_equal(image, other)
    assert np.array_equal(made.images[1], made.images[0]) and not np.array_equal(small_set.images[1], made.images[0])
    with pytest.raises(StimuliError, match=r"dials .* on disk"):
        prepare_gazoobian(tmp_path, **small)


def listed(made: ObjectSet) -> list[str]:
    return [f"{row.object}/{row.view} {pixel_digest(image)}" for row, image in zip(made.rows, made.images, strict=True)]


def test_a_small_pool_has_the_pixels_that_are_listed(tmp_path: Path) -> None:
    """The decoded pixels of all kinds of views of two families: the same bits on every machine."""
    made = prepare_gazoobian(tmp_path, objects=16, views=5, height=32, width=40, workers=1)
    assert listed(made) == (Path(__file__).parent / "pool_32x40.txt").read_text().splitlines()


@pytest.mark.long
def test_the_default_pool_has_the_pixels_that_are_listed_and_no_object_is_cut(tmp_path: Path) -> None:
    made = prepare_gazoobian(tmp_path)
    assert listed(made) == (Path(__file__).parent / "pool_128x160.txt").read_text().splitlines()
    edges = [made.images[:, 0], made.images[:, -1], made.images[:, :, 0], made.images[:, :, -1]]
    assert all((edge == 128).all() for edge in edges)
    filled = (made.images != 128).any(axis=3).mean(axis=(1, 2))
    assert filled.min() > 0.08
    assert len({row.sha256 for row in made.rows}) == 1200
