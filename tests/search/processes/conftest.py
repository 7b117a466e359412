"""Real `hms` processes, real signals, a real `mongod`. The toy learner keeps trials short; nothing else differs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from search.config import SearchConfig
from search.export import epochs_table, trials_table
from search.export_formats import json_records
from search.order import TrialOrder
from search.place import Place
from search.store import Document, Store
from search.toy_learner import ToyLearner
from search.trial import Trial

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
    """Runs `hms`, or another program of its words, in a results folder of its own."""

    results: Path
    config: Path
    program: tuple[str, ...] = (sys.executable, "-m", "search")
    environment: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    first: Finished | None = None

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.program, *arguments],
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

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store that the processes use, from inside the test."""
        with Place(self.results, self.environment.get("HMS_MONGO")).store() as store:
            yield store

    def tables(self, name: str = "toy") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """(trials, epochs) as `hms export --format json` gives them."""
        with self.store() as store:
            trials, epochs = (json.loads(json_records(table(store, name))) for table in (trials_table, epochs_table))
        return trials, epochs

    def workers(self) -> list[psutil.Process]:
        """Worker processes of this results folder, without the trials' processes."""
        return [p for p in self.processes() if "worker" in p.cmdline() and "search" in p.cmdline()]

    def processes(self) -> list[psutil.Process]:
        """Every process that works for this results folder."""
        found = []
        for process in psutil.process_iter():
            try:
                # A server that the test itself started has the folder in its command line only.
                ours = process.environ().get("HMS_RESULTS") == str(self.results)
                ours = ours or f"{self.results}/" in " ".join(process.cmdline())
                if ours and process.status() != "zombie":
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def hms(tmp_path: Path) -> Iterator[Hms]:
    yield from _runner(tmp_path)


@pytest.fixture(scope="module")
def module_hms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hms]:
    yield from _runner(tmp_path_factory.mktemp("module"))


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def expect_undisturbed(finished: Hms, expect_whole: Callable[..., None]) -> Callable[[Hms], list[dict[str, Any]]]:
    """The search is whole, and its numbers are those of `finished`, which nobody disturbed; its trials."""
    reference = finished.tables()

    def numbers(trials: list[dict[str, Any]], epochs: list[dict[str, Any]]) -> list[list[Any]]:
        of_trial = ("tid", "point", "finish", "epochs_trained", "hms", "mse", "accuracy", "param.learning_rate")
        of_epoch = ("tid", "epoch", "hms", "mse", "window_sd", "stable")
        return [[row[key] for key in keys] for rows, keys in ((trials, of_trial), (epochs, of_epoch)) for row in rows]

    def check(hms: Hms) -> list[dict[str, Any]]:
        trials, epochs = hms.tables()
        expect_whole(trials, epochs, 4)
        assert numbers(trials, epochs) == numbers(*reference)
        return trials

    return check


USER_CODE = """
import os, multiprocessing, signal, sys, time

import search.attempt
from search import trial_process

{code}

def child_main(order, pipe):
    trial_process.LEARNERS["toy"] = "user_code:Learner"
    trial_process.child_main(order, pipe)

search.attempt.child_main = child_main
"""
USER_PROGRAM = """
import user_code
from search.cli import main

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="session")
def with_user_code() -> Callable[[Hms, str], Hms]:
    """The same results folder, served by workers whose trials run a class `Learner` of the test's own."""

    def make(hms: Hms, code: str) -> Hms:
        folder = hms.config.parent / "code"
        folder.mkdir()
        (folder / "user_code.py").write_text(USER_CODE.format(code=code))
        (folder / "program.py").write_text(USER_PROGRAM)
        return replace(hms, program=(sys.executable, str(folder / "program.py")))

    return make


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[SearchConfig, Document], tuple[Any, Any]]:
    """(result, rows) of a stored toy trial, run here from start to end."""

    def run(config: SearchConfig, document: Document) -> tuple[Any, Any]:
        folder = tmp_path_factory.mktemp("undisturbed")
        fast = config.model_copy(update={"training": config.training.model_copy(update={"toy_seconds": 0.0})})
        order = TrialOrder("toy", document["tid"], document["seed"], document["params"], fast, folder, folder, "cpu", 1)
        rows: list[dict[str, Any]] = []
        trial = Trial(order, ToyLearner(order), lambda kind, row: rows.append(row) if kind == "epoch" else None, bool)
        return trial.run(), rows

    return run
