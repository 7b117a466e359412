"""From a scene and a view to pixels: colours, shading, averaging of samples.

Arithmetic as in sdf.py: the same bits on every machine. Light adds up in linear RGB; the square root, which IEEE 754
defines exactly, stands in for the display's gamma.
"""

import colorsys
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metrics.errors import StimuliError
from metrics.gazoobian.camera import Camera, of_each
from metrics.gazoobian.grammar import Individual
from metrics.gazoobian.sdf import Array, Scene, distance, distance_and_slot
from metrics.gazoobian.tracing import hits
from metrics.gazoobian.vectors import quantised

BACKGROUND = 128  # grey level of every pixel that shows no object
TAP = 2.0**-7  # spacing of the forward differences that give a normal
OCCLUSION = 0.125  # how far out along the normal the surroundings are probed for ambient occlusion
CHUNK = 4096  # points shaded together: their arrays stay in the cache of the processor
RAYS_AT_ONCE = 2**21  # of the views rendered together: bounds the memory
AMBIENT, DIFFUSE, SPECULAR = 0.30, 0.80, 0.20


def palette(individual: Individual, hue: float = 0.0) -> Array:
    """Linear RGB (3 slots, 3) float32 of an individual with all hues turned by `hue` turns."""
    rgb = [colorsys.hsv_to_rgb((h + hue) % 1.0, s, v) for h, s, v in individual.colours]
    return np.array([[quantised(value * value) for value in colour] for colour in rgb], dtype=np.float32)


def render(
    scene: Scene,
    cameras: Sequence[Camera],
    palettes: Sequence[Array],
    *,
    height: int,
    width: int,
    samples: int = 4,
) -> NDArray[np.uint8]:
    """Images (cameras, height, width, 3) uint8 of the scene on a grey background.

    One palette, as `palette` gives it, for each camera. `samples` rays a pixel on a regular grid: 1, 4, 9 or 16.
    Raises `StimuliError` for another number.
    """
    side = math.isqrt(max(samples, 0))
    if side * side != samples or not 1 <= side <= 4:
        raise StimuliError(f"{samples} samples a pixel cannot form a square grid: set samples to 1, 4, 9 or 16.")
    rows, columns = height * side, width * side
    together = max(1, RAYS_AT_ONCE // (rows * columns))
    images = np.empty((len(cameras), height, width, 3), dtype=np.uint8)
    for low in range(0, len(cameras), together):
        some = slice(low, low + together)
        light = _light(scene, cameras[some], np.stack(palettes[some]), rows, columns)
        images[some] = _developed(light.reshape(-1, height, side, width, side, 3))
    return images


def slots_seen(scene: Scene, cameras: Sequence[Camera], height: int, width: int) -> NDArray[np.int8]:
    """Colour slot (cameras, height, width) seen through each pixel's middle, -1 where there is no object."""
    seen = np.full(len(cameras) * height * width, -1, dtype=np.int8)
    found = hits(scene, cameras, height, width)
    seen[found.index] = distance_and_slot(scene, *found.points)[1]
    return seen.reshape(-1, height, width)


def _light(scene: Scene, cameras: Sequence[Camera], palettes: Array, rows: int, columns: int) -> Array:
    """Linear RGB (cameras * rows * columns, 3) of every ray."""
    light: Array = np.full((len(cameras) * rows * columns, 3), (BACKGROUND / 255.0) ** 2, dtype=np.float32)
    found = hits(scene, cameras, rows, columns)
    for low in range(0, len(found.index), CHUNK):
        part = slice(low, low + CHUNK)
        light[found.index[part]] = _shade(
            scene, cameras, palettes, found.view[part], found.points[:, part], found.gap[part]
        )
    return light


def _developed(light: Array) -> NDArray[np.uint8]:
    """Mean over the samples (n, H, side, W, side, 3) of each pixel, as bytes."""
    side = light.shape[2]
    total = light[:, :, 0, :, 0]
    for k in range(1, side * side):  # added one by one: a library's sum may choose another order
        total = total + light[:, :, k // side, :, k % side]
    mean = np.minimum(np.maximum(total / (side * side), 0.0), 1.0)
    return (np.sqrt(mean) * 255.0 + 0.5).astype(np.uint8)


def _shade(
    scene: Scene, cameras: Sequence[Camera], palettes: Array, view: NDArray[np.intp], points: Array, gap: Array
) -> Array:
    """Linear RGB (m, 3) at surface points: ambient light with occlusion, diffuse light, a highlight."""
    nx, ny, nz = _normals(scene, points, gap)
    x, y, z = points
    _, slot = distance_and_slot(scene, x, y, z)
    around = distance(scene, x + OCCLUSION * nx, y + OCCLUSION * ny, z + OCCLUSION * nz)
    openness = np.minimum(np.maximum(around * (1.0 / OCCLUSION), 0.25), 1.0)
    up, light, halfway = (of_each(cameras, field, view) for field in ("up", "light", "halfway"))
    intensity = of_each(cameras, "intensity", view)
    sky = 0.75 + 0.25 * (nx * up[0] + ny * up[1] + nz * up[2])
    facing = np.maximum(nx * light[0] + ny * light[1] + nz * light[2], 0.0)
    shine = np.maximum(nx * halfway[0] + ny * halfway[1] + nz * halfway[2], 0.0)
    for _ in range(5):  # to the 32nd power
        shine = shine * shine
    matte = (sky * AMBIENT + facing * intensity * DIFFUSE) * openness
    gloss = shine * openness * intensity * SPECULAR
    return palettes[view, slot] * matte[:, None] + gloss[:, None]


def _normals(scene: Scene, points: Array, gap: Array) -> tuple[Array, Array, Array]:
    x, y, z = points
    gx = distance(scene, x + TAP, y, z) - gap
    gy = distance(scene, x, y + TAP, z) - gap
    gz = distance(scene, x, y, z + TAP) - gap
    length = np.maximum(np.sqrt(gx * gx + gy * gy + gz * gz), TAP * 2.0**-8)
    return gx / length, gy / length, gz / length
