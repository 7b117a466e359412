from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.data.resize import check_resize, crop_start, resize_frame, scaled_size
from prednet.errors import DataError


@pytest.mark.parametrize(
    ("h", "w", "scaled", "crop"), [(375, 1242, 424, 132), (370, 1224, 423, 131), (376, 1241, 422, 131)]
)
def test_kitti_sizes_of_the_protocol(h: int, w: int, scaled: int, crop: int) -> None:
    assert scaled_size(h, w, 128, 160) == (128, scaled)
    assert crop_start(scaled, 160) == crop


def test_narrow_source_is_scaled_to_the_width_and_cropped_in_height() -> None:
    assert scaled_size(144, 176, 64, 80) == (65, 80)
    assert scaled_size(1920, 1080, 128, 160) == (284, 160)
    frame = np.zeros((1000, 100, 3), np.uint8)
    frame[450:550] = 200
    assert (resize_frame(frame, 16, 20, "antialias")[4:12] == 200).all()


def test_every_shape_gives_the_target_size() -> None:
    for h in (9, 64, 131, 144, 375):
        for w in (9, 80, 164, 165, 176, 1242):
            frame = np.zeros((h, w, 3), np.uint8)
            for mode in ("antialias", "legacy"):
                assert resize_frame(frame, 128, 160, mode).shape == (128, 160, 3)


def test_a_frame_of_the_target_size_is_unchanged_by_both_modes() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (64, 80, 3), np.uint8)
    for mode in ("antialias", "legacy"):
        np.testing.assert_array_equal(resize_frame(frame, 64, 80, mode), frame)


def test_legacy_is_four_neighbour_sampling_at_half_pixel_centres() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (375, 1242, 3), np.uint8)
    rows = (np.arange(128) + 0.5) * 375 / 128 - 0.5
    columns = (np.arange(424) + 0.5) * 1242 / 424 - 0.5
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = (rows - top)[:, None, None], (columns - left)[None, :, None]
    values = frame.astype(float)
    upper = values[top][:, left] * (1 - right) + values[top][:, left + 1] * right
    lower = values[top + 1][:, left] * (1 - right) + values[top + 1][:, left + 1] * right
    expected = (upper * (1 - down) + lower * down)[:, 132:292]
    difference = resize_frame(frame, 128, 160, "legacy") - expected
    # Pillow truncates the sum instead of rounding it.
    assert difference.min() > -1 and difference.max() < 1e-9


def test_antialias_averages_what_legacy_skips() -> None:
    stripes = np.zeros((120, 160, 3), np.uint8)
    stripes[:, ::2] = 255
    assert np.ptp(resize_frame(stripes, 30, 40, "antialias")[:, 2:-2].astype(int)) <= 2
    dots = np.zeros((120, 160, 3), np.uint8)
    dots[:, ::4] = 255
    assert resize_frame(dots, 30, 40, "legacy").max() == 0
    assert 60 <= resize_frame(dots, 30, 40, "antialias").mean() <= 67


def test_original_kitti_bytes(samples: Path) -> None:
    file = samples / "footage" / "original_bytes" / "image_02_0000000000.png"
    with Image.open(file) as image:
        frame = np.asarray(image.convert("RGB"))
        whole = np.asarray(image.convert("RGB").resize((424, 128), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(resize_frame(frame, 128, 160, "antialias"), whole[:, 132:292])


@pytest.mark.parametrize(("height", "width", "mode"), [(128, 160, "lanczos"), (4, 160, "legacy"), (128, 0, "legacy")])
def test_unusable_targets_are_refused(height: int, width: int, mode: str) -> None:
    with pytest.raises(DataError, match=r"unknown|too small"):
        check_resize(height, width, mode)
