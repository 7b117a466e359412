"""Views of an object: which of pose, light and hue differ from the canonical view, and by how much.

Each kind of view moves its own dials: rotation = yaw and elevation; light = its azimuth, elevation and intensity;
hue = hue; mixed = all of them. A dial is uniform on +- the width that the preset has for that kind.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from metrics.errors import StimuliError
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


Preset = Mapping[str, Dials]  # kind of view -> widths of the dials that it moves

MOVED: Mapping[str, tuple[str, ...]] = {
    CANONICAL: (),
    "rotation": ("yaw", "elevation"),
    "light": ("light_azimuth", "light_elevation", "light_intensity"),
    "hue": ("hue",),
    MIXED: tuple(field.name for field in fields(Dials)),
}
# Calibrated by scripts/studies/gazoobian_calibration.py; docs/gazoobian.md has the table. Light and hue alone leave the
# silhouette as it is and would be nearly free at the widths that are hard where everything moves.
PRESETS: Mapping[str, Preset] = {
    "mix_m": {
        "rotation": Dials(yaw=45.0, elevation=10.0),
        "light": Dials(light_azimuth=120.0, light_elevation=30.0, light_intensity=0.35),
        "hue": Dials(hue=0.35),
        MIXED: Dials(45.0, 10.0, 90.0, 30.0, 0.35, 0.15),
    },
    "mix_l": {
        "rotation": Dials(yaw=90.0, elevation=15.0),
        "light": Dials(light_azimuth=180.0, light_elevation=45.0, light_intensity=0.50),
        "hue": Dials(hue=0.50),
        MIXED: Dials(90.0, 15.0, 90.0, 30.0, 0.35, 0.25),
    },
}
GREATEST = Dials(180.0, 15.0, 180.0, 50.0, 1.0, 0.5)  # the camera would stand too steep, a light below the ground


def turned(preset: Preset, dials: Mapping[str, float]) -> Preset:
    """The preset with other widths: `{"yaw": 40}` for every kind that moves yaw, `{"mixed.yaw": 40}` for one of them.

    What names a kind comes after what names all. Raises `StimuliError` for an unknown dial and a width out of range.
    """
    widths = dict(preset)
    for name in sorted(dials, key=lambda name: ("." in name, name)):
        kind, _, dial = name.rpartition(".")
        kinds = [moving for moving in widths if dial in MOVED[moving] and kind in ("", moving)]
        if not kinds:
            moved = "; ".join(f"{moving}: {', '.join(MOVED[moving])}" for moving in PURE)
            raise StimuliError(
                f"No kind of view moves a dial {name!r}. Dials ({moved}; mixed: all) stand alone, such as yaw, for all "
                "kinds that move them, or with a kind before them, such as mixed.yaw."
            )
        most = getattr(GREATEST, dial)
        if not 0.0 <= dials[name] <= most:
            raise StimuliError(f"The dial {name} is {dials[name]:g}; give a width from 0 to {most:g}.")
        for moving in kinds:
            widths[moving] = replace(widths[moving], **{dial: float(dials[name])})
    return widths


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


def draw_dials(preset: Preset, object_seed: int, view: str) -> Dials:
    """The dials of one view of one object."""
    rng = random.Random(seed_of("view", object_seed, view))
    kind = kind_of(view) or CANONICAL
    return Dials(**{name: getattr(preset[kind], name) * (2.0 * rng.random() - 1.0) for name in MOVED[kind]})
