import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.errors import DataError, ModelError
from prednet.features import fitting_batch, predict, static_clip_features, top_layer_features
from prednet.model import PredNet

SIZE = (8, 12)


@pytest.fixture
def images():
    """(5, 8, 12, 3) uint8."""
    return np.random.default_rng(3).integers(0, 256, (5, *SIZE, 3), dtype=np.uint8)


def plain_features(plain, model, images, nt):
    """{(t, layer): (n, d)} of the plain implementation."""
    frames = torch.from_numpy(images).permute(0, 3, 1, 2).to(next(model.parameters()).dtype) / 255
    with torch.no_grad():
        _, _, units = plain.run(model, frames[:, None].expand(-1, nt, -1, -1, -1))
    return {(t, n): r.flatten(1).numpy() for t in range(nt) for n, r in enumerate(units[t]["R"])}


@pytest.mark.parametrize("batch_size", [1, 2, 5, 8])
def test_features_are_the_r_units_of_the_plain_implementation(plain, small_model, images, batch_size):
    expected = plain_features(plain, small_model, images, 5)
    found = {(t, n): x for t, n, x in static_clip_features(small_model, images, batch_size=batch_size)}
    assert list(found) == [(t, n) for t in range(1, 5) for n in range(3)]
    for key, features in found.items():
        assert features.dtype == np.float32
        np.testing.assert_allclose(features, expected[key], rtol=0, atol=1e-5)


def test_only_the_layers_asked_for_are_given(small_model, images):
    found = [(t, n) for t, n, _ in static_clip_features(small_model, images, nt=3, layers=[2, 0])]
    assert found == [(1, 0), (1, 2), (2, 0), (2, 2)]


def test_top_layer_features_are_those_of_the_top(plain, small_model, images):
    expected = plain_features(plain, small_model, images, 4)
    features = top_layer_features(small_model, images, nt=4, batch_size=2)
    assert features.shape == (3, 5, 6 * 2 * 3)
    assert features.dtype == np.float32
    for t in (1, 2, 3):
        np.testing.assert_allclose(features[t - 1], expected[t, 2], rtol=0, atol=1e-5)


@pytest.mark.parametrize("filters", [3, 4])
def test_in_float64_features_and_predictions_are_the_plain_ones_to_the_last_bits_of_float32(
    plain, images, windows, filters
):
    config = PredNetConfig(
        stack_sizes=(3, 4, 6), r_stack_sizes=(2, 5, 4), a_filter_sizes=(filters,) * 2, r_filter_sizes=(filters,) * 3
    )
    model = PredNet(config, seed=2).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(4))
    expected = plain_features(plain, model, images, 5)
    found = {(t, n): x for t, n, x in static_clip_features(model, images)}
    top = top_layer_features(model, images, batch_size=2)
    for (t, layer), features in found.items():
        np.testing.assert_allclose(features, expected[t, layer], rtol=1e-7, atol=1e-12)
        if layer == 2:
            np.testing.assert_array_equal(top[t - 1], features)
    with torch.no_grad():
        shown = plain.run(model, torch.from_numpy(windows).permute(0, 1, 4, 2, 3).double() / 255)[0]
    np.testing.assert_allclose(predict(model, windows), shown.permute(0, 1, 3, 4, 2).numpy(), rtol=1e-6, atol=1e-8)


def test_more_small_images_than_large_ones_run_at_once(small_model):
    assert fitting_batch(small_model, 128, 160) == 4
    assert fitting_batch(small_model, 64, 80) == 16
    assert fitting_batch(small_model, 1024, 1280) == 1


def test_predictions_are_those_of_forward(plain, small_model, windows):
    predictions = predict(small_model, windows, batch_size=1)
    frames = torch.from_numpy(windows).permute(0, 1, 4, 2, 3).float() / 255
    with torch.no_grad():
        expected = plain.run(small_model, frames)[0].permute(0, 1, 3, 4, 2).numpy()
    assert predictions.shape == windows.shape
    assert predictions.dtype == np.float32
    assert predictions.min() >= 0
    assert predictions.max() <= 1
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-5)


def test_a_float64_network_gives_float32_features(images):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1).double()
    assert top_layer_features(model, images).dtype == np.float32


def test_broken_networks_show_in_their_features(small_model, images):
    with torch.no_grad():
        small_model.gates[2].bias[0] = torch.nan
    assert np.isnan(top_layer_features(small_model, images)).any()


def test_images_are_not_changed(small_model, images):
    before = images.copy()
    images.flags.writeable = False
    list(static_clip_features(small_model, images))
    np.testing.assert_array_equal(images, before)


def test_bad_input_is_refused(small_model, images):
    with pytest.raises(DataError, match="float64"):
        top_layer_features(small_model, images / 255)
    with pytest.raises(DataError, match=r"shape \(0, 8, 12, 3\)"):
        top_layer_features(small_model, images[:0])
    with pytest.raises(ModelError, match="1 frame"):
        next(static_clip_features(small_model, images, nt=1))
    with pytest.raises(ModelError, match="8x11"):
        next(static_clip_features(small_model, images[:, :, :11]))
    with pytest.raises(DataError, match="uint8"):
        predict(small_model, images)
