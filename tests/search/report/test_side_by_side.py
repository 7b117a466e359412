from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page
from scipy import stats

from search.report import analyse, read_tables
from search.report.comparable import configuration_differences, obstacles
from search.report.figures import found
from search.report.record import SearchRecord
from search.report.side_by_side import SideBySide, side_by_side
from search.report.side_by_side_page import drawings, render, write_side_by_side

WriteTables = Callable[..., Path]
OpenPage = Callable[..., tuple[Page, list[str]]]
CONFIG: dict[str, Any] = {
    "data": {"height": 48, "width": 64},
    "metrics": {"hms": {"stimuli": "stimuli92", "mapping": "stretch"}, "matching": {"gallery": 50, "mode": "clean"}},
}


@pytest.fixture
def compare(write_tables: WriteTables) -> Callable[..., SideBySide]:
    """A function that invents searches, by name and options, and compares them."""

    def compared(**searches: dict[str, Any]) -> SideBySide:
        options = {"artifacts": 0, "trials": 12}
        return side_by_side(
            [analyse(read_tables(write_tables(name, **(options | own)))) for name, own in searches.items()]
        )

    return compared


def record(**changes: Any) -> SearchRecord:
    facts: dict[str, Any] = {
        "name": "a", "config": CONFIG, "mse_windows_digest": "d4", "data": {"fingerprint": "c3", "name": "demo"},
        "materials": {"digests": {"objects": "e5"}},
    }  # fmt: skip
    return SearchRecord(**(facts | changes))


@pytest.mark.parametrize(
    ("changes", "metric", "reason"),
    [
        ({}, "mse", None),
        ({}, "hms", None),
        ({}, "accuracy", None),
        ({"data": {"fingerprint": "99", "name": "vlog"}}, "mse", "other video: demo and vlog"),
        ({"data": {"fingerprint": "99", "name": "demo"}}, "mse", "other video: demo and demo, prepared differently"),
        ({"data": {"fingerprint": "99", "name": "vlog"}}, "hms", None),
        ({"mse_windows_digest": "e5"}, "mse", "other windows of the same video"),
        ({"mse_windows_digest": None}, "mse", "`a` did not record on which windows its MSE was measured"),
        ({"config": CONFIG | {"data": {"height": 64, "width": 80}}}, "hms", "frames of 48 × 64 and 64 × 80 pixels"),
        (
            {"config": CONFIG | {"metrics": {"hms": {"stimuli": "faces", "mapping": "stretch"}}}},
            "hms",
            "other stimuli: stimuli92 and faces",
        ),
        (
            {"config": CONFIG | {"metrics": {"matching": {"gallery": 20, "mode": "clean"}}}},
            "accuracy",
            "other matching gallery: 50 and 20",
        ),
        ({"materials": {"digests": {"objects": "77"}}}, "accuracy", "other object images"),
        (
            {"materials": {"digests": {"objects": "e5", "reference monkey": "1"}}},
            "hms_monkey",
            "other reference monkey",
        ),
        (
            {"materials": {"digests": {"objects": "e5", "metric drift": "pkg 2"}}},
            "drift",
            "other package of the metric",
        ),
        ({"imported": {"from": "x"}}, "hms", "`a` was imported: how its numbers were measured is not recorded"),
    ],
)
def test_what_is_not_comparable(changes: dict[str, Any], metric: str, reason: str | None) -> None:
    assert obstacles(record(), record(**changes), metric) == ([reason] if reason else [])


def test_settings_that_differ_are_found_at_any_depth() -> None:
    other = {
        "data": {"height": 48, "width": 64},
        "metrics": {"hms": {"stimuli": "faces", "mapping": "stretch"}},
        "space": {"learning_rate": {"kind": "log_uniform", "low": 0.001, "high": 0.01}},
        "search": {"name": "b"},
    }
    assert configuration_differences([record(), record(config=other)]) == [
        ("metrics.hms.stimuli", ["stimuli92", "faces"]),
        ("metrics.matching.gallery", ["50", "–"]),
        ("metrics.matching.mode", ["clean", "–"]),
        ("space.learning_rate", ["–", "log_uniform 0.001, 0.01"]),
    ]


def test_differences_are_those_of_the_networks_in_table_1(compare: Callable[..., SideBySide]) -> None:
    compared = compare(one={"trials": 20, "collapsed": 2}, two={"trials": 15, "seed": 5})
    row = compared.differences.set_index("metric").loc["hms"]
    values = [a.defined.rows.frame["hms"] for a in compared.analyses.values()]
    assert (row["n_first"], row["n_second"]) == (18, 15)
    assert row["difference"] == np.median(values[1]) - np.median(values[0])
    oracle = stats.mannwhitneyu(values[1], values[0], alternative="two-sided")
    assert row["p"] == oracle.pvalue
    assert row["p_bonferroni"] == min(1.0, 3 * oracle.pvalue)  # three metrics, one pair of searches
    assert compared.paired.empty  # other seeds: other points


