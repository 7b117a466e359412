"""How the store, the workers and the driver scale: one `mongod`, 2 to 64 workers, up to 50,000 stored trials.

    python scripts/benchmarks/store_scale.py [--workers 2,16,64] [--stored 0,1000,10000,50000] [--seconds 3]
        [--venvs FOLDER] [--no-others] [--quick]

An embedded `mongod`, finished trials with 30 epoch rows each in one search, then, for each number of stored trials:

workers   real worker code in threads (see `simulated_workers.py`) on a queue that does not run dry, `--seconds` for
          each number, with trials of 50 ms; the largest number also with trials of 1 s. `store/trial`: the mean time
          that a worker waits for the store in a trial (reserve, read its epochs, begin, one epoch, one lease renewal,
          finish); `lost`: its share of the trial; `lost, 60 s`: the share in a trial of 60 s that evaluates 12 times,
          at the latencies of this load. All run on this machine, beside the server, which a cluster's workers do not.
look      the driver's look at the trials that wait or run, every 0.1 s beside the workers (p50 / p99).
cycle     a driver's cycle without other load, median of 5: look, propose one trial of the paper's space, insert it.
sweep     a look at every trial, once in 10 s; load: what a driver reads that starts on these trials.

Then other stores on trials that sleep 1 s and 50 ms (see `other_stores.py`); FOLDER keeps their packages.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from other_stores import compare_others
from pymongo import MongoClient
from simulated_workers import Latencies, Load, run_load

from search.config import SearchConfig
from search.config_reader import parse_config
from search.driver import Driver, propose_point
from search.mongod import embedded_server
from search.run import open_search
from search.space import expression
from search.store import State, Store, new_job_document

NAME = "bench"
ROWS = 30
BATCH = 1000
TRIAL_SECONDS = 0.05
LONG_TRIAL_SECONDS = 1.0
LOOK_SECONDS = 0.1
AHEAD = 100  # waiting trials beyond one a worker: as many as the fastest workers take between two looks
EVALUATIONS = 12
POINTS = 200
CONFIGS = Path(__file__).parents[2] / "configs"


def main() -> None:
    """Run everything and print the tables."""
    options = parse_options()
    print(f"{os.cpu_count()} cores, of which the server, the workers and the driver share all", flush=True)
    with tempfile.TemporaryDirectory() as folder, embedded_server(Path(folder)) as uri, Store.connect(uri) as store:
        bench = Bench(store, uri, Path(folder))
        head = f"{'stored':>6} {'workers':>7} {'trial':>6} {'trials/s':>8} {'reserve ms':>13} {'lease ms':>13}"
        print(f"\n{head} {'store/trial':>11} {'lost':>6} {'lost, 60 s':>10} {'look ms':>13}   (p50 / p99)")
        cycles = []
        for stored in options.stored:
            bench.fill(stored)
            loads = [(workers, TRIAL_SECONDS) for workers in options.workers]
            for workers, trial_seconds in [*loads, (options.workers[-1], LONG_TRIAL_SECONDS)]:
                print(f"{stored:>6} {workers:>7} {bench.load(workers, options.seconds, trial_seconds)}", flush=True)
            cycles.append((stored, bench.cycles()))
    print(f"\n{'stored':>6} {'load s':>7} {'sweep ms':>9} {'cycle rand ms':>14} {'cycle TPE ms':>13}")
    for stored, (load, sweep, rand, tpe) in cycles:
        print(f"{stored:>6} {load:7.2f} {1000 * sweep:9.0f} {1000 * rand:14.0f} {1000 * tpe:13.0f}")
    if options.others:
        print("\n20 trials on 2 workers, trials/s" + " " * 26 + f"{'1 s (ideal 2)':>14} {'50 ms (ideal 40)':>17}")
        print_row("this project", our_rate)
        compare_others(options.venvs, print_row)


def parse_options() -> argparse.Namespace:
    """The command line."""

    def numbers(text: str) -> list[int]:
        return sorted(int(part) for part in text.split(","))

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=numbers, default=[2, 16, 64])
    parser.add_argument("--stored", type=numbers, default=[0, 1000, 10_000, 50_000], help="finished")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each cell")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "hms-benchmark-venvs")
    parser.add_argument("--no-others", dest="others", action="store_false", help="without HyperOpt and Optuna")
    parser.add_argument("--quick", action="store_true", help="2 and 64 workers, 0 and 1000 trials, 2 s a cell")
    options = parser.parse_args()
    if options.quick:
        options.workers, options.stored, options.seconds = [2, 64], [0, 1000], 2.0
    return options


class Bench:
    """A search that grows; its collections are also written directly, because a store writes no past."""

    def __init__(self, store: Store, uri: str, folder: Path) -> None:
        self.store, self.uri, self.folder = store, uri, folder
        self.database = MongoClient[dict[str, Any]](uri)["hms"]
        self.stored = 0
        config = bench_config("rand")
        open_search(store, config, "python scripts/benchmarks/store_scale.py")
        space = expression(config.space)
        points = [propose_point(config, space, tid, []) for tid in range(POINTS)]
        self.points = [new_job_document(NAME, 0, misc=misc, params=params, seed=0) for misc, _, params in points]

    def fill(self, count: int) -> None:
        """Finished trials of the numbers from what is there to `count`, with their rows."""
        rng = np.random.default_rng(count)
        for begin in range(self.stored, count, BATCH):
            tids = range(begin, min(begin + BATCH, count))
            self.store.insert([self._finished(tid, float(rng.random())) for tid in tids])
            rows = [row(tid, epoch) for tid in tids for epoch in range(0, 5 * ROWS, 5)]
            self.database["metrics"].insert_many(rows, ordered=False)
        self.stored = count

    def load(self, workers: int, seconds: float, trial_seconds: float) -> str:
        """The cells of one load."""
        driver, looks = Driver(self.store, bench_config("rand")), []
        driver.observe(sweep=True)

        def drive() -> None:
            ends = time.perf_counter() + LOOK_SECONDS
            looks.append(timed(driver.observe))
            self._top_up(driver, 2 * workers + AHEAD)
            time.sleep(max(0.0, ends - time.perf_counter()))

        drive()
        load = Load(workers, seconds, trial_seconds, driver.config, self.folder)
        rate, latencies = run_load(self.uri, load, drive)
        self._forget_new()
        return f"{cells(rate, trial_seconds, latencies)} {quantiles(looks, 13)}"

    def _top_up(self, driver: Driver, waiting: int) -> None:
        """As many trials waiting: made faster than a driver makes them, so that workers wait for the store alone."""
        first = len(driver.mirror)
        more = waiting - driver.mirror.count(State.NEW)
        documents = [self._waiting(first + number) for number in range(more)]
        self.store.insert(documents)
        driver.mirror.update(documents)

    def cycles(self) -> tuple[float, float, float, float]:
        """Seconds: a driver's first load, a sweep, a cycle with `rand`, a cycle with TPE."""
        found = []
        for algorithm in ("rand", "tpe"):
            driver = Driver(self.store, bench_config(algorithm))

            def sweep(driver: Driver = driver) -> None:
                driver.observe(sweep=True)

            load = timed(sweep)
            again = statistics.median(timed(sweep) for _ in range(3))
            found.append(statistics.median(self._cycle(driver) for _ in range(5)))
            self._forget_new()
        return load, again, found[0], found[1]

    def _cycle(self, driver: Driver) -> float:
        def cycle() -> None:
            driver.observe()
            driver.enqueue()

        seconds = timed(cycle)
        job = self.store.reserve(NAME, "bench")
        assert job is not None
        self.store.finish(job, {"status": "ok", "loss": 0.5})
        return seconds

    def _finished(self, tid: int, loss: float) -> dict[str, Any]:
        result = {"status": "ok", "loss": loss, "hms": -loss, "mse": 0.01, "accuracy": 0.5, "epochs_trained": 150}
        return self._waiting(tid) | {"state": int(State.DONE), "result": result, "version": 2 * ROWS}

    def _waiting(self, tid: int) -> dict[str, Any]:
        point = self.points[tid % POINTS]
        vals = point["misc"]["vals"]
        idxs = {label: [tid] if values else [] for label, values in vals.items()}
        return {**point, "tid": tid, "misc": {**point["misc"], "tid": tid, "idxs": idxs}, "seed": tid, "point": tid}

    def _forget_new(self) -> None:
        """Back to the finished trials that were stored."""
        for collection in ("jobs", "metrics"):
            self.database[collection].delete_many({"exp_key": NAME, "tid": {"$gte": self.stored}})


