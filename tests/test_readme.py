"""The Python of README runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

README = Path(__file__).parents[1] / "README.md"
HEADING = "## Use the network as a library"


def test_the_library_snippet_runs_and_writes_its_picture(tmp_path):
    text = README.read_text()
    if HEADING not in text:
        pytest.fail(f"README has no section {HEADING!r}")
    snippet = re.search(r"```python\n(.*?)```", text.split(HEADING)[1], re.DOTALL)[1]
    assert len([line for line in snippet.splitlines() if line]) <= 10
    checks = (
        "\nassert predicted.shape == clips.shape == (1, 15, 64, 80, 3)"
        "\nassert future.shape == (1, 5, 64, 80, 3)"
        "\nassert features.shape == (1, 15, 32, 8, 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet + checks],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "strip.png") as picture:
        assert picture.size[0] > 5 * 160
