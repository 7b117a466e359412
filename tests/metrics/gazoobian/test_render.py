import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metrics.errors import StimuliError
from metrics.gazoobian import render as render_module
from metrics.gazoobian import tracing
from metrics.gazoobian.camera import DISTANCE, camera_for, directions
from metrics.gazoobian.grammar import Individual
from metrics.gazoobian.objects import pixel_digest
from metrics.gazoobian.render import BACKGROUND, palette, render, slots_seen
from metrics.gazoobian.sdf import Scene, distance
from metrics.gazoobian.views import PRESETS, Dials, draw_dials

EXPECTED = json.loads((Path(__file__).parent / "expected_hashes.json").read_text())

MakeIndividual = Callable[[int], Individual]
MakeScene = Callable[[int], Scene]


def picture(individual: Individual, scene: Scene, dials: Dials, **size: int) -> np.ndarray:
    size = {"height": 24, "width": 30, "samples": 4, **size}
    return render(scene, [camera_for(dials)], [palette(individual, dials.hue)], **size)[0]


@pytest.mark.parametrize("number", range(12))
def test_pixels_are_the_same_on_every_machine(number: int, individual: MakeIndividual, scene: MakeScene) -> None:
    dials = draw_dials(PRESETS["mix_l"], 0, "mixed_1") if number % 2 else Dials()
    found = pixel_digest(picture(individual(number), scene(number), dials))
    assert found == EXPECTED[str(number)]


def test_batches_do_not_change_pixels(
    monkeypatch: pytest.MonkeyPatch, individual: MakeIndividual, scene: MakeScene
) -> None:
    whole = picture(individual(2), scene(2), Dials())
    monkeypatch.setattr(tracing, "CHUNK", 100)
    monkeypatch.setattr(render_module, "CHUNK", 77)
    assert np.array_equal(picture(individual(2), scene(2), Dials()), whole)


@pytest.mark.parametrize("number", [1, 3, 5, 6])
def test_tracing_finds_what_small_steps_find(number: int, scene: MakeScene) -> None:
    rows, columns = 40, 56  # no multiple of the tiles
    made, camera = scene(number), camera_for(Dials(yaw=25.0))
    row, column = (part.ravel().astype(np.float32) for part in np.mgrid[:rows, :columns])
    dx, dy, dz = directions([camera], np.zeros(rows * columns, int), row, column, rows, columns)
    px, py, pz = camera.position
    depth = np.full(rows * columns, np.inf)
    for t in np.arange(DISTANCE + made.radius, DISTANCE - made.radius, -0.004):
        inside = distance(made, *(np.float32(p) + np.float32(t) * d for p, d in ((px, dx), (py, dy), (pz, dz)))) < 0
        depth[inside] = t
    found = tracing.hits(made, [camera], rows, columns)
    assert len(set(found.index)) == len(found.index) and found.gap.max() < 4 * tracing.NEAR_ENOUGH
    reached = np.full(rows * columns, np.inf)
    reached[found.index] = np.linalg.norm(found.points.T - camera.position, axis=1)
    both = np.isfinite(depth) & np.isfinite(reached)
    assert not (np.isfinite(depth) & ~np.isfinite(reached)).any()  # no holes
    assert np.count_nonzero(np.isfinite(reached)) - both.sum() < 0.04 * both.sum()  # a rim, at most 0.002 wide
    difference = np.abs(depth[both] - reached[both])
    assert np.quantile(difference, 0.9) < 0.02 and np.median(difference) < 0.006


def test_views_rendered_together_equal_those_rendered_alone(
    monkeypatch: pytest.MonkeyPatch, individual: MakeIndividual, scene: MakeScene
) -> None:
    dials = [Dials(), Dials(yaw=30.0, hue=0.2), Dials(light_azimuth=50.0, light_intensity=0.2)]
    alone = [picture(individual(6), scene(6), one) for one in dials]
    palettes = [palette(individual(6), one.hue) for one in dials]
    together = render(scene(6), [camera_for(one) for one in dials], palettes, height=24, width=30)
    assert np.array_equal(together, alone)
    monkeypatch.setattr(render_module, "RAYS_AT_ONCE", 6000)  # two views of 48x60 rays
    assert np.array_equal(render(scene(6), [camera_for(one) for one in dials], palettes, height=24, width=30), alone)


