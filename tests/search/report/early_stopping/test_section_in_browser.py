import numpy as np
import pytest
from playwright.sync_api import Browser

from search.report import analyse
from search.report.drawings import drawings
from search.report.page import render

pytestmark = pytest.mark.browser


def full_runs(count: int) -> list[dict]:
    """Networks trained to their end, whose metrics rise with noise."""
    rng, networks = np.random.default_rng(0), []
    for _ in range(count):
        epochs = range(0, 5 * int(rng.integers(4, 25)) + 1, 5)
        curve = {e: 0.2 * rng.uniform(0.9, 1.1) * (1 - np.exp(-e / 20)) + float(rng.normal(0, 0.004)) for e in epochs}
        networks.append({"hms": curve, "mse": {e: 0.3 - v for e, v in curve.items()}, "accuracy": curve})
    return networks


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_the_section_is_cut(browser: Browser, written, tmp_path, width: int) -> None:
    analysis = analyse(written(full_runs(36)))
    drawn = [drawing for drawing in drawings(analysis) if drawing.name.startswith("early_stopping")]
    path = tmp_path / "report.html"
    path.write_text(render(analysis, drawn), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    plots = page.query_selector_all("#early_stopping .plot")
    assert [plot.get_attribute("data-figure") for plot in plots] == [
        f"early_stopping_{name}" for name in ("saved", "budget", "thresholds", "networks")
    ]
    for plot in plots:
        # Rotated titles have their box turned, so that the rectangle on the screen is what counts.
        outside = plot.evaluate(
            """plot => { const box = plot.getBoundingClientRect();
               return [...plot.querySelectorAll("svg text")].filter(text => {
                 const r = text.getBoundingClientRect();
                 return r.width && (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1);
               }).map(text => text.textContent) }"""
        )
        assert outside == []
    page.close()
