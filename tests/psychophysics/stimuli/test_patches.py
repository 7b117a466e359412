import numpy as np
import torch
import torch.nn.functional as F

from psychophysics.config import OcclusionSection
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.patches import Occluded, SharpOnly, blurred


def photograph(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_the_published_geometry():
    geometry = Geometry.of(224, 224, OcclusionSection())
    assert geometry.side == 90 and geometry.strides == (8, 4, 2)
    assert len(geometry.lattice(2)) == 4624 and max(geometry.lattice(2)) == (134, 134)
    assert (geometry.blur_sigma, 2 * geometry.blur_radius + 1) == (3.5, 21)


def test_other_inputs_scale_with_their_shorter_side():
    geometry = Geometry.of(128, 160, OcclusionSection())
    assert geometry.side == 52 and geometry.strides == (4, 2, 1)
    assert geometry.lattice(1)[-1] == (76, 108)
    assert Geometry.of(32, 32, OcclusionSection()).strides[-1] == 1


def test_neighbours_stay_inside_the_image():
    geometry = Geometry.of(224, 224, OcclusionSection())
    assert sorted(geometry.around((0, 134), 2)) == [(0, 132), (2, 132), (2, 134)]
    assert len(geometry.around((20, 20), 4)) == 8


def test_a_patch_has_the_mean_colour_of_what_it_covers():
    image, geometry = photograph(40, 50), Geometry.of(40, 50, OcclusionSection())
    places = geometry.lattice(1)[::7]
    for (top, left), shown in zip(places, Occluded(image, geometry)(places), strict=True):
        window = (slice(top, top + geometry.side), slice(left, left + geometry.side))
        expected = np.floor(image[window].astype(float).mean(axis=(0, 1)) + 0.5)
        assert (shown[window] == expected).all()
        untouched = shown.copy()
        untouched[window] = image[window]
        assert (untouched == image).all()


def test_the_blur_is_the_published_gaussian():
    image, geometry = photograph(224, 224), Geometry.of(224, 224, OcclusionSection())
    x = np.arange(-10, 11)
    kernel = np.exp(-(x**2) / (2 * 3.5**2))
    kernel = np.outer(kernel, kernel) / kernel.sum() ** 2
    padded = F.pad(torch.from_numpy(image).permute(2, 0, 1)[None].double(), (10, 10, 10, 10), mode="reflect")
    weight = torch.from_numpy(kernel)[None, None].expand(3, 1, 21, 21)
    expected = F.conv2d(padded, weight, groups=3)[0].permute(1, 2, 0).numpy()
    assert np.abs(blurred(image, geometry) - expected).max() < 0.5 + 1e-9


def test_one_square_of_a_blurred_image_stays_sharp():
    image, geometry = photograph(60, 60), Geometry.of(60, 60, OcclusionSection())
    shown = SharpOnly(image, geometry)([(5, 9)])[0]
    window = (slice(5, 5 + geometry.side), slice(9, 9 + geometry.side))
    assert (shown[window] == image[window]).all()
    shown[window] = blurred(image, geometry)[window]
    assert (shown == blurred(image, geometry)).all()
