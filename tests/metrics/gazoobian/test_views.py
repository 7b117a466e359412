from collections import Counter
from dataclasses import asdict

import pytest

from metrics.errors import StimuliError
from metrics.gazoobian.views import GREATEST, MOVED, PRESETS, Dials, draw_dials, kind_of, turned, view_names


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
    for view in ("canonical", "rotation_1", "light_2", "hue_3", "mixed_1"):
        kind = kind_of(view) or ""
        drawn = [asdict(draw_dials(PRESETS[preset], seed, view)) for seed in range(200)]
        for name in asdict(Dials()):
            values = [dials[name] for dials in drawn]
            if name in MOVED[kind]:
                most = getattr(PRESETS[preset][kind], name)
                assert -most <= min(values) < -0.9 * most and 0.9 * most < max(values) <= most
            else:
                assert set(values) == {0.0}


@pytest.mark.parametrize("preset", ["mix_m", "mix_l"])
def test_presets_stay_within_the_dials_and_turn_only_what_their_kinds_move(preset: str) -> None:
    assert set(PRESETS[preset]) == {"rotation", "light", "hue", "mixed"}
    for kind, widths in PRESETS[preset].items():
        for name, width in asdict(widths).items():
            assert (width > 0) == (name in MOVED[kind]) and width <= getattr(GREATEST, name)


def test_turned_dials_go_to_all_kinds_that_move_them_or_to_one() -> None:
    preset = PRESETS["mix_l"]
    found = turned(preset, {"mixed.yaw": 10, "yaw": 40, "light.light_intensity": 0.1})
    assert (found["rotation"].yaw, found["mixed"].yaw, found["light"].yaw) == (40, 10, 0)
    assert found["light"].light_intensity == 0.1
    assert found["mixed"].light_intensity == preset["mixed"].light_intensity and found["hue"] == preset["hue"]
    assert turned(preset, {}) == preset and preset["rotation"].yaw != 40
    assert draw_dials(found, 3, "rotation_1").yaw == pytest.approx(
        draw_dials(preset, 3, "rotation_1").yaw * 40 / preset["rotation"].yaw
    )


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"yawn": 3}, "No kind of view moves a dial 'yawn'.*rotation: yaw, elevation; light: light_azimuth"),
        ({"light.yaw": 3}, r"'light\.yaw'"),
        ({"mixed.": 3}, r"'mixed\.'"),
        ({"elevation": 16}, "elevation is 16; give a width from 0 to 15"),
        ({"hue": -0.1}, r"hue is -0\.1"),
        ({"yaw": float("nan")}, "yaw is nan"),
    ],
)
def test_dials_that_cannot_be_turned(dials: dict[str, float], message: str) -> None:
    with pytest.raises(StimuliError, match=message):
        turned(PRESETS["mix_m"], dials)


def test_dials_depend_on_object_and_view_alone() -> None:
    assert draw_dials(PRESETS["mix_l"], 3, "mixed_1") == draw_dials(PRESETS["mix_l"], 3, "mixed_1")
    assert draw_dials(PRESETS["mix_l"], 3, "mixed_1") != draw_dials(PRESETS["mix_l"], 3, "mixed_2")
    assert draw_dials(PRESETS["mix_l"], 3, "canonical") == Dials()
