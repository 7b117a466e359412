"""The page in a browser: every figure is drawn, nothing is cut, no script fails, nothing is fetched."""

from pathlib import Path

import pytest

from psychophysics.report import write_report

pytestmark = pytest.mark.browser

FIGURES = ["accuracy", "reaction_times", "confidence", "units", "consistency", "networks"]
DRAWN = "boxes => boxes.map(box => [box.dataset.figure, !!box.querySelector('svg')])"


def test_figures_are_drawn_and_nothing_overflows(browser, write_study, tmp_path: Path) -> None:
    page = write_report(write_study(networks=6), tmp_path / "out", printed=False)
    for width, scheme in ((390, "light"), (940, "dark"), (1440, "light")):
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        wrong: list[str] = []
        tab.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        tab.on("console", lambda message, wrong=wrong: message.type == "error" and wrong.append(message.text))
        tab.on("request", lambda request, wrong=wrong: request.url.startswith("http") and wrong.append(request.url))
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready=true]", timeout=120_000)
        assert dict(tab.eval_on_selector_all(".plot", DRAWN)) == dict.fromkeys(FIGURES, True)
        assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert wrong == []
        tab.close()