def test_background_is_grey_and_objects_are_not(individual: MakeIndividual, scene: MakeScene) -> None:
    image = picture(individual(0), scene(0), Dials())
    assert image.shape == (24, 30, 3) and image.dtype == np.uint8
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    assert np.all(edge == BACKGROUND)
    grey = np.all(image == BACKGROUND, axis=2)
    seen = slots_seen(scene(0), [camera_for(Dials())], 24, 30)[0] >= 0
    assert not (seen & grey).any() and (~seen & grey).sum() > 0.7 * (~seen).sum()


@pytest.mark.parametrize(
    ("dials", "same_outline"),
    [
        (Dials(yaw=40.0), False),
        (Dials(elevation=12.0), False),
        (Dials(light_azimuth=60.0), True),
        (Dials(light_elevation=-25.0), True),
        (Dials(light_intensity=0.3), True),
        (Dials(hue=0.2), True),
    ],
    ids=lambda value: str(value) if isinstance(value, bool) else next(k for k, v in vars(value).items() if v),
)
def test_each_dial_changes_what_it_says(
    dials: Dials, same_outline: bool, individual: MakeIndividual, scene: MakeScene
) -> None:
    before, after = picture(individual(4), scene(4), Dials()), picture(individual(4), scene(4), dials)
    outline = [np.any(image != BACKGROUND, axis=2) for image in (before, after)]
    assert np.array_equal(*outline) == same_outline
    assert np.abs(before.astype(int) - after).max() > 15
    if dials.light_intensity:
        assert after.astype(int).sum() > before.astype(int).sum()


def test_yaw_turns_the_object_all_the_way_round(individual: MakeIndividual, scene: MakeScene) -> None:
    front, back, round_again = (picture(individual(4), scene(4), Dials(yaw=yaw)) for yaw in (0.0, 180.0, 360.0))
    assert np.array_equal(front, round_again) and not np.array_equal(front, back)


def test_more_samples_smooth_the_same_picture(individual: MakeIndividual, scene: MakeScene) -> None:
    pictures = [picture(individual(1), scene(1), Dials(), samples=n).astype(float) for n in (1, 4, 9, 16)]
    errors = [np.abs(image - pictures[-1]).mean() for image in pictures[:-1]]
    assert errors[0] > errors[1] > errors[2] and errors[1] < 4


def test_narrow_and_wide_pictures_keep_the_whole_object(individual: MakeIndividual, scene: MakeScene) -> None:
    for height, width in ((24, 24), (24, 48), (40, 24)):
        image = picture(individual(0), scene(0), Dials(), height=height, width=width)
        edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert np.all(edge == BACKGROUND) and np.any(image != BACKGROUND)


@pytest.mark.parametrize("samples", [0, 2, 25, -1])
def test_other_numbers_of_samples_are_refused(samples: int, individual: MakeIndividual, scene: MakeScene) -> None:
    with pytest.raises(StimuliError, match=f"^{samples} samples"):
        picture(individual(0), scene(0), Dials(), samples=samples)


def test_pixels_do_not_depend_on_the_instructions_of_the_processor() -> None:
    features = np.show_config(mode="dicts")["SIMD Extensions"]["found"]  # type: ignore[call-overload,index]
    if not features:
        pytest.skip("NumPy uses no instructions here beyond its baseline")
    code = (
        "import numpy as np\n"
        "from metrics.gazoobian.anatomy import build\n"
        "from metrics.gazoobian.camera import camera_for\n"
        "from metrics.gazoobian.grammar import draw_family, draw_individual, seed_of\n"
        "from metrics.gazoobian.objects import pixel_digest\n"
        "from metrics.gazoobian.render import palette, render\n"
        "from metrics.gazoobian.views import Dials\n"
        "one = draw_individual(draw_family(0, 0), seed_of('test', 0))\n"
        "print(pixel_digest(render(build(one), [camera_for(Dials())], [palette(one)], height=24, width=30)))\n"
        "print(np.show_config(mode='dicts')['SIMD Extensions'].get('found', []))\n"
    )
    plain = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [EXPECTED["0"], "[]"]
