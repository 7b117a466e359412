"""From genes to parts: where each part of an individual sits, turned, centred and scaled to the frame.

Trigonometry happens here, in Python floats; every number that reaches the renderer is then rounded to a multiple of
2^-16, which hides the last-bit differences between mathematical libraries.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metrics.gazoobian.grammar import Individual
from metrics.gazoobian.sdf import ASPECT, Array, Blob, Pair, Ring, Scene, Tubes
from metrics.gazoobian.vectors import (
    Frame,
    Vector,
    add,
    cross,
    direction,
    dot,
    inverse,
    norm,
    quantised,
    rounded,
    times,
)

FILL = 0.93  # share of the frame that an object takes at most, over all yaws and the elevations below
STEEPEST = math.radians(35.0)  # the camera's greatest elevation in any preset


@dataclass(frozen=True)
class _Arc:
    """A tube before scaling: its local axes, the centre of its circle and its sizes."""

    axes: Frame
    centre: Vector
    circle: float
    half_angle: float
    root: float
    end: float
    tip: float
    flatness: float

    def at(self, fraction: float) -> tuple[Vector, float]:
        """Point and radius at `fraction` of the arc, 0 root, 1 tip."""
        angle = self.half_angle * (2.0 * fraction - 1.0)
        u, v, _ = self.axes
        point = add(self.centre, times(u, self.circle * math.sin(angle)), times(v, self.circle * math.cos(angle)))
        return point, self.root + (self.end - self.root) * fraction


class _Placer:
    """Moves parts from body units to the scene: subtract `centre`, multiply by `scale`, round."""

    def __init__(self, balls: list[tuple[Vector, float]]) -> None:
        x, y, z = ((min(p[i] - r for p, r in balls) + max(p[i] + r for p, r in balls)) / 2 for i in range(3))
        self.centre = x, y, z
        near = [(add(p, times(self.centre, -1.0)), r) for p, r in balls]
        self.scale = FILL / max(_extent(p, r) for p, r in near)
        self.radius = self.scale * max(norm(p) + r for p, r in near)

    def point(self, p: Vector) -> Vector:
        return rounded(times(add(p, times(self.centre, -1.0)), self.scale))

    def length(self, value: float) -> float:
        return quantised(value * self.scale)

    def blob(self, blob: Blob, moved: bool = True) -> Blob:
        centre = self.point(blob.centre) if moved else rounded(times(blob.centre, self.scale))
        frame = blob.frame and (rounded(blob.frame[0]), rounded(blob.frame[1]), rounded(blob.frame[2]))
        return Blob(centre, rounded(times(blob.inverse, 1.0 / self.scale)), blob.norm, frame)

    def ring(self, ring: Ring) -> Ring:
        return Ring(self.point(ring.centre), self.length(ring.major), self.length(ring.minor))


def build(individual: Individual) -> Scene:
    """The scene of an individual."""
    family, genes = individual.family, individual.genes
    radii = _body_radii(individual)
    body, blend = _body(individual, radii)
    rings = _rings(individual, radii)
    arcs = [_arc(genes, tube, radii, k, family.tube_count, family.tips) for k, tube in enumerate(individual.tubes)]
    crest = _crest(genes, radii) if family.crest else None
    pair = _pair(genes, radii) if family.pair else None
    base = _base(individual, radii)
    balls = [_ball(blob) for blob in body]
    balls += [(ring.centre, ring.major + ring.minor) for ring in rings]
    balls += [arc.at(fraction) for arc in arcs for fraction in (0.25, 0.5, 0.75, 1.0)]
    balls += [(arc.at(1.0)[0], arc.tip) for arc in arcs]
    balls += [_ball(crest)] if crest else []
    balls += _pair_balls(pair) if pair else []
    balls += [_ball(base) if isinstance(base, Blob) else (base.centre, base.major + base.minor)] if base else []
    placer = _Placer(balls)
    return Scene(
        body=tuple(placer.blob(blob) for blob in body),
        body_blend=placer.length(blend),
        rings=tuple(placer.ring(ring) for ring in rings),
        tubes=_tubes(arcs, placer, family.tips),
        crest=placer.blob(crest) if crest else None,
        pair=Pair(
            placer.point(pair.origin), quantised(pair.cosine), quantised(pair.sine), placer.blob(pair.blob, False)
        )
        if pair
        else None,
        base=(placer.blob(base) if isinstance(base, Blob) else placer.ring(base)) if base else None,
        base_slot=family.base_slot,
        blend=placer.length(genes["blend"]),
        radius=quantised(placer.radius + 0.1),  # more for fillets, and for arcs between the sampled balls
    )


def _body_radii(individual: Individual) -> Vector:
    genes = individual.genes
    width, height, depth = genes["body_width"], genes["body_height"], genes["body_depth"]
    if individual.family.plan == "ringed":
        return width, height, width  # rings are round
    if individual.family.plan == "two_lobed":
        return width, 0.72 * height, depth
    return width, height, depth


def _body(individual: Individual, radii: Vector) -> tuple[list[Blob], float]:
    family, genes = individual.family, individual.genes
    rx, ry, rz = radii
    if family.plan == "two_lobed":
        ratio = genes["lobe_ratio"]
        lift, shift = genes["lobe_lift"] * ry * (1.0 + ratio), genes["lobe_shift"] * rx
        upper = Blob((shift, lift, 0.0), inverse((ratio * rx, ratio * ry, ratio * rz)))
        return [Blob((0.0, 0.0, 0.0), inverse(radii)), upper], 0.25 * ry
    if family.plan == "superquadric":
        return [Blob((0.0, 0.0, 0.0), inverse(radii), "box" if family.square else "puck")], 0.1
    if family.plan == "ringed":
        return [Blob((0.0, 0.0, 0.0), inverse((0.9 * rx, ry, 0.9 * rz)))], 0.1
    return [Blob((0.0, 0.0, 0.0), inverse(radii))], 0.1


def _rings(individual: Individual, radii: Vector) -> list[Ring]:
    family = individual.family
    if family.plan != "ringed":
        return []
    rings = []
    for k in range(family.ring_count):
        height = 1.3 * (k + 0.5) / family.ring_count - 0.65  # fraction of the body's half height
        major = 0.9 * radii[0] * math.sqrt(1.0 - height * height)
        rings.append(Ring((0.0, height * radii[1], 0.0), major, individual.genes["ring_radius"]))
    return rings


def _arc(
    genes: Mapping[str, float], tube: Mapping[str, float], radii: Vector, index: int, count: int, tips: bool
) -> _Arc:
    azimuth = genes["tube_start"] + tube["azimuth"] + 2.0 * math.pi * index / count
    start = times(_on_body(radii, azimuth, tube["latitude"]), 0.8)
    outward = (math.sin(azimuth), 0.0, math.cos(azimuth))
    side = (outward[2], 0.0, -outward[0])
    up = (0.0, 1.0, 0.0)
    cosine, sine = math.cos(tube["pitch"]), math.sin(tube["pitch"])
    forward = add(times(outward, cosine), times(up, sine))
    lifted = add(times(outward, -sine), times(up, cosine))
    towards = add(times(lifted, math.cos(tube["roll"])), times(side, math.sin(tube["roll"])))
    half = tube["bend"] / 2.0
    circle = tube["length"] / tube["bend"]
    u = add(times(forward, math.cos(half)), times(towards, math.sin(half)))
    v = add(times(forward, math.sin(half)), times(towards, -math.cos(half)))
    end = tube["root"] * min(tube["taper"], 1.0)
    tip = end * tube["tip"] if tips else 0.0
    centre = add(start, times(towards, circle))
    return _Arc((u, v, cross(u, v)), centre, circle, half, tube["root"], end, tip, max(1.0, tube["tip_flatness"]))


def _tubes(arcs: list[_Arc], placer: _Placer, tips: bool) -> Tubes:
    def column(values: list[float]) -> Array:
        return np.array([[quantised(value)] for value in values], dtype=np.float32)

    s = placer.scale
    centres = [placer.point(arc.centre) for arc in arcs]
    rows = []
    for axis in range(3):
        towards = [rounded(arc.axes[axis]) for arc in arcs]
        offset = column([-dot(d, c) for d, c in zip(towards, centres, strict=True)])
        rows.append(
            (column([d[0] for d in towards]), column([d[1] for d in towards]), column([d[2] for d in towards]), offset)
        )
    half_chords = [s * arc.circle * math.sin(arc.half_angle) for arc in arcs]
    return Tubes(
        rows=rows,
        circle=column([s * arc.circle for arc in arcs]),
        half_chord=column(half_chords),
        height=column([s * arc.circle * math.cos(arc.half_angle) for arc in arcs]),
        cosine=column([math.cos(arc.half_angle) for arc in arcs]),
        sine=column([math.sin(arc.half_angle) for arc in arcs]),
        per_chord=column([0.5 / half for half in half_chords]),
        root=column([s * arc.root for arc in arcs]),
        growth=column([s * (arc.end - arc.root) for arc in arcs]),
        tip_radius=column([s * arc.tip for arc in arcs]),
        tip_flatness=column([arc.flatness for arc in arcs]),
        tips=tips,
    )


def _crest(genes: Mapping[str, float], radii: Vector) -> Blob:
    azimuth, latitude = genes["crest_azimuth"], genes["crest_latitude"]
    normal = direction(azimuth, latitude)
    east = (math.cos(azimuth), 0.0, -math.sin(azimuth))
    north = cross(normal, east)
    turn = genes["crest_turn"]
    long = add(times(east, math.cos(turn)), times(north, math.sin(turn)))
    size = (genes["crest_length"], genes["crest_height"], genes["crest_thickness"])
    return Blob(_on_body(radii, azimuth, latitude), inverse(size), "ellipsoid", (long, normal, cross(long, normal)))


def _pair(genes: Mapping[str, float], radii: Vector) -> Pair:
    spread, latitude, tilt = genes["pair_spread"], genes["pair_latitude"], genes["pair_tilt"]
    size = genes["pair_size"]
    outward = direction(1.3 * spread, latitude + tilt)
    right = (outward[2] / math.hypot(outward[0], outward[2]), 0.0, -outward[0] / math.hypot(outward[0], outward[2]))
    reach = size * (max(1.0, genes["pair_stretch"]) - 0.8)
    centre = add(_on_body(radii, spread, latitude), times(outward, reach))
    blob = Blob(
        centre,
        inverse((size, size, size * genes["pair_stretch"])),
        "ellipsoid",
        (right, cross(outward, right), outward),
    )
    return Pair((0.0, 0.0, 0.0), math.cos(genes["pair_azimuth"]), math.sin(genes["pair_azimuth"]), blob)


def _base(individual: Individual, radii: Vector) -> Blob | Ring | None:
    family, genes = individual.family, individual.genes
    width, height = genes["base_width"] * max(radii[0], radii[2]), genes["base_height"]
    if family.base == "puck":
        return Blob((0.0, -radii[1], 0.0), inverse((width, height, width)), "puck")
    if family.base == "dome":
        return Blob((0.0, -radii[1], 0.0), inverse((0.9 * width, 1.8 * height, 0.9 * width)))
    if family.base == "ring":
        minor = 0.22 * width
        # Around the body where its radius is 0.53 of the greatest, so that the ring touches it all round.
        return Ring((0.0, -0.85 * radii[1], 0.0), 0.53 * min(radii[0], radii[2]) + 0.5 * minor, minor)
    return None


def _extent(p: Vector, radius: float) -> float:
    """How far a ball reaches on the picture, in half frames, when the object is turned and the camera raised."""
    out, up = math.hypot(p[0], p[2]), abs(p[1])
    wide = (out + radius) / ASPECT
    high = max(up, up * math.cos(STEEPEST) + out * math.sin(STEEPEST)) + radius
    return max(wide, high)


def _pair_balls(pair: Pair) -> list[tuple[Vector, float]]:
    (x, y, z), size = _ball(pair.blob)
    c, s = pair.cosine, pair.sine
    return [((c * across + s * z, y, c * z - s * across), size) for across in (x, -x)]


def _ball(blob: Blob) -> tuple[Vector, float]:
    return blob.centre, 1.0 / min(blob.inverse)


def _on_body(radii: Vector, azimuth: float, latitude: float) -> Vector:
    x, y, z = direction(azimuth, latitude)
    return radii[0] * x, radii[1] * y, radii[2] * z
