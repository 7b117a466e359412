from collections import Counter
from dataclasses import asdict

import pytest

from metrics.gazoobian.views import MOVED, PRESETS, Dials, draw_dials, kind_of, view_names


def test_twelve_views_are_the_protocols() -> None:
    assert Counter(kind_of(view) for view in view_names(12)) == {
        "canonical": 1,
        "rotation": 3,
        "light": 3,
        "hue": 3,
        "mixed": 2,
    }


@pytest.mark.parametrize("count", [2, 5, 12, 25])
def test_smaller_sets_are_beginnings_of_larger_ones(count: int) -> None:
    assert view_names(40)[:count] == view_names(count)
    assert len(set(view_names(count))) == count and view_names(count)[0] == "canonical"


@pytest.mark.parametrize("name", ["left", "canonical_1", "rotation", "rotation_x", "hue_", ""])
def test_other_names_have_no_kind(name: str) -> None:
    assert kind_of(name) is None


@pytest.mark.parametrize("preset", ["mix_m", "mix_l"])
def test_each_kind_moves_its_own_dials_over_the_whole_width(preset: str) -> None:
    width = asdict(PRESETS[preset])
    for view in ("canonical", "rotation_1", "light_2", "hue_3", "mixed_1"):
        drawn = [asdict(draw_dials(PRESETS[preset], seed, view)) for seed in range(200)]
        for name, most in width.items():
            values = [dials[name] for dials in drawn]
            if name in MOVED[kind_of(view) or ""]:
                assert -most <= min(values) < -0.9 * most and 0.9 * most < max(values) <= most
            else:
                assert set(values) == {0.0}


def test_dials_depend_on_object_and_view_alone() -> None:
    assert draw_dials(PRESETS["mix_l"], 3, "mixed_1") == draw_dials(PRESETS["mix_l"], 3, "mixed_1")
    assert draw_dials(PRESETS["mix_l"], 3, "mixed_1") != draw_dials(PRESETS["mix_l"], 3, "mixed_2")
    assert draw_dials(PRESETS["mix_l"], 3, "canonical") == Dials()
