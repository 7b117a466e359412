"""Which objects enter a set: whole in the frame at every pose, large enough, and not all of one part."""

import numpy as np

from metrics.errors import StimuliError
from metrics.gazoobian.anatomy import build
from metrics.gazoobian.camera import camera_for
from metrics.gazoobian.grammar import Individual, draw_family, draw_individual, seed_of
from metrics.gazoobian.render import slots_seen
from metrics.gazoobian.sdf import ACCENT, LIMB, Scene
from metrics.gazoobian.views import MIXED, PRESETS, Dials

HEIGHT, WIDTH = 40, 50  # of the screening picture, whatever the size of the images of the set
WIDEST = PRESETS["mix_l"][MIXED]  # poses for every preset, so that a seed means the same objects in all of them
LEAST_FILL = 0.15  # share of the picture which the canonical view must cover
LEAST_LIMB, LEAST_ACCENT = 0.10, 0.04  # shares of the object's own pixels
LEAST_YIELD = 0.2  # a family of which fewer candidates pass is drawn anew
FAMILY_ATTEMPTS = 50


def draw_members(seed: int, number: int, count: int) -> list[Individual]:
    """The first `count` individuals of family `number` that pass the screening, the same for every image size.

    Raises `StimuliError` when no drawn family yields enough.
    """
    for attempt in range(FAMILY_ATTEMPTS):
        family = draw_family(seed, number, attempt)
        members: list[Individual] = []
        candidate = 0
        while len(members) < count and len(members) >= LEAST_YIELD * (candidate - 8):
            individual = draw_individual(family, seed_of("individual", seed, number, attempt, candidate))
            if not rejected(build(individual)):
                members.append(individual)
            candidate += 1
        if len(members) == count:
            return members
    raise StimuliError(
        f"seed {seed}: none of {FAMILY_ATTEMPTS} draws of family {number} gave {count} objects that pass "
        "the screening. Choose another seed: hms data gazoobian --seed 1"
    )


def rejected(scene: Scene) -> str:
    """Why the object is screened out, or an empty string.

    Poses: canonical and the four extremes of yaw and elevation.
    """
    corners = [Dials(yaw=a * WIDEST.yaw, elevation=b * WIDEST.elevation) for a in (-1, 1) for b in (-1, 1)]
    poses = [Dials(), *corners]
    pictures = slots_seen(scene, [camera_for(pose) for pose in poses], HEIGHT, WIDTH)
    for pose, seen in zip(poses, pictures, strict=True):
        if (np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]]) >= 0).any():
            return f"cut by the frame at yaw {pose.yaw:g}, elevation {pose.elevation:g}"
    seen = pictures[0]
    size = np.count_nonzero(seen >= 0)
    if size < LEAST_FILL * seen.size:
        return f"fills {size / seen.size:.2f} of the frame"
    if np.count_nonzero(seen == LIMB) < LEAST_LIMB * size:
        return "hides its tubes"
    if np.count_nonzero(seen == ACCENT) < LEAST_ACCENT * size:
        return "hides its tips, crest, pair and base"
    return ""
