"""Real `hms` processes, real signals, a real `mongod`. The toy learner keeps trials short; nothing else differs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

TOY = """\
search: {name: toy, max_trials: 4, seed: 1, lease_seconds: 6, heartbeat_seconds: 1, grace_seconds: 5}
space: {learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {choice: [40]}}
training: {learner: toy, toy_seconds: 0.01, device: cpu}
metrics: {every: 5}
"""


@dataclass
class Finished:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.strip().splitlines()


@dataclass
class Hms:
    """Runs `hms` in a results folder of its own."""

    results: Path
    config: Path
    environment: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    first: Finished | None = None

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "search", *arguments],
            env={**os.environ, "HMS_RESULTS": str(self.results), **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def wait(self, process: subprocess.Popen[str], timeout: float = 120) -> Finished:
        out, err = process.communicate(timeout=timeout)
        return Finished(process.returncode, out, err)

    def __call__(self, *arguments: str, timeout: float = 120) -> Finished:
        return self.wait(self.start(*arguments), timeout)

    def tables(self, name: str = "toy") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """(trials, epochs) as `hms export` gives them."""
        out = self.results / "exported"
        done = self("export", name, "--format", "json", "--out", str(out))
        assert done.code == 0, done.err
        return json.loads((out / "trials.json").read_text()), json.loads((out / "epochs.json").read_text())

    def workers(self) -> list[psutil.Process]:
        """Worker processes of this results folder, without the trials' processes."""
        return [p for p in self.processes() if "worker" in p.cmdline() and "search" in p.cmdline()]

    def processes(self) -> list[psutil.Process]:
        """Every process that works for this results folder."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HMS_RESULTS") == str(self.results) and process.status() != "zombie":
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def hms(tmp_path: Path) -> Iterator[Hms]:
    yield from _runner(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hms]:
    """A results folder with one finished toy search of four trials by two workers; tests must not change it."""
    for runner in _runner(tmp_path_factory.mktemp("finished")):
        runner.first = runner("run", str(runner.config), "--workers", "2")
        yield runner


def _runner(folder: Path) -> Iterator[Hms]:
    config = folder / "toy.yaml"
    config.write_text(TOY)
    runner = Hms(folder / "results", config)
    yield runner
    for process in [*runner.started, *runner.processes()]:
        try:
            process.send_signal(signal.SIGKILL)
        except (ProcessLookupError, psutil.Error):
            continue
    for started in runner.started:
        started.communicate()


@pytest.fixture
def until() -> Callable[..., Any]:
    """Waits for a condition; its truthy value."""

    def wait(condition: Callable[[], Any], timeout: float = 60) -> Any:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError("the condition did not come true in time")

    return wait


@pytest.fixture
def expect_whole() -> Callable[..., None]:
    """Every trial DONE exactly once, one row an evaluated epoch, the values of the known curves."""

    def check(trials: list[dict[str, Any]], epochs: list[dict[str, Any]], count: int) -> None:
        assert [trial["tid"] for trial in trials] == list(range(count))
        assert {trial["state"] for trial in trials} == {"DONE"}
        rows = [(row["tid"], row["epoch"]) for row in epochs]
        assert len(rows) == len(set(rows))
        for trial in trials:
            mine = [row for row in epochs if row["tid"] == trial["tid"]]
            assert [row["epoch"] for row in mine] == list(range(0, trial["epochs_trained"] + 1, 5))
            assert trial["hms"] == mine[-1]["hms"]

    return check
