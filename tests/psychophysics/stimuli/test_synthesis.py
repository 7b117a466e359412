import numpy as np
import pytest
import torch
from torch import nn

from psychophysics.cnn_network import CnnUnits
from psychophysics.config import NetworkSource, SynthesisSection
from psychophysics.stimuli.parametrisation import FourierImages, central, random_views
from psychophysics.stimuli.synthesis import gram_similarity, synthesise
from psychophysics.units import Unit


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.Conv2d(8, 10, 5, stride=2), nn.Tanh())
    return CnnUnits(NetworkSource(name="net", source="x:y", height=40, width=32), model)


def made(network, n=4, **section):
    return synthesise(
        network, Unit("2", 3), n, SynthesisSection(**section), scale=0.2, seed=7, progress=lambda done: None
    )


def test_activation_rises_above_every_start_and_every_photograph_like_image(network):
    result = made(network, steps=60, diversity=0.0)
    assert result.images.shape == (4, 40, 32, 3) and result.images.dtype == np.uint8
    assert result.activations.min() > result.before.max() + 0.1
    noise = np.random.default_rng(0).integers(0, 256, (300, 40, 32, 3), dtype=np.uint8)
    assert result.activations.min() > network.activation(noise, [Unit("2", 3)]).max()
    assert (np.diff(result.activations) <= 0).all()
    np.testing.assert_allclose(network.activation(result.images, [Unit("2", 3)])[:, 0], result.activations, rtol=1e-5)


def test_diversity_keeps_images_apart_at_some_cost(network):
    alike, apart = made(network, steps=60, diversity=0.0), made(network, steps=60, diversity=10.0)
    assert apart.similarity < alike.similarity - 0.02
    assert apart.activations.mean() < alike.activations.mean()


def test_the_seed_fixes_the_images(network):
    first, again = made(network, steps=3), made(network, steps=3)
    assert (first.images == again.images).all()
    other = synthesise(network, Unit("2", 3), 4, SynthesisSection(steps=3), scale=0.2, seed=8, progress=lambda d: None)
    assert (other.images != first.images).any()


def test_similarity_is_the_mean_cosine_of_gram_matrices():
    maps = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(0))
    grams = [(m.flatten(1) @ m.flatten(1).T).flatten().numpy() for m in maps]
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = np.mean([grams[a] @ grams[b] / np.linalg.norm(grams[a]) / np.linalg.norm(grams[b]) for a, b in pairs])
    assert float(gram_similarity(maps)) == pytest.approx(expected, rel=1e-5)
    assert float(gram_similarity(maps[:1])) == 0


def test_a_view_without_transforms_is_the_middle_of_the_image():
    still = SynthesisSection(jitter=1e-9, scale=(1.0, 1.0), rotate=0.0)
    images = torch.rand(2, 3, 20, 28, generator=torch.Generator().manual_seed(0))
    views = random_views(images, 16, 20, still, torch.Generator().manual_seed(0))
    torch.testing.assert_close(views, central(images, 16, 20), atol=1e-5, rtol=0)


def test_views_turn_without_shearing():
    # A disc stays a disc: its area under a turn of up to 90 degrees, in an oblong image.
    rows, columns = torch.meshgrid(torch.arange(60) - 29.5, torch.arange(80) - 39.5, indexing="ij")
    bar = ((rows.abs() < 3) & (columns.abs() < 20)).float().expand(12, 3, 60, 80)
    section = SynthesisSection(jitter=1e-9, scale=(1.0, 1.0), rotate=90.0)
    views = random_views(bar, 60, 80, section, torch.Generator().manual_seed(1))
    weight = views[:, 0] / views[:, 0].sum(dim=(1, 2), keepdim=True)
    spread = (weight * (rows**2 + columns**2)).sum(dim=(1, 2))
    torch.testing.assert_close(spread, spread[:1].expand(12), rtol=0.02, atol=0)
    assert (weight * rows**2).sum(dim=(1, 2)).std() > 10  # they did turn


def test_starts_are_grey_with_the_spectrum_of_natural_images():
    images = FourierImages(8, 64, 64, torch.Generator().manual_seed(0)).images().detach()
    assert (images - 0.5).abs().max() < 0.2
    grey = images.mean(dim=1)
    power = torch.fft.fft2(grey - grey.mean(dim=(1, 2), keepdim=True)).abs().square().mean(dim=0)
    low, high = power[0, 2:5].mean(), power[0, 16:31].mean()
    assert 10 < low / high < 400  # amplitude 1/f from 3 to 23 cycles: power falls 60-fold
