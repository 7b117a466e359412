"""The camera and the light of a view, and the directions of its rays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.sdf import ASPECT, Array
from metrics.gazoobian.vectors import Vector, quantised, rounded
from metrics.gazoobian.views import Dials

CANONICAL_ELEVATION = 20.0  # degrees; the camera looks down
LIGHT_AZIMUTH, LIGHT_ELEVATION = -35.0, 40.0  # degrees, in the camera's frame: upper left
DISTANCE = 8.0  # from the object's centre, in half frame heights
SLOPE = quantised(1.0 / DISTANCE)  # tangent of half the field of view over the height of the frame


@dataclass(frozen=True)
class Camera:
    """Where the viewer stands and where the light comes from, in the object's coordinates."""

    position: Vector
    right: Vector
    up: Vector
    forward: Vector
    light: Vector
    halfway: Vector  # unit vector between light and viewer, for the highlight
    intensity: float


def camera_for(dials: Dials) -> Camera:
    """The camera of a view. Yaw turns the object about its vertical axis; the light stays with the camera."""
    yaw, elevation = math.radians(-dials.yaw), math.radians(CANONICAL_ELEVATION + dials.elevation)
    right = (math.cos(yaw), 0.0, -math.sin(yaw))
    back = (math.sin(yaw) * math.cos(elevation), math.sin(elevation), math.cos(yaw) * math.cos(elevation))
    up = (-math.sin(yaw) * math.sin(elevation), math.cos(elevation), -math.cos(yaw) * math.sin(elevation))
    azimuth = math.radians(LIGHT_AZIMUTH + dials.light_azimuth)
    height = math.radians(LIGHT_ELEVATION + dials.light_elevation)
    local = (math.sin(azimuth) * math.cos(height), math.sin(height), math.cos(azimuth) * math.cos(height))
    light = [local[0] * right[i] + local[1] * up[i] + local[2] * back[i] for i in range(3)]
    middle = [light[i] + back[i] for i in range(3)]
    length = max(math.sqrt(sum(value * value for value in middle)), 1e-3)
    return Camera(
        position=rounded([DISTANCE * value for value in back]),
        right=rounded(right),
        up=rounded(up),
        forward=rounded([-value for value in back]),
        light=rounded(light),
        halfway=rounded([value / length for value in middle]),
        intensity=quantised(1.0 + dials.light_intensity),
    )


def spacing(rows: int, columns: int) -> float:
    """Distance between neighbouring rays of a (rows, columns) grid at unit depth.

    A picture narrower than ASPECT shows the same width of the scene, and more above and below.
    """
    return SLOPE / (0.5 * min(rows, columns / ASPECT))


def of_each(cameras: Sequence[Camera], field: str, view: NDArray[np.intp]) -> Array:
    """A field of the camera of each ray: (3, n) float32 for a vector, (n,) for a number; `view` (n,) counts cameras."""
    return np.array([getattr(camera, field) for camera in cameras], dtype=np.float32).T[..., view]


def directions(
    cameras: Sequence[Camera], view: NDArray[np.intp], row: Array, column: Array, rows: int, columns: int
) -> Array:
    """Unit directions (3, n) of the rays of each view through grid positions, which need not be whole numbers."""
    step = spacing(rows, columns)
    across = (column - (0.5 * columns - 0.5)) * step
    upward = ((0.5 * rows - 0.5) - row) * step
    length = np.sqrt(across * across + upward * upward + 1.0)
    forward, right, up = (of_each(cameras, field, view) for field in ("forward", "right", "up"))
    return (forward + across * right + upward * up) / length
