"""Distances against points sampled densely on the same surfaces."""

from collections.abc import Callable

import numpy as np
import pytest

from metrics.gazoobian import sdf
from metrics.gazoobian.sdf import Blob, Ring, Scene, Tubes

NO_PAIR = {0, 1, 4, 9}  # families of seed 0 without a mirrored pair
RNG = np.random.default_rng(0)
POINTS = tuple(RNG.uniform(-1.5, 1.5, (3, 400)).astype(np.float32))
P = np.stack(POINTS, axis=1).astype(float)


def nearest(surface: np.ndarray) -> np.ndarray:
    """Distance of each of the points to the nearest sample of a surface (m, 3)."""
    return np.array([np.sqrt(((surface - p) ** 2).sum(axis=1)).min() for p in P])


def test_a_ball_and_a_ring_are_exact() -> None:
    ball = sdf.blob_distance(Blob((0.25, -0.5, 0.125), (2.0, 2.0, 2.0)), *POINTS)
    assert ball == pytest.approx(np.linalg.norm(P - (0.25, -0.5, 0.125), axis=1) - 0.5, abs=2e-6)
    ring = sdf.ring_distance(Ring((0.0, 0.25, 0.0), 0.75, 0.125), *POINTS)
    angle = np.linspace(0, 2 * np.pi, 4001)
    circle = np.stack([0.75 * np.cos(angle), np.full_like(angle, 0.25), 0.75 * np.sin(angle)], axis=1)
    assert ring == pytest.approx(nearest(circle) - 0.125, abs=2e-5)


@pytest.mark.parametrize("norm", ["ellipsoid", "puck", "box"])
def test_blobs_are_lower_bounds_and_first_order_exact_at_the_surface(norm: sdf.Norm) -> None:
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    frame = tuple(tuple(float(value) for value in row) for row in turn)
    blob = Blob((0.1, 0.2, -0.1), (1 / 0.7, 1 / 0.3, 1 / 0.5), norm, frame)  # type: ignore[arg-type]
    local = np.random.default_rng(2).normal(size=(60000, 3))
    power = {"ellipsoid": (2, 1), "puck": (2, 2), "box": (4, 1)}[norm]
    if norm == "puck":
        size = ((local[:, 0] ** 2 + local[:, 2] ** 2) ** 2 + local[:, 1] ** 4) ** 0.25
    else:
        size = (np.abs(local) ** power[0]).sum(axis=1) ** (1 / power[0])
    surface = (local / size[:, None] * (0.7, 0.3, 0.5)) @ turn + (0.1, 0.2, -0.1)
    found, true = sdf.blob_distance(blob, *POINTS), nearest(surface)
    outside = found > 0
    assert 250 < outside.sum() < 400
    assert np.all(found[outside] <= true[outside] + 1e-4)
    close = surface[:500]
    on_surface = sdf.blob_distance(blob, *close.astype(np.float32).T)
    assert np.abs(on_surface).max() < 1e-5
    h = 2.0**-9
    slopes = [
        sdf.blob_distance(blob, *(close + h * axis).astype(np.float32).T)
        - sdf.blob_distance(blob, *(close - h * axis).astype(np.float32).T)
        for axis in np.eye(3)
    ]
    assert np.linalg.norm(slopes, axis=0) / (2 * h) == pytest.approx(1.0, abs=0.01)


def one_tube(circle: float, half_angle: float, root: float, end: float, tip: float) -> Tubes:
    def cell(value: float) -> np.ndarray:
        return np.array([[value]], dtype=np.float32)

    chord = circle * np.sin(half_angle)
    rows = [(cell(float(i == 0)), cell(float(i == 1)), cell(float(i == 2)), cell(0.0)) for i in range(3)]
    angles = [cell(np.cos(half_angle)), cell(np.sin(half_angle)), cell(0.5 / chord)]
    height = cell(circle * np.cos(half_angle))
    sizes = [cell(root), cell(end - root), cell(tip), cell(1.0)]
    return Tubes(rows, cell(circle), cell(chord), height, *angles, *sizes, tips=tip > 0)


def test_a_bent_tube_of_one_width_is_exact_and_a_tip_is_a_ball_at_its_end() -> None:
    half = 0.9
    angle = np.linspace(-half, half, 8001)
    arc = np.stack([0.8 * np.sin(angle), 0.8 * np.cos(angle), np.zeros_like(angle)], axis=1)
    limb, tip = sdf.tube_distance(one_tube(0.8, half, 0.1, 0.1, 0.2), *POINTS)
    assert limb == pytest.approx(nearest(arc) - 0.1, abs=5e-6)
    assert tip == pytest.approx(np.linalg.norm(P - arc[-1], axis=1) - 0.2, abs=5e-6)


def test_a_tapered_tube_has_its_widths_at_its_ends() -> None:
    half = 0.9
    tubes = one_tube(0.8, half, 0.2, 0.05, 0.0)
    ends = [np.array([[sign * 0.8 * np.sin(half)], [0.8 * np.cos(half)], [0.3]], dtype=np.float32) for sign in (-1, 1)]
    assert sdf.tube_distance(tubes, *ends[0])[0] == pytest.approx([0.3 - 0.2], abs=1e-6)
    assert sdf.tube_distance(tubes, *ends[1])[0] == pytest.approx([0.3 - 0.05], abs=1e-6)
    assert sdf.tube_distance(tubes, *ends[1])[1] is None


def test_smooth_min_is_the_minimum_away_from_the_joint() -> None:
    a, b = (RNG.uniform(-1, 1, 500).astype(np.float32) for _ in range(2))
    joined = sdf.smooth_min(a, b, 0.25)
    apart = np.abs(a - b) >= 0.25
    assert np.array_equal(joined[apart], np.minimum(a, b)[apart])
    assert np.all(joined <= np.minimum(a, b)) and np.all(np.minimum(a, b) - joined <= 0.25 / 4 + 1e-6)


@pytest.mark.parametrize("number", range(4))
def test_arithmetic_stays_in_float32_and_slots_name_the_nearest_part(
    number: int, scene: Callable[[int], Scene]
) -> None:
    made = scene(number)
    distance, slot = sdf.distance_and_slot(made, *POINTS)
    assert distance.dtype == np.float32
    assert np.array_equal(distance, sdf.distance(made, *POINTS))
    body, limb, accent = sdf.slot_distances(made, *POINTS)
    assert accent is not None
    assert np.array_equal(slot, np.argmin(np.stack([body, limb, accent]), axis=0))


@pytest.mark.parametrize("number", range(12))
def test_mirrored_pair_is_a_mirror_image_on_one_side(number: int, scene: Callable[[int], Scene]) -> None:
    pair = scene(number).pair
    if pair is None:
        assert number in NO_PAIR
        return
    normal = np.array([pair.cosine, 0.0, -pair.sine])
    mirrored = P - 2 * ((P - pair.origin) @ normal)[:, None] * normal
    there = sdf.pair_distance(pair, *mirrored.astype(np.float32).T)
    assert sdf.pair_distance(pair, *POINTS) == pytest.approx(there, abs=2e-3)
    front = np.array([pair.sine, 0.0, pair.cosine])
    inside = sdf.pair_distance(pair, *POINTS) < 0
    assert np.all((P[inside] - pair.origin) @ front > 0)
