"""What tests of several packages use: a package of somebody else, installed where a test wants it."""

from collections.abc import Callable
from pathlib import Path

import pytest

InstallMetric = Callable[..., Path]


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
