import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image

from prednet.errors import DataError
from prednet.pictures import DIFFERENCE_SCALE, difference_map, film_picture, save_strip, to_pixels

VIRIDIS = (np.asarray(colormaps["viridis"].colors) * 255).round()


@pytest.fixture
def clip():
    """(3, 16, 20, 3) uint8."""
    return np.random.default_rng(5).integers(0, 256, (3, 16, 20, 3), dtype=np.uint8)


def test_floats_become_pixels_and_pixels_stay():
    np.testing.assert_array_equal(to_pixels([-0.1, 0.0, 0.5, 1.0, 1.2]), [0, 0, 128, 255, 255])
    pixels = np.arange(6, dtype=np.uint8)
    assert to_pixels(pixels) is pixels


@pytest.mark.parametrize(("difference", "colour"), [(0.0, 0), (DIFFERENCE_SCALE, 255), (0.9, 255)])
def test_differences_have_the_colours_of_the_scale(difference, colour):
    true = np.zeros((2, 2, 3))
    for other in (true + difference, np.round((true + difference) * 255).astype(np.uint8)):
        found = difference_map(true, other)
        assert found.shape == (2, 2, 3)
        np.testing.assert_allclose(found[0, 0], VIRIDIS[colour], atol=1)


def test_a_difference_of_one_channel_counts_a_third():
    other = np.zeros((1, 1, 3))
    other[..., 1] = DIFFERENCE_SCALE * 3 / 2
    np.testing.assert_allclose(difference_map(np.zeros((1, 1, 3)), other)[0, 0], VIRIDIS[128], atol=2)


def holds(sheet, tile, zoom):
    """The enlarged tile stands somewhere in the sheet, pixel by pixel."""
    big = np.asarray(tile).repeat(zoom, 0).repeat(zoom, 1)
    h, w = big.shape[:2]
    rows, columns = np.nonzero((sheet[: 1 - h, : 1 - w] == big[0, 0]).all(axis=2))
    return any((sheet[y : y + h, x : x + w] == big).all() for y, x in zip(rows, columns, strict=True))


def test_the_strip_holds_every_frame_and_difference(tmp_path, clip):
    predicted = clip[::-1] / 255
    save_strip(tmp_path / "strip.png", clip, predicted, title="three frames")
    with Image.open(tmp_path / "strip.png") as image:
        sheet = np.asarray(image)
    for tile in (*clip, *difference_map(clip, predicted)):
        assert holds(sheet, tile, 8)
    assert [file.name for file in tmp_path.iterdir()] == ["strip.png"]


def test_columns_without_a_true_frame_have_only_the_prediction(tmp_path, clip):
    save_strip(tmp_path / "strip.png", clip[:1], clip)
    with Image.open(tmp_path / "strip.png") as image:
        sheet = np.asarray(image)
    assert holds(sheet, clip[2], 8)
    assert not holds(sheet, difference_map(clip[2], clip[2]), 16)


def test_no_text_touches_the_edge_of_the_paper(tmp_path, clip):
    long = "a very long name of a video file " * 20
    save_strip(tmp_path / "strip.png", clip[:, :, :8], clip[:, :, :8], title=long, captions={long[:60]: ["1.0"] * 3})
    with Image.open(tmp_path / "strip.png") as image:
        strip = np.asarray(image)
    film = film_picture(None, clip[0], long, long)
    for sheet in (strip, film):
        for edge in (sheet[0], sheet[-1], sheet[:, 0], sheet[:, -1]):
            assert (edge == 255).all()


def test_film_pictures_have_even_sides_and_all_three_panels(clip):
    for predicted in (clip[1], clip[1][:15, :17]):
        true = clip[0][: predicted.shape[0], : predicted.shape[1]]
        picture = film_picture(true, predicted, "name", "frame 1")
        assert picture.shape[0] % 2 == picture.shape[1] % 2 == 0
        zoom = -(-320 // predicted.shape[1])
        for tile in (true, predicted, difference_map(true, predicted)):
            assert holds(picture, tile, zoom)


def test_bad_input_is_refused(tmp_path, clip):
    with pytest.raises(DataError, match=r"\(16, 20, 3\)"):
        save_strip(tmp_path / "strip.png", clip[0], clip)
    with pytest.raises(DataError, match="no fewer predicted"):
        save_strip(tmp_path / "strip.png", clip, clip[:2])
    with pytest.raises(DataError, match="don't have 3 texts"):
        save_strip(tmp_path / "strip.png", clip, clip, captions={"step": ["1"]})
    with pytest.raises(DataError, match="nowhere"):
        save_strip(tmp_path / "nowhere" / "strip.png", clip, clip)
    assert not list(tmp_path.iterdir())
