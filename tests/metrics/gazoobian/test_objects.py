from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metrics.errors import StimuliError
from metrics.gazoobian.objects import load_objects

RNG = np.random.default_rng(0)


def write(root: Path, name: str, view: str, size: tuple[int, int] = (6, 5), mode: str = "RGB") -> np.ndarray:
    file = root / "objects" / name / f"{view}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(file)
    return pixels


def test_own_images_load_without_a_manifest(tmp_path: Path) -> None:
    pixels = [write(tmp_path, name, view) for name in ("cup", "pot") for view in ("left", "right")]
    objects = load_objects(tmp_path)
    assert np.array_equal(objects.images, pixels)
    assert [(row.object, row.view, row.kind, row.family) for row in objects.rows[:2]] == [
        ("cup", "left", "any", ""),
        ("cup", "right", "any", ""),
    ]
    assert objects.object_count == 2 and load_objects(tmp_path).digest == objects.digest
    write(tmp_path, "pot", "left")
    assert load_objects(tmp_path).digest != objects.digest


def test_own_images_with_our_view_names_get_our_kinds(tmp_path: Path) -> None:
    for view in ("canonical", "rotation_1", "mixed_2"):
        write(tmp_path, "cup", view)
    assert [row.kind for row in load_objects(tmp_path).rows] == ["canonical", "mixed", "rotation"]
    write(tmp_path, "cup", "behind")
    assert {row.kind for row in load_objects(tmp_path).rows} == {"any"}


def test_a_short_manifest_gives_order_and_families(tmp_path: Path) -> None:
    for name in ("cup", "pot"):
        write(tmp_path, name, "left")
    (tmp_path / "manifest.csv").write_text("object,view,family\npot,left,big\ncup,left,small\n", encoding="utf-8-sig")
    assert [(row.object, row.family) for row in load_objects(tmp_path).rows] == [("pot", "big"), ("cup", "small")]


def test_grey_and_transparent_images_become_rgb(tmp_path: Path) -> None:
    write(tmp_path, "cup", "grey", mode="L")
    clear = np.zeros((5, 6, 4), np.uint8)
    clear[0, 0] = (10, 20, 30, 255)
    Image.fromarray(clear).save(tmp_path / "objects" / "cup" / "clear.png")
    images = load_objects(tmp_path).images
    assert images.shape == (2, 5, 6, 3)
    assert images[0, 0, 0].tolist() == [10, 20, 30] and images[0, 1, 1].tolist() == [128, 128, 128]


def test_broken_folders_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StimuliError, match=r"not a folder\. Make them: hms data gazoobian"):
        load_objects(tmp_path / "nowhere")
    (tmp_path / "loose" / "cup").mkdir(parents=True)
    Image.new("RGB", (6, 5)).save(tmp_path / "loose" / "cup" / "left.png")
    with pytest.raises(StimuliError, match=r"Move the objects' folders below .*loose.objects"):
        load_objects(tmp_path / "loose")
    (tmp_path / "objects").mkdir()
    with pytest.raises(StimuliError, match="No objects/<object>/<view>"):
        load_objects(tmp_path)
    write(tmp_path, "cup", "left")
    write(tmp_path, "cup", "right", size=(8, 5))
    with pytest.raises(StimuliError, match=r"right.png is 8x5 pixels, the images before it 6x5"):
        load_objects(tmp_path)
    (tmp_path / "objects" / "cup" / "right.png").write_bytes(b"\x89PNG no more")
    with pytest.raises(StimuliError, match=r"right\.png cannot be read as an image.*hms data gazoobian"):
        load_objects(tmp_path)
    (tmp_path / "objects" / "cup" / "right.png").rename(tmp_path / "objects" / "cup" / "right.JPG")
    with pytest.raises(StimuliError, match=r"right\.JPG would be left out.*Convert it"):
        load_objects(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("object\ncup\n", "lacks the column 'view'"),
        ("", "lacks the column 'object'"),
        ("object,view\ncup,behind\n", r"behind\.png is missing"),
        ("object,view,seed\ncup,left,seven\n", "not a number.*seven"),
        ("object,view,sha256\ncup,left,00\n", "SHA-256 differs"),
        ("object,view\ncup\n", "'' in the column view cannot name a file"),
        ("object,view\n../../cup,left\n", "cannot name a file"),
    ],
)
def test_broken_manifests_say_what_is_wrong(manifest: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, "cup", "left")
    (tmp_path / "manifest.csv").write_text(manifest)
    with pytest.raises(StimuliError, match=message):
        load_objects(tmp_path)
