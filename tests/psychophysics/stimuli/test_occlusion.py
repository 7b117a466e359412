import numpy as np
import pytest

from psychophysics.config import OcclusionSection
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.occlusion import Found, PatchSearch, regret
from psychophysics.stimuli.patches import Occluded


def test_exhaustive_search_finds_what_a_loop_over_all_places_finds():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (30, 36, 3), dtype=np.uint8)
    weight = rng.normal(size=image.shape)
    geometry = Geometry.of(30, 36, OcclusionSection())

    def evaluate(images):
        return (images * weight).sum(axis=(1, 2, 3)).astype(np.float32)

    found = PatchSearch(Occluded(image, geometry), evaluate, geometry, batch=7).exhaustive()
    best = {}
    for top in range(30 - geometry.side + 1):
        for left in range(36 - geometry.side + 1):
            changed = image.copy()
            patch = changed[top : top + geometry.side, left : left + geometry.side]
            patch[:] = np.floor(patch.mean(axis=(0, 1)) + 0.5)
            best[top, left] = float((changed * weight).sum())
    assert found.lowest == min(best, key=best.__getitem__)
    assert found.highest == max(best, key=best.__getitem__)
    np.testing.assert_allclose([found.activations[place] for place in best], list(best.values()), rtol=1e-5)


@pytest.mark.parametrize(("low", "high"), [((38, 122), (100, 20)), ((0, 0), (134, 134)), ((2, 66), (4, 130))])
def test_coarse_to_fine_descends_to_single_optima_with_a_fraction_of_the_evaluations(low, high):
    geometry = Geometry.of(224, 224, OcclusionSection())

    def render(places):
        return np.array([[[[*place, 0]]] for place in places], np.uint8)

    def evaluate(images):
        at = images[:, 0, 0, :2].astype(float)
        hill, pit = np.exp(-((at - high) ** 2).sum(1) / 500), np.exp(-((at - low) ** 2).sum(1) / 500)
        return (hill - pit).astype(np.float32)

    found = PatchSearch(render, evaluate, geometry, batch=64).coarse_to_fine(3)
    full = PatchSearch(render, evaluate, geometry, batch=64).exhaustive()
    assert (found.lowest, found.highest) == (full.lowest, full.highest) == (low, high)
    assert len(full.activations) == 4624 and len(found.activations) < 4624 / 12
    assert regret(found, full) == 0


def test_places_are_evaluated_once():
    geometry = Geometry.of(224, 224, OcclusionSection())
    asked = []

    def render(places):
        asked.extend(places)
        return np.zeros((len(places), 1, 1, 3), np.uint8)

    PatchSearch(render, lambda images: np.arange(len(images), dtype=np.float32), geometry, batch=50).coarse_to_fine(3)
    assert len(asked) == len(set(asked))


def test_regret_is_the_worse_end_as_a_share_of_the_range():
    full = Found((0, 0), (2, 0), {(0, 0): -1.0, (2, 0): 3.0, (4, 0): -0.5, (6, 0): 2.0})
    found = Found((4, 0), (6, 0), {(4, 0): -0.5, (6, 0): 2.0})
    assert regret(found, full) == pytest.approx(0.25)
    assert regret(full, full) == 0
