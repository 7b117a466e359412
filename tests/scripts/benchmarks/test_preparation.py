"""The preparation benchmark on a few small frames: it really builds, kills and resumes."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "benchmarks" / "preparation.py"


def test_a_build_is_killed_and_resumed(tmp_path):
    options = ["--frames", "240", "--drives", "6", "--distinct", "5", "--size", "48x160", "--parts", "resume"]
    command = [sys.executable, str(SCRIPT), *options, "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    killed = re.search(r"killed at frame (\d+): [\d.]+ s, \d+ frames/s; peak anonymous (\d+) MiB", done.stdout)
    assert killed and 120 <= int(killed[1]) < 240 and int(killed[2]) > 5
    assert re.search(r"resumed: [\d.]+ s, the rest; peak", done.stdout)
    assert "saved by resuming" in done.stdout
    assert list(tmp_path.iterdir()) == []  # it leaves nothing behind
