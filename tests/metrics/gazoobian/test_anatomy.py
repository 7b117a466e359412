from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
from scipy.ndimage import label

from metrics.gazoobian.anatomy import build
from metrics.gazoobian.grammar import Individual, draw_family, draw_individual, seed_of
from metrics.gazoobian.sdf import Blob, Ring, Scene, distance

SIDE = 48
AXIS = np.linspace(-1.5, 1.5, SIDE, dtype=np.float32)
GRID = tuple(axis.ravel() for axis in np.meshgrid(AXIS, AXIS, AXIS, indexing="ij"))


@pytest.mark.parametrize("seed", range(4))
def test_objects_hang_together_and_stay_inside_their_ball(seed: int) -> None:
    for number in range(12):
        scene = build(draw_individual(draw_family(seed, number), seed_of("whole", seed, number)))
        solid = (distance(scene, *GRID) <= 0.02).reshape(SIDE, SIDE, SIDE)
        assert solid.sum() > 500
        assert label(solid, np.ones((3, 3, 3)))[1] == 1, (seed, number)
        out = np.sqrt(sum(axis.astype(float) ** 2 for axis in GRID)).reshape(solid.shape)
        assert out[solid].max() < scene.radius + 0.05


@pytest.mark.parametrize("number", range(12))
def test_every_number_is_a_multiple_of_2_to_the_minus_16(number: int, scene: Callable[[int], Scene]) -> None:
    numbers = _numbers(scene(number))
    assert len(numbers) > 50
    assert all(value * 65536 == round(value * 65536) and abs(value) < 256 for value in numbers)


def test_parts_follow_the_grammar(individual: Callable[[int], Individual]) -> None:
    for number in range(12):
        made, family = build(individual(number)), individual(number).family
        assert len(made.body) == (2 if family.plan == "two_lobed" else 1)
        assert (made.body[0].norm != "ellipsoid") == (family.plan == "superquadric")
        assert len(made.rings) == (family.ring_count if family.plan == "ringed" else 0)
        assert len(made.tubes.root) == family.tube_count and made.tubes.tips == family.tips
        assert (made.crest is None, made.pair is None) == (not family.crest, not family.pair)
        assert isinstance(made.base, {"": type(None), "ring": Ring}.get(family.base, Blob))


def _numbers(thing: object) -> list[float]:
    if isinstance(thing, bool | str | None):
        return []
    if isinstance(thing, int | float):
        return [float(thing)]
    if isinstance(thing, np.ndarray):
        return [float(value) for value in thing.ravel()]
    if isinstance(thing, tuple | list):
        return [value for part in thing for value in _numbers(part)]
    return [value for field in fields(thing) for value in _numbers(getattr(thing, field.name))]