def test_a_search_that_discards_has_no_test_and_other_data_no_difference(compare: Callable[..., SideBySide]) -> None:
    compared = compare(one={}, two={"record": {"algorithm": "tpe", "data": {"fingerprint": "99", "name": "vlog"}}})
    rows = compared.differences.set_index("metric")
    assert rows["p"].isna().all()
    assert rows.loc["hms", "reason"].endswith("`two` is an adaptive or truncated sample: no test")
    assert np.isfinite(rows.loc["hms", "cliffs_delta"])
    assert rows.loc["mse", "reason"] == "not comparable: other video: demo and vlog"
    assert np.isnan(rows.loc["mse", "difference"])
    page = render(compared, [])
    assert "MSE of one and two cannot be compared: other video: demo and vlog." in page


def test_the_same_trials_are_paired(compare: Callable[..., SideBySide], write_tables: WriteTables) -> None:
    one, two, again = (write_tables(name, trials=14, collapsed=2, artifacts=0) for name in ("one", "two", "again"))
    trials = pd.read_csv(two / "trials.csv")
    trials["hms"] += 0.01 * (trials["tid"] % 3)
    trials.loc[5, "param.batch_size"] = 1 + trials.loc[5, "param.batch_size"]
    trials.to_csv(two / "trials.csv", index=False)
    compared = side_by_side([analyse(read_tables(folder)) for folder in (one, two, again)])
    paired = compared.paired.set_index(["metric", "first", "second"])
    tested = compared.differences.set_index(["metric", "first", "second"]).loc[("hms", "one", "two")]
    assert np.isnan(tested["p"]) and "the same points in both" in tested["reason"]
    row = paired.loc[("hms", "one", "two")]
    assert row["pairs"] == 11  # of 14: two collapsed, one was changed
    shifts = [0.01 * (tid % 3) for tid in range(2, 14) if tid != 5]
    assert row["median_difference"] == pytest.approx(np.median(shifts))
    assert tuple(paired.loc[("hms", "one", "again")][["median_difference", "spearman", "place_in_second"]]) == (0, 1, 1)


def test_searches_of_one_name_are_told_apart(write_tables: WriteTables, tmp_path: Path) -> None:
    folders = [write_tables("a", trials=6, artifacts=0), write_tables("b", trials=6, artifacts=0, record={"name": "a"})]
    compared = side_by_side([analyse(read_tables(folder)) for folder in folders])
    assert list(compared.analyses) == ["a (1)", "a (2)"]


def test_unfinished_and_empty_searches_have_a_page(compare: Callable[..., SideBySide], tmp_path: Path) -> None:
    compared = compare(one={"trials": 0}, two={"trials": 6, "unfinished": 6}, three={"trials": 3})
    page = write_side_by_side(compared, tmp_path / "out")
    assert "one, two, three" in page.read_text()
    assert len(pd.read_csv(page.parent / "tables" / "differences.csv")) == len(compared.differences)


def test_best_so_far_against_hours(write_tables: WriteTables) -> None:
    folder = write_tables("one", trials=4, artifacts=0)
    trials = pd.read_csv(folder / "trials.csv")
    trials["hms"], trials["seconds"] = [0.1, 0.3, np.nan, 0.2], [3600, 1800, 7200, 3600]
    trials["end_time"] = [
        "2024-01-01T04:00:00Z",
        "2024-01-01T01:00:00",
        "2024-01-01T02:00:00Z",
        "2024-01-01T03:00:00.5Z",
    ]
    trials.to_csv(folder / "trials.csv", index=False)
    tables = read_tables(folder)
    drawn = found.prepare({"one": tables}, tables.metrics["hms"])
    assert drawn is not None
    assert list(drawn.runs["one"]["hours"]) == [0.5, 2.5, 3.5, 4.5]  # trials 1, 2, 3, 0
    assert list(drawn.runs["one"]["best"]) == [0.3, 0.3, 0.3, 0.3]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_page_opens_whole(
    compare: Callable[..., SideBySide], open_page: OpenPage, tmp_path: Path, width: int, scheme: str
) -> None:
    compared = compare(one={}, two={"seed": 4}, three={"seed": 5, "record": {"algorithm": "tpe"}})
    file = tmp_path / "report.html"
    file.write_text(render(compared, drawings(compared)), encoding="utf-8")
    page, complaints = open_page(file, width, scheme)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".plot svg.main-svg").count() >= 2
    assert page.locator("table:not(:has(caption))").count() == 0
