"""For tests of several packages: a browser, a package of somebody else, installed; deviations from oracles, printed."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

InstallMetric = Callable[..., Path]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The largest deviations from oracles that tests recorded, also those of xdist's workers."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    properties = [pair for report in reports for pair in getattr(report, "user_properties", ())]
    lines = sorted({text for key, text in properties if key == "largest_oracle_deviation"})
    if lines:
        terminalreporter.section("largest deviations from oracles")
        terminalreporter.write_line("\n".join(lines))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    # Chromium's sandbox refuses to run as root, as in a container.
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()


@pytest.fixture
def install_metric(tmp_path: Path) -> InstallMetric:
    """A function that installs a package with one module and offers its `METRIC`; the folder for `sys.path`.

    The files are those that pip writes: a module and a `.dist-info` with `METADATA` and `entry_points.txt`.
    """

    def install(code: str, *, metric: str = "sharpness", package: str = "sharp", version: str = "1.2") -> Path:
        folder = tmp_path / f"site-{package}"
        info = folder / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        (folder / f"{package}_metric.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[hms_search.metrics]\n{metric} = {package}_metric:METRIC\n")
        return folder

    return install
