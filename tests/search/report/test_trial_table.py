"""The table of all trials in a browser: sorting, filtering, paging, columns."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from search.report import analyse, read_tables
from search.report.page import render

WriteTables = Callable[..., Path]
OpenPage = Callable[..., tuple[Page, list[str]]]

pytestmark = pytest.mark.browser


@pytest.fixture
def table(write_tables: WriteTables, open_page: OpenPage, tmp_path: Path) -> Callable[..., Page]:
    """A function that opens the page of an invented search, without its figures."""

    def opened(width: int = 1280, **options: int) -> Page:
        file = tmp_path / "report.html"
        file.write_text(render(analyse(read_tables(write_tables(**options))), []), encoding="utf-8")
        page, complaints = open_page(file, width)
        assert complaints == []
        return page

    return opened


def cells(page: Page, column: int) -> list[str]:
    read = "(rows, column) => rows.map(row => row.cells[column].textContent)"
    found: list[str] = page.eval_on_selector_all("#trial-table tbody tr", read, column)
    return found


def test_sorting_keeps_missing_values_last(table: Callable[..., Page]) -> None:
    page = table(trials=12, collapsed=2, unfinished=1)
    button = page.get_by_role("button", name="HMS", exact=True)
    for direction in ("ascending", "descending"):
        button.click()
        shown = cells(page, 2)
        assert shown[-3:] == ["collapsed", "collapsed", "–"]
        values = [float(text) for text in shown[:-3]]
        assert values == sorted(values, reverse=direction == "descending")
        assert page.locator(f"#trial-table th[aria-sort={direction}]").inner_text() == "HMS"


def test_the_keyboard_sorts(table: Callable[..., Page]) -> None:
    page = table(trials=12)
    page.locator("#trial-state").focus()
    while page.evaluate("document.activeElement.textContent") != "HMS":
        page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    values = [float(text) for text in cells(page, 2)]
    assert values == sorted(values)
    assert page.evaluate("document.activeElement.textContent") == "HMS"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("collapsed", lambda row: row["finish"] == "collapsed"),
        ("state = error", lambda row: row["state"] == "ERROR"),
        ("State=error", lambda row: row["state"] == "ERROR"),
        ("hms > 0.12", lambda row: row["hms"] > 0.12),
        ("hms > 0.09 batch size <= 4", lambda row: row["hms"] > 0.09 and row["param.batch_size"] <= 4),
        ("learning rate = 1e-3", lambda row: row["param.learning_rate"] == 1e-3),
        ("trial != 3", lambda row: row["tid"] != 3),
        ("Lall cpu hms>0.09", lambda row: row["param.loss"] == "Lall" and row["hms"] > 0.09),
    ],
)
def test_a_filter_keeps_the_rows_that_it_describes(
    table: Callable[..., Page], write_tables: WriteTables, query: str, kept: Callable[..., bool]
) -> None:
    options = {"trials": 30, "collapsed": 2, "failed": 2, "unfinished": 1}
    page = table(**options)
    trials = read_tables(write_tables("again", **options)).trials
    page.locator("#trial-filter").fill(query)
    expected = [str(row["tid"]) for row in trials.to_dict("records") if kept(row)]
    assert 0 < len(expected) < 30
    assert cells(page, 0) == expected
    assert f"{len(expected)} that match, 30 in all" in page.locator("#trial-count").inner_text()


def test_an_unknown_column_is_named(table: Callable[..., Page]) -> None:
    page = table(trials=4)
    page.locator("#trial-filter").fill("hsm > 0.1")
    assert page.locator("#trial-unknown").inner_text() == "No column is named “hsm”."
    assert page.locator("#trial-filter").get_attribute("aria-invalid") == "true"
    page.locator("#trial-filter").fill("nothing such")
    assert page.locator("#trial-count").inner_text() == "No trial matches; 4 in all"
    assert page.locator("#trial-filter").get_attribute("aria-invalid") == "false"


def test_states_pages_and_columns_can_be_chosen(table: Callable[..., Page]) -> None:
    page = table(width=390, trials=230, epochs=40, collapsed=3, artifacts=0)
    assert len(cells(page, 0)) == 100
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert cells(page, 0) == [str(tid) for tid in range(200, 230)]
    assert page.get_by_role("button", name="Next").is_disabled()
    assert page.locator("#trial-count").inner_text() == "Trials 201 to 230 of 230"
    page.locator("#trial-state").select_option("collapsed")
    assert cells(page, 0) == ["0", "1", "2"]
    assert not page.locator("#trial-pages").is_visible()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("HMS", exact=True).uncheck()
    titles = page.locator("#trial-table thead th:visible").all_inner_texts()
    assert "HMS" not in titles
    assert len(titles) == page.locator("#trial-table tbody tr").first.locator("th, td").count()
