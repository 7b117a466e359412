"""Images of one's own, in a folder that is called otherwise on every machine, are compared by what they are."""

from typing import Any

from search.report.comparable import obstacles
from search.report.record import SearchRecord


def record(digest: str, **matching: Any) -> SearchRecord:
    return SearchRecord("s", config={"metrics": {"matching": matching}}, materials={"digests": {"objects": digest}})


def test_where_the_folder_lies_and_settings_of_generated_objects_mean_nothing() -> None:
    ours = record("e5", folder="/home/a/cups", gallery=20, preset="mix_l", objects=100, views=12, dials={})
    theirs = record("e5", folder="/data/cups", gallery=20, preset="mix_m", objects=9, views=3, dials={"yaw": 40.0})
    assert obstacles(ours, theirs, "accuracy") == []
    assert obstacles(ours, record("77", folder="/home/a/cups", gallery=20), "accuracy") == ["other object images"]
    other = record("e5", folder="/home/a/cups", gallery=10)
    assert obstacles(ours, other, "accuracy") == ["other matching gallery: 20 and 10"]


def test_they_do_mean_something_where_either_search_has_generated_objects() -> None:
    ours = record("e5", folder=None, preset="mix_l")
    assert obstacles(ours, record("e5", folder=None, preset="mix_m"), "accuracy") == [
        "other matching preset: mix_l and mix_m"
    ]
    assert "other object images" in obstacles(ours, record("77", folder="/data/cups", preset="mix_l"), "accuracy")
