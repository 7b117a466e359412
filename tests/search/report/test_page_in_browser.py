from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from search.report import analyse, read_tables, write_report
from search.report.page import render

WriteTables = Callable[..., Path]
OpenPage = Callable[..., tuple[Page, list[str]]]

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "options", [{"trials": 24, "collapsed": 2, "replicates": 2}, {"trials": 0, "artifacts": 0}], ids=["usual", "empty"]
)
def test_the_page_opens_whole(
    open_page: OpenPage, write_tables: WriteTables, tmp_path: Path, options: dict, width: int, scheme: str
) -> None:
    page, complaints = open_page(write_report(write_tables(**options), tmp_path), width, scheme)
    assert complaints == []
    assert page.title() == "invented · HMS Search report"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    plots = page.query_selector_all(".plot")
    assert len(plots) >= 1
    for plot in plots:
        assert plot.query_selector("svg.main-svg") is not None
        box, drawing = plot.bounding_box(), plot.query_selector("svg.main-svg").bounding_box()
        assert drawing["x"] + drawing["width"] <= box["x"] + box["width"] + 1
    # Text that runs out of a box that does not scroll would be cut.
    cut = page.evaluate(
        """() => [...document.querySelectorAll("p, dd, dt, li, h1, h2, h3, figcaption, .card div")]
             .filter(element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
             .map(element => element.textContent)"""
    )
    assert cut == []
    page.close()


def test_figures_follow_the_colour_scheme(open_page: OpenPage, write_tables: WriteTables, tmp_path: Path) -> None:
    page, _ = open_page(write_report(write_tables(trials=8), tmp_path))
    read = "() => document.querySelector('[data-figure=curves]').layout.font.color"
    assert page.evaluate(read) == "#1F2933"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"({read})() === '#E6EAEE'")
    page.close()


def test_the_age_is_told_and_a_page_reloads_only_when_asked(
    open_page: OpenPage, write_tables: WriteTables, tmp_path: Path
) -> None:
    for name, unfinished in (("runs", 2), ("ended", 0)):
        file = tmp_path / name / "report.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(render(analyse(read_tables(write_tables(name, trials=4, unfinished=unfinished))), []))
        page, complaints = open_page(file)
        told = page.locator(".age").inner_text()
        assert told.startswith("Written 2024-01-01 01:00:00 UTC, ") and " days ago" in told
        assert page.locator("#follow").count() == (1 if unfinished else 0)
        if unfinished:
            page.clock.install()
            page.get_by_role("link", name="Reload every minute").click()
            stop = page.get_by_role("link", name="Reloads every minute: stop")
            stop.wait_for()
            page.evaluate("window.before = true")
            page.clock.run_for(61_000)
            page.wait_for_function("window.before === undefined")
            stop.wait_for()
            stop.click()
            page.get_by_role("link", name="Reload every minute").wait_for()
            page.evaluate("window.before = true")
            page.clock.run_for(200_000)
            assert page.evaluate("window.before") is True
        assert complaints == []
