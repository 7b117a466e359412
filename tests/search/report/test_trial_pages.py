import json
import os
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from search.report import read_tables, write_report
from search.report.figures.trial_curves import Axis, panels
from search.report.trial_pages import paged_trials, write_trial_pages

WriteTables = Callable[..., Path]
OpenPage = Callable[..., tuple[Page, list[str]]]


def pages(folder: Path, out: Path) -> dict[int, str]:
    tables = read_tables(folder)
    write_trial_pages(tables, paged_trials(tables), out)
    return {int(file.stem): unescape(file.read_text()) for file in (out / "trials").glob("*.html")}


def test_each_kind_of_trial_gets_a_page(write_tables: WriteTables, tmp_path: Path) -> None:
    found = pages(write_tables(trials=9, diverged=1, collapsed=1, failed=1, unfinished=2), tmp_path)
    assert sorted(found) == list(range(9))
    assert "stopped: diverged" in found[0]
    assert "undefined" not in found[1]
    assert "collapsed" in found[1]
    assert "RuntimeError: out of memory" in found[8]
    assert "<svg" not in found[7]  # NEW: nothing was evaluated
    assert all("hms log invented --tid 3" in page for tid, page in found.items() if tid == 3)
    links = {link for page in found.values() for link in re.findall(r'href="([0-9.]+html)"', page)}
    assert links == {f"{tid:06d}.html" for tid in range(9)}


def test_a_page_holds_the_values_of_its_trial(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = write_tables(trials=4)
    found, tables = pages(folder, tmp_path), read_tables(folder)
    epochs = tables.epochs[tables.epochs["tid"] == 2]
    rows = re.findall(r"<tr>(<td.*)</tr>", found[2])
    assert len(rows) == len(epochs)
    shown = [re.findall(r">([^<]*)</td>", row) for row in rows]
    assert [row[0] for row in shown] == [str(epoch) for epoch in epochs["epoch"]]
    assert [row[1] for row in shown] == [f"{value:.3f}" for value in epochs["hms"]]
    best = tables.trials["hms"].rank(ascending=False)
    assert f"place {int(best[2])} of 4 by HMS" in found[2]


def test_a_page_and_the_report_tell_how_to_train_a_network_again_where_that_can_be_done(
    write_tables: WriteTables, tmp_path: Path
) -> None:
    tables = write_tables(trials=2)
    assert "hms rerun invented --tid T</pre>" in write_report(tables, tmp_path / "own").read_text()
    assert "hms rerun invented --tid 1</pre>" in (tmp_path / "own" / "trials" / "000001.html").read_text()
    file = next(tables.rglob("search.json"))
    imported = {"from": "stock HyperOpt", "notes": ["values of hp.choice are numbers"]}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"imported": imported}))
    assert "hms rerun" not in write_report(tables, tmp_path / "other").read_text()
    assert "hms rerun" not in (tmp_path / "other" / "trials" / "000001.html").read_text()


def test_a_curve_goes_through_its_values_and_breaks_where_there_is_none(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=12))
    panel = next(panel for panel in panels(tables) if panel.name == "hms")
    low, high = tables.epochs["hms"].min(), tables.epochs["hms"].max()
    epochs, values = np.array([0.0, 5.0, 10.0, 15.0]), np.array([low, np.nan, high, high])
    drawn = panel.draw(epochs, values, 7)
    lines = re.findall(r'<path d="([^"]*)" class="own"/>', drawn)
    points = [[tuple(map(float, point.split())) for point in line[1:].split("L")] for line in lines]
    assert [len(line) for line in points] == [1, 2]
    (bottom,), (top, _) = points
    assert bottom[1] > top[1]  # higher values stand higher
    place = panel.y.place(np.array([low, high]))
    assert (bottom[1], top[1]) == pytest.approx(tuple(place), abs=0.06)
    assert 'aria-label="HMS of trial 7: ' in drawn
    assert panel.draw(epochs, np.full(4, np.nan), 7) == ""


def test_ticks_are_round_and_within_the_axis() -> None:
    assert Axis(0, 150, 0, 100).ticks == [0, 50, 100, 150]
    assert Axis(-0.013, 0.17, 0, 100).ticks == [0, 0.05, 0.1, 0.15]
    assert Axis(0.004, 0.17, 0, 100, log=True).ticks == [0.005, 0.01, 0.02, 0.05, 0.1]
    np.testing.assert_allclose(Axis(0.01, 1, 10, 100, log=True).place(np.array([0.01, 0.1, 1])), [10, 60, 110])


def test_a_log_is_shown_from_the_end_and_its_control_characters_as_text(
    write_tables: WriteTables, tmp_path: Path
) -> None:
    folder = write_tables(trials=3)
    log = folder.parent / "trials" / "000001" / "log.txt"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"first\n" + b"".join(b"line %d\n" % i for i in range(100)) + b"\x1b[31m<b>last</b> \xff\n")
    page = (pages(folder, tmp_path), (tmp_path / "trials" / "000001.html").read_text())[1]
    assert "line 99\n\\x1b[31m&lt;b&gt;last&lt;/b&gt;" in page
    assert "first" not in page
    assert "No log of this trial" in (tmp_path / "trials" / "000002.html").read_text()


def test_what_did_not_change_is_not_written_again(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = write_tables(trials=4, artifacts=2)
    pages(folder, tmp_path)
    files = sorted((tmp_path / "trials").iterdir())
    assert [file.suffix for file in files].count(".png") == 2
    for file in files:
        os.utime(file, (2e9, 2e9))
    pages(folder, tmp_path)
    assert all(file.stat().st_mtime == 2e9 for file in files)


def test_large_searches_page_the_best_and_some_that_failed(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=40, diverged=3, failed=4, artifacts=0))
    chosen = paged_trials(tables, most=20)
    ended_badly = [0, 1, 2, 36]  # a fifth of the pages
    best = tables.trials.nlargest(16, "hms")["tid"]
    assert chosen == sorted({*ended_badly, *best})
    assert paged_trials(tables) == list(range(40))


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_opens_whole(
    write_tables: WriteTables, open_page: OpenPage, tmp_path: Path, width: int, scheme: str
) -> None:
    folder = write_tables(trials=12, artifacts=12)
    pages(folder, tmp_path)
    page, complaints = open_page(tmp_path / "trials" / "000003.html", width, scheme)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() == 5
    assert page.evaluate("document.querySelector('img').naturalWidth") > 100
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == ("rgb(31, 41, 51)" if scheme == "light" else "rgb(230, 234, 238)")
    page.get_by_role("link", name="Trial 4").click()
    assert page.title().startswith("Trial 4 ")
