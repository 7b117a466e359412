import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from search.report import write_report

WriteTables = Callable[..., Path]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    # Chromium's sandbox refuses to run as root, as in a container.
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()


def opened(browser: Browser, path: Path, width: int, scheme: str) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    return page, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "options", [{"trials": 24, "collapsed": 2, "replicates": 2}, {"trials": 0, "artifacts": 0}], ids=["usual", "empty"]
)
def test_the_page_opens_whole(
    browser: Browser, write_tables: WriteTables, tmp_path: Path, options: dict, width: int, scheme: str
) -> None:
    page, complaints = opened(browser, write_report(write_tables(**options), tmp_path), width, scheme)
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


def test_trials_sort_by_a_column_and_keep_missing_values_last(
    browser: Browser, write_tables: WriteTables, tmp_path: Path
) -> None:
    page, _ = opened(browser, write_report(write_tables(trials=12, collapsed=2), tmp_path), 1280, "light")
    button = page.get_by_role("button", name="HMS", exact=True)
    for direction in ("ascending", "descending"):
        button.click()
        keys = page.eval_on_selector_all(".sortable tbody tr", "rows => rows.map(row => row.children[2].dataset.key)")
        assert keys[-2:] == ["", ""]
        values = [float(key) for key in keys[:-2]]
        assert values == sorted(values, reverse=direction == "descending")
        assert page.locator(f"th[aria-sort={direction}]").inner_text() == "HMS"
    page.close()


def test_figures_follow_the_colour_scheme(browser: Browser, write_tables: WriteTables, tmp_path: Path) -> None:
    page, _ = opened(browser, write_report(write_tables(trials=8), tmp_path), 1280, "light")
    read = "() => document.querySelector('[data-figure=curves]').layout.font.color"
    assert page.evaluate(read) == "#1F2933"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"({read})() === '#E6EAEE'")
    page.close()
