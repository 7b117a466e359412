"""Signed distance from points to the parts of an object.

All arithmetic on points uses + - * / sqrt abs min max on float32 arrays, one operation at a time and with no
reduction whose order could vary: IEEE 754 fixes each result, so every machine computes the same bits. Each distance
is a lower bound outside its part, which is what sphere tracing needs.
Part formulas after Quilez, "Distance functions" (iquilezles.org/articles/distfunctions); the first-order bound for
norms, (g - 1) / |grad g|, holds because a norm is convex.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.vectors import Frame, Vector

Array = NDArray[np.floating]  # float32 at run time
Norm = Literal["ellipsoid", "puck", "box"]

BODY, LIMB, ACCENT = 0, 1, 2  # colour slots
ASPECT = 1.25  # the frame in the scene's units: 2 high, 2 * ASPECT wide
TINY = 2.0**-20


@dataclass(frozen=True)
class Blob:
    """A rounded solid `norm(frame @ (p - centre) * inverse) = 1`; `inverse` holds 1 / radius along each axis."""

    centre: Vector
    inverse: Vector
    norm: Norm = "ellipsoid"  # puck: superquadric, round from above; box: superquadric, square from above
    frame: Frame | None = None


@dataclass(frozen=True)
class Pair:
    """A blob and its mirror image in the plane through `origin` whose normal is turned about y by (cosine, sine)."""

    origin: Vector
    cosine: float
    sine: float
    blob: Blob


@dataclass(frozen=True)
class Ring:
    """A torus about the y axis through `centre`."""

    centre: Vector
    major: float
    minor: float


@dataclass(frozen=True)
class Tubes:
    """Circular arcs thickened by a radius that goes from `root` to `end`; every field is a (tubes, 1) float32 array.

    Local axes of a tube: u along its chord from root to tip, v from the centre of its circle to the middle of the
    arc, w across. `rows[i]` holds the three components of axis i and its offset. `tip_radius` 0 means no tips.
    """

    rows: Sequence[tuple[Array, Array, Array, Array]]
    circle: Array
    half_chord: Array
    height: Array
    cosine: Array
    sine: Array
    per_chord: Array
    root: Array
    growth: Array
    tip_radius: Array
    tip_flatness: Array
    tips: bool


@dataclass(frozen=True)
class Scene:
    """An object in its own coordinates: y up, z to the canonical viewer; inside a ball of `radius` half frames."""

    body: tuple[Blob, ...]
    body_blend: float
    rings: tuple[Ring, ...]
    tubes: Tubes
    crest: Blob | None
    pair: Pair | None
    base: Blob | Ring | None
    base_slot: int
    blend: float
    radius: float


def distance(scene: Scene, x: Array, y: Array, z: Array) -> Array:
    """Distance (n,) of the points to the blended surface; negative inside."""
    return _join(scene, *slot_distances(scene, x, y, z))


def distance_and_slot(scene: Scene, x: Array, y: Array, z: Array) -> tuple[Array, NDArray[np.int8]]:
    """Distance (n,) and colour slot (n,) of the nearest part: BODY, LIMB or ACCENT."""
    body, limb, accent = slot_distances(scene, x, y, z)
    slot = (limb < body).astype(np.int8)
    if accent is not None:
        slot[accent < np.minimum(body, limb)] = ACCENT
    return _join(scene, body, limb, accent), slot


def slot_distances(scene: Scene, x: Array, y: Array, z: Array) -> tuple[Array, Array, Array | None]:
    """Distances (n,) to the parts of each colour slot; the accent slot may have no part."""
    body = blob_distance(scene.body[0], x, y, z)
    for lobe in scene.body[1:]:
        body = smooth_min(body, blob_distance(lobe, x, y, z), scene.body_blend)
    limb, tip = tube_distance(scene.tubes, x, y, z)
    accents = [] if tip is None else [tip]
    if scene.crest is not None:
        accents.append(blob_distance(scene.crest, x, y, z))
    if scene.pair is not None:
        accents.append(pair_distance(scene.pair, x, y, z))
    accents.extend(ring_distance(ring, x, y, z) for ring in scene.rings)
    if scene.base is not None:
        base = scene.base
        part = ring_distance(base, x, y, z) if isinstance(base, Ring) else blob_distance(base, x, y, z)
        if scene.base_slot == LIMB:
            limb = np.minimum(limb, part)
        else:
            accents.append(part)
    accent = None
    for part in accents:
        accent = part if accent is None else np.minimum(accent, part)
    return body, limb, accent


def blob_distance(blob: Blob, x: Array, y: Array, z: Array) -> Array:
    """Lower bound of the distance (n,) to a blob, exact to first order at its surface."""
    cx, cy, cz = blob.centre
    x, y, z = x - cx, y - cy, z - cz
    if blob.frame is not None:
        (a, b, c), (d, e, f), (g, h, i) = blob.frame
        x, y, z = a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
    ix, iy, iz = blob.inverse
    x, y, z = x * ix, y * iy, z * iz
    xx, yy, zz = x * x, y * y, z * z
    if blob.norm == "ellipsoid":
        size = np.sqrt(xx + yy + zz)
        slope = np.sqrt(xx * (ix * ix) + yy * (iy * iy) + zz * (iz * iz))
        return (size - 1.0) * size / np.maximum(slope, TINY)
    if blob.norm == "puck":
        flat = xx + zz
        size = np.sqrt(np.sqrt(flat * flat + yy * yy))
        gx, gy, gz = flat * x * ix, yy * y * iy, flat * z * iz
    else:
        size = np.sqrt(np.sqrt(xx * xx + yy * yy + zz * zz))
        gx, gy, gz = xx * x * ix, yy * y * iy, zz * z * iz
    slope = np.sqrt(gx * gx + gy * gy + gz * gz)
    return (size - 1.0) * (size * size * size) / np.maximum(slope, TINY)


def pair_distance(pair: Pair, x: Array, y: Array, z: Array) -> Array:
    """Distance (n,) to the nearer of two mirrored blobs."""
    ox, oy, oz = pair.origin
    x, y, z = x - ox, y - oy, z - oz
    across = np.abs(x * pair.cosine - z * pair.sine)
    along = x * pair.sine + z * pair.cosine
    return blob_distance(pair.blob, across, y, along)


def ring_distance(ring: Ring, x: Array, y: Array, z: Array) -> Array:
    """Distance (n,) to a torus."""
    cx, cy, cz = ring.centre
    x, y, z = x - cx, y - cy, z - cz
    around = np.sqrt(x * x + z * z) - ring.major
    return np.sqrt(around * around + y * y) - ring.minor


def tube_distance(tubes: Tubes, x: Array, y: Array, z: Array) -> tuple[Array, Array | None]:
    """Distance (n,) to the nearest tube, and to the nearest tip or None."""
    u, v, w = (a * x + b * y + c * z + offset for a, b, c, offset in tubes.rows)  # (tubes, n) each
    along = np.abs(u)
    above = v - tubes.height
    beyond = along - tubes.half_chord
    end = beyond * beyond + above * above  # squared in-plane distance to the nearer end of the arc
    off = np.sqrt(u * u + v * v) - tubes.circle
    in_plane = np.where(along * tubes.cosine <= v * tubes.sine, off * off, end)
    ww = w * w
    fraction = np.minimum(np.maximum(u * tubes.per_chord + 0.5, 0.0), 1.0)
    limb = np.sqrt(in_plane + ww) - (fraction * tubes.growth + tubes.root)
    nearest = np.minimum.reduce(limb, axis=0)
    if not tubes.tips:
        return nearest, None
    past = u - tubes.half_chord
    flat = w * tubes.tip_flatness
    tip = (np.sqrt(past * past + above * above + flat * flat) - tubes.tip_radius) / tubes.tip_flatness
    return nearest, np.minimum.reduce(tip, axis=0)


def smooth_min(a: Array, b: Array, width: float) -> Array:
    """Minimum of two distances (n,) with a fillet about `width` wide between them."""
    overlap = np.maximum(width - np.abs(a - b), 0.0)
    return np.minimum(a, b) - overlap * overlap * (0.25 / width)


def _join(scene: Scene, body: Array, limb: Array, accent: Array | None) -> Array:
    joined = smooth_min(body, limb, scene.blend)
    return joined if accent is None else smooth_min(joined, accent, 0.5 * scene.blend)
