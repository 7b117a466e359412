"""`hms serve` as a person starts it, with a search that really runs: its address, its end, and the page in Chromium."""

import os
import re
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

SLOW = ("--set", "training.toy_seconds=0.5", "--set", "stopping.tolerance=0.03")
TRACES = "(document.getElementById('panel-hms')?.data ?? [])"
POINTS = f"{TRACES}.flatMap((trace) => trace.x).filter(Number.isFinite).length"
MARKS = f"{TRACES}.filter((trace) => trace.mode === 'markers').map((trace) => trace.marker.symbol)"
DRAWN = f"new Set({TRACES}.flatMap((trace) => trace.customdata ?? []).filter((tid) => tid !== null)).size"


def address(process):
    """What it says first, and the address in it."""
    line = process.stdout.readline()
    return line, re.search(r"http://\S+", line)[0]


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_leaves_nothing(finished, number):
    serving = finished.start("serve", "toy", "--port", "0")
    line, url = address(serving)
    assert line.startswith("`toy` is shown at http://127.0.0.1:") and "token" not in url
    assert get(url)[0] == 200 and get(f"{url}report")[0] == 200
    serving.send_signal(number)
    done = finished.wait(serving)
    assert done.code == 130 and "Traceback" not in done.err
    assert not finished.processes()


def test_bound_elsewhere_it_asks_for_the_token_that_it_printed(finished):
    serving = finished.start("serve", "toy", "--port", "0", "--host", "0.0.0.0")
    _, url = address(serving)
    port, token = re.fullmatch(rf"http://{re.escape(socket.gethostname())}:(\d+)/\?token=(\S+)", url).groups()
    assert get(f"http://127.0.0.1:{port}/")[0] == 401
    status, page = get(f"http://127.0.0.1:{port}/?token={token}")
    assert status == 200 and token not in page
    serving.send_signal(signal.SIGINT)
    assert finished.wait(serving).code == 130


def test_what_cannot_be_served_is_said(finished, hms):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = finished("serve", "toy", "--port", str(port))
    assert refused.code == 2 and f"port {port} of 127.0.0.1 is taken" in refused.err
    unknown = finished("serve", "tou", "--port", "0")
    assert unknown.code == 2 and "no search named 'tou'; it holds: toy" in unknown.err
    hms.environment["HMS_MONGO"] = "mongodb://127.0.0.1:1/?directConnection=true&serverSelectionTimeoutMS=300"
    away = hms("serve", "toy", "--port", "0")
    assert away.code == 3 and "127.0.0.1:1" in away.err


def test_a_user_who_may_only_read_can_follow_a_search(hms, lab, lab_database):
    hms.environment["HMS_MONGO"] = lab.uri("worker")
    assert hms("run", str(hms.config), "--workers", "1", "--set", "search.max_trials=1").code == 0
    hms.environment["HMS_MONGO"] = lab.uri("reader")
    serving = hms.start("serve", "toy", "--port", "0")
    _, url = address(serving)
    status, answer = get(f"{url}api/changes")
    assert status == 200 and '"state":"DONE"' in answer and lab.password not in answer
    serving.send_signal(signal.SIGINT)
    assert hms.wait(serving).code == 130


