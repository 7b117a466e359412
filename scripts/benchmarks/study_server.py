"""How long the study server takes for an event while many participants take part, and whether any is lost or double.

    python scripts/benchmarks/study_server.py [--participants 50] [--pace 0.5] [--stores sqlite mongodb] [--preload]

A study of the paper's size (18 units, 10 image sets, 5 conditions, 250 places), whose pictures are drawn by the tests,
is served by a real `hms study serve`, with SQLite and with the embedded MongoDB, one after the other. Simulated
participants all begin at once and take part over HTTP, each with a pause of `--pace` seconds on average before an event
(people take about 3), a fifth of the events sent twice, while the admin page is followed. Afterwards what is stored is
compared with what was sent. `--preload`: they also fetch all pictures, as a page does. `--pace 0`: as fast as the
server answers.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import psutil

from psychophysics.server.keys import read_secrets
from psychophysics.server.store.opening import open_answers
from psychophysics.simulated_participants import Behaviour, Server, Visit, simulate
from psychophysics.simulated_strategies import preference
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder
from search.mongod import embedded_server

ROOT = Path(__file__).resolve().parents[2]
PAPER = {
    "design": {"ranked_sets": 20, "sets": 10, "participants_per_cell": 5},
    "trials": {"main": 18, "catch": 3, "practice_very_easy": 1, "practice_easy": 3, "practice_attempts": 5},
    "curation": {"network": "net", "units": {"layers": ["conv"]}, "sets": 1, "very_easy": 3, "easy": 7, "catch": 3},
}
REPEAT = 0.2
GOAL_MS = 200.0


def main() -> None:
    """Print a row for each store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--participants", type=int, default=50)
    parser.add_argument("--pace", type=float, default=0.5)
    parser.add_argument("--stores", nargs="+", choices=("sqlite", "mongodb"), default=["sqlite", "mongodb"])
    parser.add_argument("--preload", action="store_true")
    options = parser.parse_args()
    print(f"{options.participants} participants at once, pace {options.pace:g} s, {os.cpu_count()} cores")
    print("store     events/s  CPU ms   sent  stored  lost  double   p50 ms   p90 ms   p99 ms   longest   a condition")
    for store in options.stores:
        with tempfile.TemporaryDirectory() as folder:
            measure(store, Path(folder), options)


def measure(store: str, results: Path, options: argparse.Namespace) -> None:
    """One server, one crowd."""
    _, manifest, folder = drawn_studies()._drawn_study(results, drawn_studies().drawn_config(**PAPER), True)
    with ExitStack() as stack:
        at = mongodb_file(results, stack) if store == "mongodb" else None
        url, server = stack.enter_context(served(results, folder, at))
        behaviour = Behaviour(preference("random", manifest), pace=options.pace, repeat=REPEAT, preload=options.preload)
        stack.enter_context(followed(url, read_secrets(folder.secrets).admin_token))
        begun, used = time.perf_counter(), sum(server.cpu_times()[:2])
        visits = simulate(url, behaviour, options.participants, at_once=options.participants)
        seconds, used = time.perf_counter() - begun, sum(server.cpu_times()[:2]) - used
        stored, places = stored_events(folder, at)
    print_row(store, visits, stored, places, (seconds, used))


def print_row(
    store: str, visits: list[Visit], stored: Counter[str], places: Counter[str], seconds: tuple[float, float]
) -> None:
    """Latencies, and what is stored against what was sent; `seconds`: of the clock, of the server's CPU time."""
    sent = Counter(key(event) for visit in visits for event in visit.events)
    lost, double = (sent - stored).total(), (stored - sent).total()
    ms = 1000 * np.concatenate([visit.seconds for visit in visits])
    p50, p90, p99 = np.percentile(ms, [50, 90, 99])
    events = len(ms) + sum(visit.repeated for visit in visits)
    counts = f"{sent.total():>7}{stored.total():>8}{lost:>6}{double:>8}"
    latencies = f"{p50:>9.1f}{p90:>9.1f}{p99:>9.1f}{ms.max():>10.0f}"
    missed = "" if p99 < GOAL_MS and not lost and not double else "   <- goal missed"
    people = ", ".join(str(places[name]) for name in sorted(places))
    rates = f"{events / seconds[0]:>10.0f}{1000 * seconds[1] / events:>8.1f}"
    print(f"{store:<8}{rates}{counts}{latencies}   {people}{missed}", flush=True)


def key(event: dict[str, object]) -> str:
    """An event without its receipt; two of different participants differ by their clocks."""
    return json.dumps([event[name] for name in ("seq", "kind", "at_ms", "content")], sort_keys=True)


def stored_events(folder: StudyFolder, at: Path | None) -> tuple[Counter[str], Counter[str]]:
    """All that is stored, and how many participants each condition has."""
    frozen, _ = open_frozen(folder)
    answers = open_answers(folder, frozen, None if at is None else str(at))
    try:
        events = [key(vars(event)) for event in answers.events()]
        return Counter(events), Counter(who.condition for who in answers.participants())
    finally:
        answers.close()


@contextmanager
def served(results: Path, folder: StudyFolder, at: Path | None) -> Iterator[tuple[str, psutil.Process]]:
    """`hms study serve` in a process of its own; its address and the process."""
    command = [sys.executable, "-m", "search", "study", "serve", str(folder.root), "--port", "0"]
    command += [] if at is None else ["--store", str(at)]
    environment = os.environ | {"HMS_RESULTS": str(results), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = (line.split() for line in process.stdout)
            url = next(words[1].split("?")[0].rstrip("/") for words in told if words[:1] == ["participants:"])
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


@contextmanager
def followed(url: str, token: str) -> Iterator[None]:
    """The admin page's question, every 5 seconds in a thread."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(5):
            Server(url).expect("GET", "/api/admin/summary", 200, token=token)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def mongodb_file(results: Path, stack: ExitStack) -> Path:
    """An embedded server; the file with its URI."""
    file = results / "mongodb.uri"
    file.touch(mode=0o600)
    file.write_text(stack.enter_context(embedded_server(results)))
    return file


def drawn_studies() -> ModuleType:
    """The tests' maker of frozen studies without any network."""
    spec = importlib.util.spec_from_file_location("drawn_studies", ROOT / "tests" / "psychophysics" / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
