import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.errors import DataError, ModelError
from prednet.features import predict
from prednet.model import PredNet
from prednet.rollout import extrapolate, r_features, rollout


def as_frames(clips):
    return torch.from_numpy(clips).permute(0, 1, 4, 2, 3).double() / 255


@pytest.fixture
def model(small_model):
    return small_model.double()


@pytest.mark.parametrize("seen", [1, 3, 4])
def test_extrapolation_is_that_of_the_network_with_extrap_start_time(model, windows, seen):
    found = extrapolate(model, windows[:, :seen], steps=3)
    # What stands in the later frames must not matter: the network doesn't see them.
    padded = np.concatenate([windows[:, :seen], 255 - windows[:, :3]], axis=1)
    with torch.no_grad():
        expected = model(as_frames(padded), extrap_start_time=seen).predictions[:, seen:]
    assert found.shape == (2, 3, 8, 12, 3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.permute(0, 1, 3, 4, 2).numpy(), rtol=0, atol=1e-7)


def test_steps_without_extrapolation_are_the_predictions(model, windows):
    found = np.stack([step.prediction for step in rollout(model, windows)], axis=1)
    np.testing.assert_allclose(found, predict(model, windows), rtol=0, atol=1e-7)


def test_r_features_are_the_r_units_of_the_plain_implementation(plain, model, windows):
    with torch.no_grad():
        _, _, units = plain.run(model, as_frames(windows))
    found = r_features(model, windows)
    assert list(found) == [0, 1, 2][: model.config.n_layers]
    for layer, features in found.items():
        expected = np.stack([units[t]["R"][layer].numpy() for t in range(4)], axis=1)
        assert features.dtype == np.float32
        np.testing.assert_allclose(features, expected, rtol=0, atol=1e-6)


def test_only_the_layers_asked_for_are_kept(model, windows):
    found = r_features(model, windows, layers=[2])
    assert {layer: features.shape for layer, features in found.items()} == {2: (2, 4, 6, 2, 3)}


def test_pixels_are_scaled_to_pixel_max(windows):
    unit = PredNet(PredNetConfig(stack_sizes=(3, 4)), seed=2).double()
    half = PredNet(PredNetConfig(stack_sizes=(3, 4), pixel_max=0.5), seed=2).double()
    half.load_state_dict(unit.state_dict())
    with torch.no_grad():
        expected = half(as_frames(windows) / 2).predictions[:, 3] / 0.5
    found = list(rollout(half, windows))[3].prediction
    np.testing.assert_allclose(found, expected.permute(0, 2, 3, 1).numpy(), rtol=0, atol=1e-6)


def test_clips_are_not_changed_and_may_be_read_only(model, windows):
    before = windows.copy()
    windows.flags.writeable = False
    extrapolate(model, windows, steps=1)
    np.testing.assert_array_equal(windows, before)


def test_bad_input_is_refused(model, windows):
    with pytest.raises(DataError, match=r"frames\[None\]"):
        extrapolate(model, windows[0])
    with pytest.raises(DataError, match="float64"):
        r_features(model, windows / 255)
    with pytest.raises(DataError, match=r"\(2, 0, 8, 12, 3\)"):
        r_features(model, windows[:, :0])
    with pytest.raises(ModelError, match="8x11"):
        extrapolate(model, windows[..., :11, :])
    with pytest.raises(ModelError, match="steps is 0"):
        extrapolate(model, windows, steps=0)
    with pytest.raises(ModelError, match=r"layers \[3\].*0 to 2"):
        r_features(model, windows, layers=[1, 3])
