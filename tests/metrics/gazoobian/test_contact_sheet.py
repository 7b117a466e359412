from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metrics.errors import MetricError
from metrics.gazoobian.contact_sheet import LABEL, MARGIN, contact_sheet
from metrics.gazoobian.objects import ObjectSet, ObjectView


def test_shows_each_object_once_and_all_views_of_one(small_set: ObjectSet, tmp_path: Path) -> None:
    file = contact_sheet(small_set, tmp_path / "new" / "sheet.png")
    with Image.open(file) as image:
        sheet = np.array(image)
    assert sheet.shape == (2 * MARGIN + 2 * (24 + LABEL + 2), 2 * MARGIN + 6 * 32, 3)
    for column, row in enumerate((0, 6, 12)):  # canonical views of the three objects
        left = MARGIN + column * 32
        assert np.array_equal(sheet[MARGIN : MARGIN + 24, left : left + 30], small_set.images[row])
    top = MARGIN + 24 + LABEL + 2
    for column in range(6):  # all views of the first
        left = MARGIN + column * 32
        assert np.array_equal(sheet[top : top + 24, left : left + 30], small_set.images[column])
    assert [path.name for path in file.parent.iterdir()] == ["sheet.png"]


def test_many_objects_without_families_wrap(tmp_path: Path) -> None:
    rows = tuple(ObjectView(f"o{k}", "", "left", "any", "") for k in range(30))
    objects = ObjectSet(np.zeros((30, 8, 10, 3), np.uint8), rows, "")
    with Image.open(contact_sheet(objects, tmp_path / "sheet.png")) as image:
        assert image.size == (2 * MARGIN + 12 * 12, 2 * MARGIN + 4 * (8 + LABEL + 2))


def test_an_ending_that_is_no_picture_is_refused(small_set: ObjectSet, tmp_path: Path) -> None:
    with pytest.raises(MetricError, match=r"sheet\.xyz cannot be written"):
        contact_sheet(small_set, tmp_path / "sheet.xyz")
    assert not list(tmp_path.iterdir())
