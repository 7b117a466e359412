"""Where the rays of one or more cameras meet a scene, by sphere tracing.

Rays start in square tiles: a cone around each tile marches until the empty ball at its axis no longer holds the
whole tile, so that most rays are discarded or start close to the surface. Then rays march singly; those that hit or
leave are compacted away. All views of a scene are traced together, since small arrays cost as much as larger ones.
Arithmetic as in sdf.py: the same bits on every machine.
Sphere tracing: Hart, "Sphere tracing" (The Visual Computer, 1996).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.camera import DISTANCE, Camera, directions, of_each, spacing
from metrics.gazoobian.sdf import Array, Scene, distance

TILES = (16, 4, 1)  # sides of the tiles of each level, in rays
NEAR_ENOUGH = 2.0**-9  # distance that counts as a hit
STEP = 0.95  # share of the distance that a ray advances: blends bend the parts' lower bounds a little
MAX_STEPS = 96
CONE_STEPS = 24
CHUNK = 4096  # rays under way together: their arrays stay in the processor's cache

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Hits:
    """Rays that meet the scene, each at most once, in no set order."""

    view: Index  # (m,) number of the camera
    index: Index  # (m,) flat place in an array (cameras, rows, columns)
    points: Array  # (3, m)
    gap: Array  # (m,) distance that is left at the points, at most about NEAR_ENOUGH


def hits(scene: Scene, cameras: Sequence[Camera], rows: int, columns: int) -> Hits:
    """Trace a grid of (rows, columns) rays from each camera."""
    view = np.arange(len(cameras))
    row, column = np.zeros_like(view), np.zeros_like(view)
    depth: Array = np.full(len(view), DISTANCE - scene.radius, dtype=np.float32)
    found: Array = np.zeros((5, 0), dtype=np.float32)
    parent = TILES[0] * -(-max(rows, columns) // TILES[0])  # one tile that covers the grid
    for side in TILES:
        kept, row, column = _split(row, column, parent, side, (rows, columns))
        view, depth, parent = view[kept], depth[kept], side
        middle = 0.5 * (side - 1)
        at = row.astype(np.float32) + middle, column.astype(np.float32) + middle
        rays = np.stack([depth, *directions(cameras, view, *at, rows, columns), *of_each(cameras, "position", view)])
        spread = middle * math.sqrt(2.0) * spacing(rows, columns)  # of a tile around its middle, at unit depth
        which, found = _march(scene, rays, spread)
        view, row, column, depth = view[which], row[which], column[which], found[0]
    return Hits(view, (view * rows + row) * columns + column, found[1:4], found[4])


def _split(row: Index, column: Index, parent: int, side: int, grid: tuple[int, int]) -> tuple[Index, Index, Index]:
    """Tiles of `side` within tiles of `parent` rays: number of the parent, first row and column; inside the grid."""
    step = np.arange(0, parent, side)
    down, right = (part.reshape(-1) for part in np.meshgrid(step, step, indexing="ij"))
    rows, columns = (row[:, None] + down).reshape(-1), (column[:, None] + right).reshape(-1)
    inside = np.flatnonzero((rows < grid[0]) & (columns < grid[1]))
    return inside // len(down), rows[inside], columns[inside]


def _march(scene: Scene, rays: Array, spread: float) -> tuple[Index, Array]:
    """March rays (7, n): depth, direction, origin; with a `spread` at unit depth, cones.

    Returns which of them (m,) come near the scene, and (5, m) their depths, points and distances left. A cone that
    runs out of steps counts as near, a ray only if it nearly is. About CHUNK are under way at a time: new ones fill
    the places of those that have stopped or left.
    """
    most, patience = (CONE_STEPS, math.inf) if spread else (MAX_STEPS, 4.0 * NEAR_ENOUGH)
    which, marching, steps = np.zeros(0, np.intp), rays[:, :0], np.zeros(0, np.int32)
    stopped: list[tuple[Index, Array]] = [(which, np.zeros((5, 0), np.float32))]
    begun, total = 0, rays.shape[1]
    while begun < total or len(which):
        if len(which) < CHUNK // 2 and begun < total:
            more = np.arange(begun, min(begun + CHUNK - len(which), total))
            which = np.concatenate([which, more])
            marching = np.concatenate([marching, rays[:, more]], axis=1)
            steps = np.concatenate([steps, np.zeros(len(more), np.int32)])
            begun += len(more)
        t, dx, dy, dz, px, py, pz = marching
        x, y, z = px + t * dx, py + t * dy, pz + t * dz
        gap = distance(scene, x, y, z)
        room = gap - spread * t if spread else gap
        steps += 1
        last = steps == most
        near = (room < NEAR_ENOUGH) | (last & (room < patience))
        if near.any():
            stopped.append((which[near], np.stack([t[near], x[near], y[near], z[near], gap[near]])))
        t += room * (STEP / (1.0 + spread))
        going = np.flatnonzero(~(near | last) & (t < DISTANCE + scene.radius))
        which, marching, steps = which[going], marching[:, going], steps[going]
    return np.concatenate([part for part, _ in stopped]), np.concatenate([part for _, part in stopped], axis=1)
