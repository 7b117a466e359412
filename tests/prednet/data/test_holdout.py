from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prednet.data.holdout import SAME_RECORDING, hold_out
from prednet.data.sources import Plan
from prednet.errors import DataError


@dataclass(frozen=True)
class Span:
    """A recording that is only its position in a drive."""

    group: str
    start: int
    stop: int
    category: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        return f"{self.group}:{self.start}-{self.stop}"

    def __len__(self) -> int:
        return self.stop - self.start

    def part(self, start: int, stop: int) -> "Span":
        return replace(self, start=self.start + start, stop=self.start + stop)


def plan(spans: list[Span], roles: dict[str, str] | None = None, rate: float = 10.0) -> Plan:
    return hold_out(spans, roles or {}, label="official", frame_rate=rate, min_frames=10, source="SRC")


def names(result: Plan) -> dict[str, list[str]]:
    return {split: [recording.name for recording in chosen] for split, chosen in result.splits.items()}


def test_official_roles_are_kept_and_labelled() -> None:
    result = plan([Span(g, 0, 20) for g in "abcde"], {"b": "val", "d": "test"})
    assert names(result) == {"train": ["a:0-20", "c:0-20", "e:0-20"], "val": ["b:0-20"], "test": ["d:0-20"]}
    assert result.held_out == "official" and not result.warnings


def test_without_official_drives_whole_recordings_from_the_end_are_held_out() -> None:
    result = plan([Span(g, 0, 20) for g in "abcd"])
    assert names(result) == {"train": ["a:0-20", "b:0-20"], "val": ["c:0-20"], "test": ["d:0-20"]}
    assert result.held_out == "whole recordings by rule"
    assert any(text.startswith("d: held out as test by rule") for text in result.warnings)


def test_thirty_recordings_hold_out_a_tenth_each() -> None:
    result = plan([Span(f"{g:02d}", 0, 20) for g in range(30)])
    assert {split: len(chosen) for split, chosen in result.splits.items()} == {"train": 24, "val": 3, "test": 3}


def test_two_recordings_have_no_test_split() -> None:
    result = plan([Span("a", 0, 20), Span("b", 0, 20)])
    assert names(result) == {"train": ["a:0-20"], "val": ["b:0-20"]}
    assert any("no test split" in text for text in result.warnings)


def test_a_missing_role_is_filled_by_rule_and_said() -> None:
    result = plan([Span(g, 0, 20) for g in "abcd"], {"a": "test"})
    assert names(result) == {"train": ["b:0-20", "c:0-20"], "val": ["d:0-20"], "test": ["a:0-20"]}
    assert result.held_out == "official, rest by rule"


def test_segments_of_one_drive_stay_together() -> None:
    spans = [Span(g, start, start + 20) for g in "abcd" for start in (0, 30)]
    for split, recordings in names(plan(spans)).items():
        assert len(recordings) % 2 == 0, split
    groups = [{r.group for r in chosen} for chosen in plan(spans).splits.values()]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 4


def test_a_single_recording_holds_out_its_last_fifth_after_two_seconds() -> None:
    result = plan([Span("a", 0, 100)])
    assert names(result) == {"train": ["a:0-60"], "val": ["a:80-100"]}
    assert result.held_out == SAME_RECORDING


def test_the_gap_is_two_seconds_at_any_rate() -> None:
    assert names(plan([Span("a", 0, 1000)], rate=29.97)) == {"train": ["a:0-740"], "val": ["a:800-1000"]}


def test_the_last_fifth_of_a_drive_in_segments() -> None:
    result = plan([Span("a", 0, 50), Span("a", 60, 105), Span("a", 200, 225)])  # 120 frames: 76 | gap | 96
    assert names(result) == {"train": ["a:0-50", "a:60-86"], "val": ["a:201-225"]}


def test_a_single_short_recording_is_an_error_with_its_length() -> None:
    with pytest.raises(DataError, match=r"SRC: its only recording has 45 frames"):
        plan([Span("a", 0, 45)])


def test_short_recordings_are_left_out_by_name_and_none_left_is_an_error() -> None:
    result = plan([Span("a", 0, 20), Span("b", 0, 9), Span("c", 0, 20)])
    assert names(result) == {"train": ["a:0-20"], "val": ["c:0-20"]}
    assert "b:0-9: left out, 9 frames are fewer than 10" in result.warnings
    with pytest.raises(DataError, match=r"no recording has 10 frames.*b:0-9"):
        plan([Span("b", 0, 9)])


def test_nothing_to_train_on_names_the_option() -> None:
    with pytest.raises(DataError, match="--held-out rule"):
        plan([Span("a", 0, 20), Span("b", 0, 20)], {"a": "val", "b": "test"})


@given(
    lengths=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=3), min_size=2, max_size=25),
    roles=st.dictionaries(st.integers(0, 24), st.sampled_from(["val", "test"])),
)
def test_no_recording_and_no_drive_lies_on_both_sides_of_a_split(
    lengths: list[list[int]], roles: dict[int, str]
) -> None:
    spans = [Span(f"{g:02d}", 100 * i, 100 * i + n) for g, parts in enumerate(lengths) for i, n in enumerate(parts)]
    usable = {span.group for span in spans if len(span) >= 10}
    held = {f"{group:02d}": split for group, split in roles.items()}
    if len(usable) < 2 or usable <= held.keys():
        return
    result = plan(spans, held)
    groups = {split: {r.group for r in chosen} for split, chosen in result.splits.items()}
    assert set().union(*groups.values()) == usable and sum(map(len, groups.values())) == len(usable)
    assert all(groups[held[group]] >= {group} for group in usable & held.keys())
    whole = {(r.group, r.start, r.stop) for chosen in result.splits.values() for r in chosen}
    assert whole == {(span.group, span.start, span.stop) for span in spans if len(span) >= 10}
