from dataclasses import replace

import numpy as np
import pytest

from metrics.gazoobian.anatomy import build
from metrics.gazoobian.camera import camera_for
from metrics.gazoobian.grammar import PLANS, Individual
from metrics.gazoobian.render import slots_seen
from metrics.gazoobian.screening import LEAST_FILL, draw_members, rejected
from metrics.gazoobian.sdf import Ring
from metrics.gazoobian.views import PRESETS, Dials, draw_dials


@pytest.fixture(scope="module")
def members() -> list[Individual]:
    return [member for number in range(4) for member in draw_members(0, number, 2)]


def test_members_are_whole_and_large_in_every_view(members: list[Individual]) -> None:
    for member in members:
        scene = build(member)
        assert not rejected(scene)
        for view in ("canonical", "rotation_1", "rotation_2", "mixed_1"):
            seen = slots_seen(scene, [camera_for(draw_dials(PRESETS["mix_l"], member.seed, view))], 40, 50)[0] >= 0
            assert not np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]]).any()
            assert seen.mean() > 0.6 * LEAST_FILL
        assert (slots_seen(scene, [camera_for(Dials())], 40, 50) >= 0).mean() >= LEAST_FILL


def test_members_are_repeatable_and_distinct(members: list[Individual]) -> None:
    assert draw_members(0, 1, 1) == members[2:3]
    assert len({member.seed for member in members}) == len(members)
    assert [member.family.plan for member in members[::2]] == list(PLANS)


def test_cut_small_and_featureless_objects_are_rejected(members: list[Individual]) -> None:
    scene = build(members[0])
    big_ring = replace(scene, base=Ring((0.0, 0.0, 0.0), 1.3, 0.1), radius=1.5)
    assert rejected(big_ring).startswith("cut by the frame")
    hidden = replace(scene, crest=None, pair=None, base=None, rings=(), tubes=replace(scene.tubes, tips=False))
    assert rejected(hidden) == "hides its tips, crest, pair and base"
    ball = replace(scene.body[0], inverse=(1.5, 1.5, 1.5))
    thin = replace(scene.tubes, root=scene.tubes.root - 1.0)
    assert rejected(replace(scene, body=(ball,), tubes=thin, base_slot=2)) == "hides its tubes"
    speck = replace(scene, body=(replace(ball, inverse=(8.0, 8.0, 8.0)),), tubes=thin, crest=None, pair=None, base=None)
    assert rejected(speck).startswith("fills 0.0")
