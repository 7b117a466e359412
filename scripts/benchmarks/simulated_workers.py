"""Many workers on one machine, for `store_scale.py`: real worker code whose trials sleep instead of training.

Real: the connection of each worker, `reserve`, `search.attempt.Attempt` with its lease thread and order of messages
(`begin_attempt`, `record`, `finish`, the files that it looks after), and every write to the store. Each trial also
renews its lease once, as one with progress to show does. Not real: the child process, in whose place the worker's
thread sleeps; and workers share a few processes, because 64 interpreters do not fit on a small machine.
"""

import multiprocessing
import random
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.attempt import Attempt
from search.config import SearchConfig
from search.order import TrialOrder
from search.paths import RunFolder
from search.slots import Slot
from search.store import Store
from search.toy_learner import ToyLearner
from search.worker import Worker

PROCESSES = 4
CALLS = ("reserve", "epochs", "begin_attempt", "record", "heartbeat", "finish")
READY_SECONDS = 120.0
IDLE_SECONDS = 0.01


@dataclass(frozen=True)
class Load:
    """`workers` that serve `name` for `seconds`; each trial sleeps `trial_seconds`."""

    workers: int
    seconds: float
    trial_seconds: float
    config: SearchConfig
    folder: Path


Latencies = dict[str, list[float]]


class SimulatedAttempt(Attempt):
    """An attempt whose trial sleeps in this thread."""

    seconds = 0.0

    def _train(self, order: TrialOrder) -> None:
        learner = ToyLearner(order)
        self._tell("begin", {"epoch": 0, "skipped": [], "trained": 0, "epochs": 1})
        time.sleep(self.seconds)
        row = learner.evaluate(lambda: None)
        self._tell("epoch", {"epoch": 1, **row})
        self.store.heartbeat(self.job, progress=self.progress)
        metrics = {key: row[key] for key in ("hms", "mse", "accuracy")}
        self._tell("done", {"result": {"status": "ok", "loss": -row["hms"], **metrics, "seconds": {}}})

    def _tell(self, kind: str, payload: dict[str, Any]) -> None:
        self.messages.append((kind, payload))
        while self.messages and self.outcome is None:
            self._flush()


def run_load(uri: str, load: Load, meanwhile: Callable[[], object]) -> tuple[float, Latencies]:
    """(trials a second, seconds of each call by name); `meanwhile` is called again and again until the time is over."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__"])
    count = min(PROCESSES, load.workers)
    shares = [load.workers // count + (number < load.workers % count) for number in range(count)]
    ready, results = context.Barrier(count + 1), context.Queue()
    processes = [
        context.Process(target=_serve, args=(uri, load, number, share, ready, results), daemon=True)
        for number, share in enumerate(shares)
    ]
    for process in processes:
        process.start()
    ready.wait(READY_SECONDS)
    ends = time.perf_counter() + load.seconds
    while time.perf_counter() < ends:
        meanwhile()
    latencies: Latencies = defaultdict(list)
    rate = 0.0
    for _ in processes:
        trials_per_second, found = results.get(timeout=READY_SECONDS)
        rate += trials_per_second
        for call, seconds in found.items():
            latencies[call] += seconds
    for process in processes:
        process.join()
    return rate, latencies


def _serve(uri: str, load: Load, number: int, share: int, ready: Any, results: Any) -> None:
    latencies: Latencies = defaultdict(list)
    workers = [_worker(uri, load, 1000 * number + slot, latencies) for slot in range(share)]
    SimulatedAttempt.seconds = load.trial_seconds
    ready.wait(READY_SECONDS)
    with ThreadPoolExecutor(share) as pool:
        results.put((sum(pool.map(lambda worker: _work(worker, load), workers)), dict(latencies)))


def _work(worker: Worker, load: Load) -> float:
    """Trials a second of one worker, until the first that ends after the load's time. Workers begin at any time."""
    time.sleep(random.Random(worker.slot.number).uniform(0, load.trial_seconds))
    began, ended = time.perf_counter(), 0
    while time.perf_counter() - began < load.seconds:
        job = worker.store.reserve(worker.name, worker.owner, require={"device_class": "cpu", "precision": ["fp32"]})
        if job is None:
            time.sleep(IDLE_SECONDS)
            continue
        ended += SimulatedAttempt(worker, job).run()
        worker.retention.enforce()
    return ended / (time.perf_counter() - began)


def _worker(uri: str, load: Load, number: int, latencies: Latencies) -> Worker:
    store = Store.connect(uri, timeout_seconds=60.0)
    for call in CALLS:
        setattr(store, call, _timed(getattr(store, call), latencies[call]))
    return Worker(
        store,
        load.config,
        Slot("cpu", 1, number),
        folder=RunFolder.of(load.folder, load.config.search.name),
        data_root=load.folder,
        say=lambda text: None,
    )


def _timed(call: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return call(*arguments, **options)
        finally:
            seconds.append(time.perf_counter() - began)

    return timed
