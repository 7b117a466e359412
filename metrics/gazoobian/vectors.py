"""Vectors of three Python floats, and the rounding that makes trigonometry the same on every machine."""

import math
from collections.abc import Sequence

Vector = tuple[float, float, float]
Frame = tuple[Vector, Vector, Vector]  # rows are unit vectors


def quantised(value: float) -> float:
    """Nearest multiple of 2^-16: exact in float32 below 256, and blind to a mathematical library's last bits."""
    return round(value * 65536.0) / 65536.0


def rounded(v: Sequence[float]) -> Vector:
    """Three components, each quantised."""
    return quantised(v[0]), quantised(v[1]), quantised(v[2])


def add(*vectors: Vector) -> Vector:
    """Sum of vectors."""
    x, y, z = (math.fsum(parts) for parts in zip(*vectors, strict=True))
    return x, y, z


def times(v: Vector, factor: float) -> Vector:
    """Vector times a number."""
    return v[0] * factor, v[1] * factor, v[2] * factor


def dot(a: Vector, b: Vector) -> float:
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def norm(v: Vector) -> float:
    """Length."""
    return math.sqrt(dot(v, v))


def inverse(v: Vector) -> Vector:
    """1 / each component."""
    return 1.0 / v[0], 1.0 / v[1], 1.0 / v[2]


def direction(azimuth: float, latitude: float) -> Vector:
    """Unit vector at angles in radians; azimuth 0 faces the canonical viewer, positive to the viewer's right."""
    flat = math.cos(latitude)
    return flat * math.sin(azimuth), math.sin(latitude), flat * math.cos(azimuth)