@pytest.mark.browser
def test_a_running_search_is_followed_in_the_browser(hms, until, tmp_path, browser):
    """Four trials of 40 epochs; by the known curve, their HMS is stable at epoch 35."""
    shots = Path(os.environ.get("HMS_TEST_SHOTS", tmp_path))
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    assert run.stdout.readline().startswith("new search")
    serving = hms.start("serve", "toy", "--port", "0", "--token")
    _, url = address(serving)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(120_000)
    complaints = []

    def heard(message):
        if message.type != "log" and "GL Driver" not in message.text:
            complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    page.wait_for_selector("html[data-ready]", timeout=30_000)
    assert "token" not in page.url

    # A trial and its curve arrive without a reload. (The page's policy forbids `wait_for_function`.)
    seen = until(lambda: page.evaluate(f"{POINTS} >= 3 && {POINTS}"))
    until(lambda: page.evaluate(POINTS) > seen)
    until(lambda: page.locator("#cards").get_by_text("2 at work").is_visible())
    assert page.locator("#state").inner_text() == "running"
    page.screenshot(path=shots / "live-running.png", full_page=True)

    # One that a rule ended early is marked, in the table and in the curves.
    stopped = page.locator("td.stopped").first
    stopped.wait_for(timeout=60_000)
    assert stopped.inner_text() == "● stopped: HMS stable, epoch 35 of 40"
    until(lambda: "circle" in page.evaluate(MARKS))
    assert page.locator("#legend").inner_text().startswith("● stopped: HMS stable")

    # To the end, then filters: by state, by a range, by a text.
    until(lambda: page.locator("#state").inner_text() == "finished", 120)
    rows = page.locator("#rows tr")
    assert rows.count() == 4 and page.locator("#cards").inner_text().split("\n")[1] == "4 of 4"
    page.get_by_label("DONE").check()
    assert rows.count() == 4
    page.get_by_text("By hyperparameters").click()
    column = page.locator("#heads button").all_inner_texts().index("learning_rate") + 1
    rates = page.locator(f"#rows td:nth-child({column})").all_inner_texts()
    assert len(set(rates)) == 4
    limit = sorted(map(float, rates))[1] * 1.001
    page.get_by_label("learning_rate, at most").fill(str(limit))
    page.get_by_label("learning_rate, at most").press("Enter")
    assert rows.count() == 2 and page.locator("#shown").inner_text() == "2 of 4 trials are shown."
    until(lambda: page.evaluate(DRAWN) == 2)
    with page.expect_download() as download:
        page.get_by_text("Trials shown, CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 3 and lines[0].startswith("tid,")
    page.reload()  # what was chosen is kept in the address
    page.wait_for_selector("html[data-ready]")
    until(lambda: rows.count() == 2)
    page.get_by_role("button", name="Show all").click()
    assert rows.count() == 4

    # Columns, order, one trial with its log.
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Worker", exact=True).check()
    assert page.get_by_role("button", name="Worker", exact=True).is_visible()
    page.get_by_role("button", name="HMS", exact=True).click()
    values = [float(text) for text in page.locator("#rows tr td:nth-child(5)").all_inner_texts()]
    assert values == sorted(values) and page.locator("th[aria-sort=ascending]").inner_text() == "HMS"
    page.get_by_role("button", name="Trial 0: details and log").click()
    page.get_by_text("attempt 1 on").wait_for()
    page.screenshot(path=shots / "live-trial.png")
    page.keyboard.press("Escape")
    assert not page.locator("#trial").is_visible()

    # The whole report, in a window of its own.
    with page.expect_popup() as popup:
        page.get_by_text("Full report").click()
    popup.value.wait_for_url("**/report/report.html", timeout=120_000)
    popup.value.wait_for_selector("html[data-ready]", timeout=60_000)
    assert popup.value.query_selector(".plot svg.main-svg") is not None
    popup.value.on("console", heard)
    popup.value.goto(f"{popup.value.url.rpartition('/')[0]}/trials/000000.html", wait_until="networkidle")
    assert popup.value.evaluate("document.styleSheets.length") > 0
    popup.value.screenshot(path=shots / "live-trial-page.png", full_page=True)
    popup.value.close()

    for width in (1280, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(600)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=shots / f"live-{width}-{scheme}.png", full_page=True)
    assert complaints == []

    # Without its server the page says so, and keeps what it shows.
    serving.send_signal(signal.SIGINT)
    page.get_by_text("hms serve does not answer").wait_for(timeout=30_000)
    assert rows.count() == 4
    page.close()
    assert hms.wait(serving).code == 130
    assert hms.wait(run).code == 0
