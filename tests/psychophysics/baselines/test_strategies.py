"""What each strategy weighs, on images where the answer is plain."""

import numpy as np
import pandas as pd
import pytest

from psychophysics.baselines import STRATEGIES, Patch, expected_correct, predictions
from psychophysics.baselines.saliency import covered_saliency, spectral_residual
from psychophysics.baselines.strategies import centrality, saliency, variance
from psychophysics.errors import StudyError


@pytest.fixture
def image() -> np.ndarray:
    """Grey, with a textured square at rows and columns 60..99 of 128 x 160."""
    rng = np.random.default_rng(0)
    picture = np.full((128, 160, 3), 0.5)
    picture[60:100, 60:100] = rng.random((40, 40, 3))
    return picture


ON_TEXTURE, ON_GREY = Patch(60, 60, 40), Patch(0, 0, 40)


@pytest.mark.parametrize("name", ["variance", "saliency"])
def test_the_image_whose_texture_stays_visible_is_expected_to_be_favoured(image, name: str) -> None:
    assert expected_correct(STRATEGIES[name], image, ON_GREY, ON_TEXTURE) == 1.0
    assert expected_correct(STRATEGIES[name], image, ON_TEXTURE, ON_GREY) == 0.0


def test_centre_is_the_distance_of_the_middles(image) -> None:
    middle = Patch(44, 60, 40)
    assert centrality(image, middle) == 0
    assert centrality(image, Patch(44, 63, 40)) == pytest.approx(-3)
    assert centrality(image, Patch(40, 57, 40)) == pytest.approx(-5)
    assert expected_correct(centrality, image, ON_GREY, middle) == 1.0
    assert expected_correct(centrality, image, Patch(44, 50, 40), Patch(44, 70, 40)) == 0.5


def test_variance_is_around_each_channels_mean(image) -> None:
    flat = np.zeros((40, 40, 3))
    flat[..., 0] = 1.0  # red: its channels differ, its pixels do not
    assert variance(flat, Patch(0, 0, 40)) == 0
    half = np.zeros((2, 2, 3))
    half[0] = 1.0
    assert variance(half, Patch(0, 0, 2)) == pytest.approx(0.5)


def test_two_equal_patches_are_undecided() -> None:
    blank = np.full((64, 64, 3), 0.3)
    for name in ("variance", "saliency"):
        assert expected_correct(STRATEGIES[name], blank, Patch(0, 0, 20), Patch(30, 10, 20)) == 0.5


def test_spectral_residual_is_a_density_that_finds_the_object() -> None:
    rng = np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(128)[:, None], np.fft.fftfreq(160)[None, :])
    clouds = np.fft.ifft2(np.fft.fft2(rng.normal(size=(128, 160))) / np.maximum(frequency, 0.01) ** 1.5).real
    picture = np.repeat((0.5 + 0.08 * clouds / clouds.std())[..., None], 3, axis=2)
    rows, columns = np.mgrid[:128, :160]
    picture[np.hypot(rows - 50, columns - 110) < 9] = 0.9
    density = spectral_residual(picture)
    assert density.shape == (128, 160) and density.min() >= 0 and density.sum() == pytest.approx(1)
    share, area = covered_saliency(density, 36, 96, 28), 28 * 28 / density.size
    assert share > 5 * area


def test_another_model_takes_the_place_of_the_built_in_one(image) -> None:
    def left_to_right(picture: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.arange(picture.shape[1], dtype=float), picture.shape[:2])

    assert saliency(left_to_right)(image, Patch(0, 0, 128)) == pytest.approx(128 * 127 / (160 * 159))
    with pytest.raises(StudyError, match="needs exp"):
        saliency(lambda picture: np.log(np.full(picture.shape[:2], 0.1)))(image, ON_GREY)


def test_a_patch_beyond_the_image_is_refused(image) -> None:
    with pytest.raises(StudyError, match="beyond an image of 128 x 160 pixels"):
        variance(image, Patch(100, 0, 40))


def test_predictions_are_one_row_a_query_and_strategy(image) -> None:
    queries = pd.DataFrame(
        {
            "network": "net",
            "layer": "conv",
            "unit": ["1", "2"],
            "image_set": 0,
            "top_max": [0, 60],
            "left_max": [0, 60],
            "top_min": [60, 0],
            "left_min": [60, 0],
            "side": 40,
        }
    )
    table = predictions(queries, lambda row: image)
    assert table.groupby("baseline")["correct"].apply(list).to_dict() == {
        "centre": [1.0, 0.0],
        "saliency": [1.0, 0.0],
        "variance": [1.0, 0.0],
    }
