from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.errors import ModelError
from prednet.model import PredNet
from psychophysics.cnn_network import CnnUnits
from psychophysics.config import ImagesSection, NetworkSource
from psychophysics.errors import StimuliError
from psychophysics.networks import open_network
from psychophysics.stimuli.pool import ImagePool
from psychophysics.units import Unit

skimage_data = pytest.importorskip("skimage").__path__[0] + "/data"


class Toy(nn.Module):
    """A convolutional network of random weights, with a ReLU in place, a shared module and a head."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.third = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 8, 3, stride=2), nn.Conv2d(8, 5, 3)
        self.relu, self.head = nn.ReLU(inplace=True), nn.Linear(5, 12)
        self.ran = []

    def forward(self, images):
        x = self.relu(self.first(images))
        x = self.relu(self.second(x))
        self.ran.append("second")
        x = self.third(x)
        self.ran.append("third")
        return self.head(x.mean(dim=(2, 3)))


def images(n, height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, height, width, 3), dtype=np.uint8)


def toy():
    return CnnUnits(NetworkSource(name="toy", source="x:y", height=20, width=26), Toy())


def test_activations_are_spatial_means_of_each_layer_before_a_relu_in_place():
    network, shown = toy(), images(40, 20, 26)
    model = Toy()
    x = torch.from_numpy(shown).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        first = model.first(x)
        second = model.second(first.relu())
        third = model.third(second.relu())
    expected = torch.stack([first[:, 2].mean(dim=(1, 2)), second[:, 7].mean(dim=(1, 2))], 1).numpy()
    found = network.activation(shown, [Unit("first", 2), Unit("second", 7), Unit("third", 0)])
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[:, 2], third[:, 0].mean(dim=(1, 2)).numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        network.layer_activation(shown, "second"), second.flatten(1).numpy(), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        network.class_scores(shown), model.head(third.mean(dim=(2, 3))).detach().numpy(), atol=1e-5
    )


def test_layers_are_the_modules_that_run_once_and_return_maps():
    assert dict(toy().layers) == {"first": 6, "second": 8, "third": 5}


def test_a_pass_stops_at_the_deepest_layer_that_is_needed():
    network = toy()
    network.network.ran.clear()
    network.activation(images(3, 20, 26), [Unit("second", 0), Unit("first", 1)])
    assert network.network.ran == []  # the hook leaves before the line after the second layer
    network.activation(images(3, 20, 26), [Unit("third", 0)])
    assert network.network.ran == ["second"]


def test_a_network_that_cannot_read_its_images_says_so():
    with pytest.raises(StimuliError, match=r"toy: the network raised RuntimeError.*\(2, 3, 2, 2\)"):
        CnnUnits(NetworkSource(name="toy", source="x:y", height=2, width=2), Toy())
    with pytest.raises(StimuliError, match="no module of the network returns maps"):
        CnnUnits(NetworkSource(name="flat", source="x:y"), nn.Sequential(nn.Flatten(), nn.Linear(3 * 224 * 224, 3)))


@pytest.fixture
def prednet(tmp_path):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6), r_stack_sizes=(3, 5, 6)), seed=3)
    path = tmp_path / "network.pt"
    save_checkpoint(path, {"config": model.config.to_dict(), "model": model.state_dict()})
    return model, path


def test_units_of_a_prednet_are_r_averaged_over_space_and_the_steps_after_the_first(prednet):
    model, path = prednet
    network = open_network(NetworkSource(name="net", source=str(path), height=16, width=24))
    assert dict(network.layers) == {"R0": 3, "R1": 5, "R2": 6}
    shown = images(7, 16, 24)
    clip = (torch.from_numpy(shown).permute(0, 3, 1, 2).float() / 255)[:, None].expand(-1, 5, -1, -1, -1)
    with torch.no_grad():
        steps = model(clip, activations=True).activations
    r = {f"R{n}": sum(step.r[n] for step in steps[1:]) / 4 for n in range(3)}
    found = network.activation(shown, [Unit("R1", 4), Unit("R0", 2), Unit("R2", 0)])
    expected = np.stack([r["R1"][:, 4].mean(dim=(1, 2)), r["R0"][:, 2].mean(dim=(1, 2))], axis=1)
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[:, 2], r["R2"][:, 0].mean(dim=(1, 2)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(network.layer_activation(shown, "R1"), r["R1"].flatten(1), rtol=1e-4, atol=1e-6)
    assert network.class_scores(shown) is None


def test_maps_of_a_prednet_have_gradients_to_the_image(prednet):
    _, path = prednet
    network = open_network(NetworkSource(name="net", source=str(path), height=16, width=24))
    shown = images(2, 16, 24)
    pixels = (torch.from_numpy(shown).permute(0, 3, 1, 2).float() / 255).requires_grad_()
    maps = network.maps(pixels, ["R2", "R1"])
    found = network.activation(shown, [Unit("R1", 3), Unit("R2", 5)])
    np.testing.assert_allclose(maps["R1"][:, 3].mean(dim=(1, 2)).detach(), found[:, 0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(maps["R2"][:, 5].mean(dim=(1, 2)).detach(), found[:, 1], rtol=1e-4, atol=1e-6)
    maps["R1"][:, 3].sum().backward()
    assert pixels.grad.abs().max() > 0


def test_a_prednet_is_not_shown_frames_that_do_not_halve(prednet):
    with pytest.raises(ModelError, match="18"):
        open_network(NetworkSource(name="net", source=str(prednet[1]), height=18, width=24))


def test_a_network_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StimuliError, match=r"there is no network at .*gone\.pt"):
        open_network(NetworkSource(name="net", source=str(tmp_path / "gone.pt")))


def test_efficientnet_sees_what_photographs_show():
    network = open_network(NetworkSource(name="net", source="efficientnet-lite0"))
    files = {"chelsea.png": {281, 282, 285}, "coffee.png": {967}, "rocket.jpg": {657, 744}}  # cats; espresso; missiles
    pool = ImagePool(Path(skimage_data), tuple(files), ImagesSection(pool="x"), seed=0)
    scores = network.class_scores(pool.load(range(3), 224, 224))
    assert scores.shape == (3, 1000)
    for row, (file, right) in zip(scores, files.items(), strict=True):
        assert row.argmax() in right, f"{file}: class {row.argmax()}"
    assert network.layers["_blocks.15"] == 320
