from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from metrics.errors import MetricError, StimuliError
from metrics.stimuli92 import Stimuli92, load_stimuli92, prepare_stimuli92, resize_stimuli
from metrics.stimuli92_sources import FILES, STIMULI_FILE


def test_shapes_and_types(stimuli92: Stimuli92) -> None:
    assert stimuli92.images.shape == (92, 175, 175, 3) and stimuli92.images.dtype == np.uint8
    assert stimuli92.human_rdms.shape == (4, 2, 92, 92) and stimuli92.human_rdms.dtype == np.float64
    assert stimuli92.human_rdm.shape == stimuli92.monkey_rdm.shape == (92, 92)
    np.testing.assert_array_equal(stimuli92.human_rdm, stimuli92.human_rdms.mean(axis=(0, 1)))


def test_labels_and_categories_agree_with_the_source(human92: Path, stimuli92: Stimuli92) -> None:
    assert list(Counter(stimuli92.categories).values()) == [12, 12, 12, 12, 23, 21]
    assert stimuli92.labels[0] == "01_human_body" and stimuli92.labels[91] == "92_artificial_object"
    assert len(set(stimuli92.labels)) == 92
    items = scipy.io.loadmat(human92 / STIMULI_FILE)["stimuli_92objs"][0]
    for category, item in zip(stimuli92.categories, items, strict=True):
        assert ("face" in category) == bool(item["face"][0, 0])
        assert category.startswith("human") == bool(item["human"][0, 0])
        assert ("object" not in category) == bool(item["animal"][0, 0])
        assert (category != "artificial_object") == bool(item["natural"][0, 0])


def test_loading_says_what_to_do_about_a_missing_or_broken_file(human92: Path, tmp_path: Path) -> None:
    with pytest.raises(StimuliError, match=r"is missing\. Get it with: hms data stimuli92"):
        load_stimuli92(tmp_path)
    for name in FILES:
        content = (human92 / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-1] if name == STIMULI_FILE else content)
    with pytest.raises(StimuliError, match=f"expected {FILES[STIMULI_FILE]}"):
        load_stimuli92(tmp_path)


def test_prepare_from_a_folder_and_again(human92: Path, tmp_path: Path, stimuli92: Stimuli92) -> None:
    root = tmp_path / "new" / "stimuli92"
    calls: list[tuple[str, int, int]] = []
    prepared = prepare_stimuli92(root, human92, lambda *call: calls.append(call))
    np.testing.assert_array_equal(prepared.images, stimuli92.images)
    assert sorted(path.name for path in root.iterdir()) == sorted(FILES)
    for name in FILES:
        done = [call for call in calls if call[0] == name]
        assert done[-1][1] == done[-1][2] == (human92 / name).stat().st_size
    before = {path: path.stat().st_mtime_ns for path in root.iterdir()}
    calls.clear()
    prepare_stimuli92(root, tmp_path / "nowhere", lambda *call: calls.append(call))
    assert calls == []
    assert before == {path: path.stat().st_mtime_ns for path in root.iterdir()}


@pytest.fixture
def pictures() -> np.ndarray:
    image = np.full((1, 175, 175, 3), 128, dtype=np.uint8)
    image[:, 25:150, 25:150] = [250, 10, 60]
    return image


@pytest.mark.parametrize("mapping", ["stretch", "pad", "crop"])
@pytest.mark.parametrize("size", [(64, 80), (128, 160), (175, 175), (200, 90)])
def test_every_mapping_gives_the_asked_size(pictures: np.ndarray, mapping: str, size: tuple[int, int]) -> None:
    before = pictures.copy()
    resized = resize_stimuli(pictures, *size, mapping)  # type: ignore[arg-type]
    assert resized.shape == (1, *size, 3) and resized.dtype == np.uint8
    np.testing.assert_array_equal(pictures, before)
    if size == (175, 175):
        np.testing.assert_array_equal(resized, pictures)


def test_where_the_square_goes(pictures: np.ndarray) -> None:
    def box(mapping: str) -> list[int]:
        inside = (resize_stimuli(pictures, 70, 140, mapping)[0, :, :, 0] > 190).nonzero()  # type: ignore[arg-type]
        return [int(edge) for axis in inside for edge in (axis.min(), axis.max() + 1)]

    # 125 of 175 pixels are object: 50 of 70 rows when all is shown; cropping shows rows 43.75 to 131.25 of it.
    assert box("stretch") == [10, 60, 20, 120]
    assert box("pad") == [10, 60, 45, 95]
    assert box("crop") == [0, 70, 20, 120]


def test_padding_is_the_gray_of_the_background(pictures: np.ndarray) -> None:
    padded = resize_stimuli(pictures, 70, 140, "pad")
    assert (padded[0, :, :35] == 128).all() and (padded[0, :, 105:] == 128).all()


def test_unusable_input_names_the_choices(pictures: np.ndarray) -> None:
    with pytest.raises(MetricError, match="'fit'; choose one of: stretch, pad, crop"):
        resize_stimuli(pictures, 64, 80, "fit")  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="float64"):
        resize_stimuli(pictures / 255, 64, 80)
    with pytest.raises(MetricError, match="0 x 80"):
        resize_stimuli(pictures, 0, 80)
