"""The grammar: which parts an object has and how large they are.

A family fixes the discrete choices (body plan, number of tubes, optional parts) and a value of every gene; an
individual of the family varies each gene by up to 22 %. Lengths are in body units, before the object is scaled to
the frame. Random numbers come from `random.Random(seed).random()` alone, whose stream Python guarantees, so that a
seed means the same object everywhere.
"""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Plan = Literal["ellipsoid", "two_lobed", "superquadric", "ringed"]
Base = Literal["", "puck", "dome", "ring"]

PLANS: tuple[Plan, ...] = ("ellipsoid", "two_lobed", "superquadric", "ringed")
VARIATION = 0.22  # individual: each length times 1 +- 0.22, each angle +- 0.22 rad, each hue +- 0.22 * HUE_SPAN
HUE_SPAN = 0.25  # turns

# Family ranges. Radii and lengths in body units; fractions of another length where the name says ratio or height.
LENGTHS: Mapping[str, tuple[float, float]] = {
    "body_width": (0.38, 0.62),
    "body_height": (0.40, 0.78),
    "body_depth": (0.36, 0.58),
    "lobe_ratio": (0.55, 0.95),
    "lobe_lift": (0.55, 0.75),
    "lobe_shift": (0.10, 0.45),
    "ring_radius": (0.07, 0.13),
    "crest_height": (0.20, 0.42),
    "crest_length": (0.18, 0.42),
    "crest_thickness": (0.05, 0.09),
    "pair_size": (0.09, 0.15),
    "pair_stretch": (0.9, 3.0),
    "base_width": (0.65, 1.15),
    "base_height": (0.08, 0.20),
    "blend": (0.08, 0.18),
}
TUBE_LENGTHS: Mapping[str, tuple[float, float]] = {
    "length": (0.60, 1.10),
    "root": (0.12, 0.22),
    "taper": (0.30, 0.95),
    "tip": (1.35, 2.3),
    "tip_flatness": (1.0, 2.2),
}
# Radians. `tube_height` and the like are latitudes on the body; `roll` turns the plane in which a tube bends.
ANGLES: Mapping[str, tuple[float, float]] = {
    "tube_start": (0.0, 6.2832),
    "crest_azimuth": (-2.2, 2.2),
    "crest_latitude": (0.55, 1.05),
    "crest_turn": (0.0, 3.1416),
    "pair_azimuth": (-0.7, 0.7),
    "pair_spread": (0.35, 0.75),
    "pair_latitude": (0.05, 0.75),
    "pair_tilt": (-0.4, 0.8),
}
TUBE_ANGLES: Mapping[str, tuple[float, float]] = {
    "latitude": (-0.7, 0.7),
    "pitch": (-0.6, 1.0),
    "bend": (0.7, 2.3),
    "roll": (-3.1416, 3.1416),
    "azimuth": (0.0, 0.0),
}


@dataclass(frozen=True)
class Family:
    """Discrete choices and gene values that all members share."""

    plan: Plan
    tube_count: int  # 2-5
    tips: bool
    crest: bool
    pair: bool
    base: Base
    square: bool  # superquadric: square rather than round seen from above
    ring_count: int  # 2-4, plan `ringed`
    base_slot: int  # colour slot of the base: 1 limbs or 2 accents
    genes: Mapping[str, float]
    tube: Mapping[str, float]
    colours: tuple[tuple[float, float, float], ...]  # three of (hue in turns, saturation, value)


@dataclass(frozen=True)
class Individual:
    """One object: its family with varied genes; every tube varies on its own."""

    family: Family
    seed: int
    genes: Mapping[str, float]
    tubes: tuple[Mapping[str, float], ...]
    colours: tuple[tuple[float, float, float], ...]


def seed_of(*parts: int | str) -> int:
    """63-bit seed from a path of names and numbers, the same on every machine."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def draw_family(seed: int, number: int, attempt: int = 0) -> Family:
    """Family `number` of the set with `seed`; another `attempt` gives another family of the same body plan.

    Body plans and numbers of tubes go round with `number`, so that a dozen families cover all of them.
    """
    rng = random.Random(seed_of("family", seed, number, attempt))
    genes = {name: _between(rng, low, high) for name, (low, high) in {**LENGTHS, **ANGLES}.items()}
    tube = {name: _between(rng, low, high) for name, (low, high) in {**TUBE_LENGTHS, **TUBE_ANGLES}.items()}
    tips, crest, pair = rng.random() < 0.6, rng.random() < 0.6, rng.random() < 0.65
    if not (crest or pair):  # without either an object looks alike from all sides
        crest, pair = rng.random() < 0.5, True
    bases: tuple[Base, ...] = ("", "puck", "dome", "ring")
    return Family(
        plan=PLANS[number % len(PLANS)],
        tube_count=2 + (number + number // len(PLANS)) % 4,
        tips=tips,
        crest=crest,
        pair=pair,
        base=bases[int(rng.random() * len(bases))],
        square=rng.random() < 0.5,
        ring_count=2 + int(rng.random() * 3),
        base_slot=1 + int(rng.random() * 2),
        genes=genes,
        tube=tube,
        colours=_family_colours(rng),
    )


def draw_individual(family: Family, seed: int) -> Individual:
    """The member of `family` that `seed` names."""
    rng = random.Random(seed)
    genes = {name: _vary(rng, name, value) for name, value in family.genes.items()}
    tubes = tuple(
        {name: _vary(rng, name, value) for name, value in family.tube.items()} for _ in range(family.tube_count)
    )
    colours = tuple(
        (
            (hue + _between(rng, -VARIATION, VARIATION) * HUE_SPAN) % 1.0,
            min(1.0, saturation * (1.0 + _between(rng, -VARIATION, VARIATION))),
            min(1.0, value * (1.0 + _between(rng, -VARIATION, VARIATION))),
        )
        for hue, saturation, value in family.colours
    )
    return Individual(family, seed, genes, tubes, colours)


def _family_colours(rng: random.Random) -> tuple[tuple[float, float, float], ...]:
    first = rng.random()
    hues = (first, first + _between(rng, 0.15, 0.45), first + _between(rng, 0.5, 0.85))
    return tuple((hue % 1.0, _between(rng, 0.40, 0.80), _between(rng, 0.60, 0.90)) for hue in hues)


def _vary(rng: random.Random, name: str, value: float) -> float:
    change = _between(rng, -VARIATION, VARIATION)
    if name in ANGLES or name in TUBE_ANGLES:
        return value + change
    return value * (1.0 + change)


def _between(rng: random.Random, low: float, high: float) -> float:
    return low + (high - low) * rng.random()
