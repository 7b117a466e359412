"""Views of an object: which of pose, light and hue differ from the canonical view, and by how much.

Each kind of view moves its own dials: rotation = yaw and elevation; light = its azimuth, elevation and intensity;
hue = hue; mixed = all of them. A dial is uniform on +- the preset's width.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields

from metrics.gazoobian.grammar import seed_of

CANONICAL = "canonical"
PURE = ("rotation", "light", "hue")
MIXED = "mixed"


@dataclass(frozen=True)
class Dials:
    """Departures from the canonical view, or in a preset their greatest sizes. Degrees; hue in turns of the circle."""

    yaw: float = 0.0
    elevation: float = 0.0
    light_azimuth: float = 0.0
    light_elevation: float = 0.0
    light_intensity: float = 0.0
    hue: float = 0.0


PRESETS: Mapping[str, Dials] = {
    "mix_m": Dials(30.0, 10.0, 60.0, 20.0, 0.25, 0.12),
    "mix_l": Dials(60.0, 15.0, 90.0, 30.0, 0.35, 0.25),
}
MOVED: Mapping[str, tuple[str, ...]] = {
    CANONICAL: (),
    "rotation": ("yaw", "elevation"),
    "light": ("light_azimuth", "light_elevation", "light_intensity"),
    "hue": ("hue",),
    MIXED: tuple(field.name for field in fields(Dials)),
}


def view_names(count: int) -> tuple[str, ...]:
    """Names of the first `count` views: with 12, one canonical, three of each pure kind and two mixed.

    Small sets keep the kinds in balance: canonical, one of each pure kind, two mixed, then more of each in turn.
    """
    names = [CANONICAL, *(f"{kind}_1" for kind in PURE), f"{MIXED}_1", f"{MIXED}_2"]
    number = 2
    while len(names) < count:
        names += [f"{kind}_{number}" for kind in PURE]
        if number >= 3:
            names.append(f"{MIXED}_{number}")
        number += 1
    return tuple(names[:count])


def kind_of(view: str) -> str | None:
    """`rotation_2` -> `rotation`; None for a name that is not one of ours."""
    kind, _, number = view.partition("_")
    if view == CANONICAL or (kind in (*PURE, MIXED) and number.isdigit()):
        return kind
    return None


def draw_dials(preset: Dials, object_seed: int, view: str) -> Dials:
    """The dials of one view of one object."""
    rng = random.Random(seed_of("view", object_seed, view))
    moved = MOVED[kind_of(view) or CANONICAL]
    values = {name: getattr(preset, name) * (2.0 * rng.random() - 1.0) for name in moved}
    return Dials(**values)
