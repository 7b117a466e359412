import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def hms(tmp_path):
    """Runs `hms` on a machine without data and without a GPU."""

    def run(*arguments):
        environment = {**os.environ, "HMS_DATA": str(tmp_path), "HMS_RESULTS": str(tmp_path / "results")}
        environment |= {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "60"}
        command = [sys.executable, "-m", "search", "plan", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    return run


def test_the_papers_search_is_planned_without_kitti_and_without_a_gpu(hms, configs, tmp_path):
    done = hms(configs / "paper.yaml", "--gflops", "10000", "--workers", "4")
    assert done.returncode == 0, done.stderr
    for part in ("95 trials", "exactly the points", "is not prepared here", "10000 GFLOP/s, as given", "4 at a time"):
        assert part in done.stdout
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    for row in ("parameters", "a whole trial", "memory of a device slot", "without the stopping rule"):
        assert row in rows
    assert list(tmp_path.iterdir()) == []  # nothing was prepared, and no store was started


def test_a_small_search_is_measured_on_this_machine(hms, configs, tmp_path):
    done = hms(
        configs / "quickstart.yaml", "--json", "--seconds", "2", "--name", "mine", "--set", "search.max_trials=3"
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["search"] == "mine" and len(plan["trials"]) == 3
    assert plan["speed"]["device"] == "cpu" and plan["speed"]["measured"]
    whole, earliest, expected = (scenario["device_seconds"] for scenario in plan["scenarios"])
    assert 0 < earliest <= expected < whole
    assert plan["scenarios"][0]["wall_seconds"] <= whole
    assert "measuring networks" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--set", "training.epoch=3"], "did you mean `epochs`?"), (["--device", "abacus"], "--device abacus")],
)
def test_mistakes_are_refused_with_exit_code_2(hms, configs, arguments, message):
    done = hms(configs / "quickstart.yaml", *arguments)
    assert (done.returncode, message in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