def bench_config(algorithm: str) -> SearchConfig:
    """The paper's space, and a learner that trains nothing."""
    space = yaml.safe_load((CONFIGS / "paper.yaml").read_text())["space"]
    document = {
        "search": {"name": NAME, "max_trials": 10**6, "algorithm": algorithm},
        "space": space,
        "training": {"learner": "toy", "device": "cpu"},
    }
    return parse_config(document, source="the benchmark")


def row(tid: int, epoch: int) -> dict[str, Any]:
    """One row of the metrics, as `record` leaves it."""
    numbers = dict.fromkeys(("hms", "rho_a", "mse", "accuracy", "mse_previous_frame", "window_sd"), 0.1)
    seconds = {f"seconds_{part}": 0.1 for part in ("training", "hms", "mse", "matching")}
    return {"exp_key": NAME, "tid": tid, "epoch": epoch, "attempt": 1, "hms_status": "ok", **numbers, **seconds}


def cells(rate: float, trial_seconds: float, latencies: Latencies) -> str:
    """Trials a second, reserve, lease renewal, store seconds a trial and what they are of it."""
    mean = {call: statistics.fmean(seconds) for call, seconds in latencies.items()}
    of_trial = sum(mean.values())
    of_minute = of_trial + (EVALUATIONS - 1) * mean["record"]
    lost, lost_minute = of_trial / (of_trial + trial_seconds), of_minute / (of_minute + 60)
    reserve, lease = quantiles(latencies["reserve"], 13), quantiles(latencies["heartbeat"], 13)
    text = f"{1000 * trial_seconds:4.0f}ms {rate:8.1f} {reserve} {lease} {1000 * of_trial:8.1f} ms"
    return f"{text} {lost:6.1%} {lost_minute:10.2%}"


def quantiles(seconds: list[float], width: int) -> str:
    """p50 / p99 in milliseconds."""
    p50, p99 = 1000 * np.quantile(seconds, [0.5, 0.99])
    return f"{p50:.1f} / {p99:.1f}".rjust(width)


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def our_rate(seconds: float) -> float:
    """Trials a second of `store.py`: driver, worker processes, a child process a trial."""
    command = [sys.executable, str(Path(__file__).with_name("store.py")), "--trials", "20", "--seconds", str(seconds)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return 20 / float(output.partition("wall ")[2].split()[0])


def print_row(name: str, rate: Callable[[float], float]) -> None:
    """One line of the comparison: trials of 1 s and of 50 ms."""
    print(f"{name:<58}{rate(1.0):14.2f} {rate(0.05):17.2f}", flush=True)


if __name__ == "__main__":
    main()
