"""What the store, the driver and the workers cost: trials of known length against the time that they take.

    python scripts/benchmarks/store.py [--trials 20] [--seconds 1.0] [--workers 2]

Real parts but for the learner, which sleeps: an embedded `mongod`, worker processes, a child process a trial. The clock
starts when the driver does, with the workers waiting. Prints the wall time, the ideal, and their ratio; and how much
of it were the store's round trips of one trial.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

from search.config import SearchConfig
from search.config_reader import parse_config
from search.driver import Driver
from search.launch import LocalProcesses
from search.mongod import embedded_server
from search.run import open_search
from search.store import Store


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one trial")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_server(Path(folder)) as uri, Store.connect(uri) as store:
        wall, store_seconds = measure(store, uri, Path(folder), options)
    ideal = options.trials * options.seconds / options.workers
    print(f"{options.trials} trials of {options.seconds:g} s on {options.workers} workers, {os.cpu_count()} cores")
    print(f"wall {wall:.2f} s, ideal {ideal:.2f} s, ratio {wall / ideal:.3f}")
    print(f"overhead of one trial {(wall - ideal) * options.workers / options.trials * 1000:.0f} ms,")
    print(f"of which round trips to the store {store_seconds / options.trials * 1000:.0f} ms")


def measure(store: Store, uri: str, folder: Path, options: argparse.Namespace) -> tuple[float, float]:
    """(wall seconds of the driver, seconds of all workers in the store)."""
    config = toy_config(options.trials, options.seconds)
    _, lock = open_search(store, config, "python scripts/benchmarks/store.py")
    launcher = LocalProcesses(
        ["cpu"] * options.workers, name="bench", uri=uri, logs=folder / "logs", results=folder, threads=1, store=store
    )
    launcher.start()
    try:
        logs = [folder / "logs" / f"worker-{number}.log" for number in range(options.workers)]
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            launcher.check()
            time.sleep(0.05)
        started = time.perf_counter()
        Driver(store, config).run(lock, threading.Event(), lambda _: launcher.check())
        wall = time.perf_counter() - started
    finally:
        launcher.stop(10.0)
    return wall, sum(job["result"]["seconds"]["store"] for job in store.jobs("bench"))


def toy_config(trials: int, seconds: float) -> SearchConfig:
    """A search whose trials sleep one epoch of so many seconds."""
    document = {
        "search": {"name": "bench", "max_trials": trials},
        "space": {"learning_rate": {"uniform": [0.1, 1.0]}},
        "training": {"learner": "toy", "toy_seconds": seconds, "epochs": 1, "device": "cpu"},
    }
    return parse_config(document, source="the benchmark")


if __name__ == "__main__":
    main()
