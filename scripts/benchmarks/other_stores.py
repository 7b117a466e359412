"""The toy objective on other trials stores, for `store_scale.py`: stock HyperOpt on MongoDB, Optuna on two storages.

    python scripts/benchmarks/other_stores.py [FOLDER]

Each has its own virtual environment in FOLDER, made once. 20 trials on 2 workers that sleep, random sampling; the clock
starts when the workers are there.

HyperOpt  `fmin` over `MongoTrials`, `hyperopt-mongo-worker` as installed (a process a trial); again with a poll
          of 0.1 s in place of 5 s and a queue of 4 in place of 1; a `mongod` of its own, without authentication
Optuna    two processes that run trials in themselves (no process a trial, no driver); SQLite with a heartbeat, or a
          journal file; each trial reports one intermediate value
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

PACKAGES = {
    "hyperopt": ["hyperopt==0.3.0", "pymongo==3.13.0", "setuptools<81"],
    "optuna": ["optuna", "sqlalchemy"],
}
START_SECONDS = 5.0

HYPEROPT = """
import sys, time
import numpy as np
from hyperopt import fmin, hp, rand
from hyperopt.mongoexp import MongoTrials

port, seconds, trials, queue = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

def objective(x, seconds=seconds):
    import time
    time.sleep(seconds)
    return x

began = time.perf_counter()
found = MongoTrials(f"mongo://127.0.0.1:{port}/bench/jobs", exp_key="bench")
fmin(objective, hp.uniform("x", 0, 1), algo=rand.suggest, max_evals=trials, trials=found, max_queue_len=queue,
     rstate=np.random.default_rng(1), show_progressbar=False)
print(time.perf_counter() - began)
"""

OPTUNA = """
import multiprocessing, sys, time
import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

def storage(kind, path):
    if kind == "journal":
        return JournalStorage(JournalFileBackend(path))
    return RDBStorage(f"sqlite:///{path}", heartbeat_interval=30, grace_period=180)

def work(kind, path, seconds, count, number, ready, spans):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(number)
    study = optuna.load_study(study_name="bench", storage=storage(kind, path), sampler=sampler)

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        time.sleep(seconds)
        trial.report(x, 1)
        return x

    ready.wait()
    began = time.perf_counter()
    study.optimize(objective, n_trials=count)
    spans.put((began, time.perf_counter()))

if __name__ == "__main__":
    kind, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    trials, workers = int(sys.argv[4]), int(sys.argv[5])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(study_name="bench", storage=storage(kind, path))
    ready, spans = multiprocessing.Barrier(workers), multiprocessing.Queue()
    shared = (kind, path, seconds, trials // workers)
    processes = [multiprocessing.Process(target=work, args=(*shared, n, ready, spans)) for n in range(workers)]
    for process in processes:
        process.start()
    found = [spans.get() for _ in processes]
    print(max(end for _, end in found) - min(begin for begin, _ in found))
"""

Row = Callable[[str, Callable[[float], float]], None]


def compare_others(folder: Path, row: Row, *, trials: int = 20, workers: int = 2) -> None:
    """Give `row` the name of each store and a function from the length of a trial in seconds to trials a second."""
    optuna = environment(folder, "optuna")
    for kind, name in (("rdb", "SQLite with heartbeat"), ("journal", "journal file")):
        row(f"Optuna {version(optuna, 'optuna')}, {name}", partial(optuna_rate, optuna, kind, trials, workers))
    hyperopt = environment(folder, "hyperopt")
    versions = f"HyperOpt {version(hyperopt, 'hyperopt')} on PyMongo {version(hyperopt, 'pymongo')}"
    for settings, poll, queue in (("poll 0.1 s, queue 4", 0.1, 4), ("as installed", 5.0, 1)):
        row(f"{versions}, {settings}", partial(hyperopt_rate, hyperopt, trials, workers, poll, queue))


def environment(folder: Path, name: str) -> Path:
    """The `bin` of a virtual environment with the packages of `name`; made when it is not there."""
    programs = folder / name / "bin"
    if not (folder / name / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / name)], check=True)
        subprocess.run([str(programs / "python"), "-m", "pip", "install", "-q", *PACKAGES[name]], check=True)
        (folder / name / "complete").touch()
    return programs


def version(programs: Path, package: str) -> str:
    """The installed version of a package."""
    return run(programs, f"import importlib.metadata; print(importlib.metadata.version({package!r}))").strip()


def run(programs: Path, code: str, *arguments: object) -> str:
    """What a program prints. It is written to a file, so that its processes can import it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "benchmark.py"
        script.write_text(code)
        command = [str(programs / "python"), str(script), *map(str, arguments)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout


def optuna_rate(programs: Path, kind: str, trials: int, workers: int, seconds: float) -> float:
    """Trials a second."""
    with tempfile.TemporaryDirectory() as folder:
        return trials / float(run(programs, OPTUNA, kind, Path(folder) / "store", seconds, trials, workers))


def hyperopt_rate(programs: Path, trials: int, workers: int, poll: float, queue: int, seconds: float) -> float:
    """Trials a second."""
    with plain_mongod() as port, ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())  # workers leave files where they run
        command = [str(programs / "hyperopt-mongo-worker"), f"--mongo=127.0.0.1:{port}/bench", "--exp-key=bench"]
        for _ in range(workers):
            worker = subprocess.Popen(
                [*command, f"--poll-interval={poll}"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
        time.sleep(START_SECONDS)
        return trials / float(run(programs, HYPEROPT, port, seconds, trials, queue))


@contextmanager
def plain_mongod() -> Iterator[int]:
    """The port of a server without replica set and authentication, which HyperOpt's client expects."""
    from search.mongod.binary import find_mongod
    from search.mongod.process import free_port

    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [str(find_mongod()), f"--dbpath={folder}", f"--port={port}", "--bind_ip=127.0.0.1", "--quiet"]
        server = subprocess.Popen([*command, "--wiredTigerCacheSizeGB=0.5"], stdout=subprocess.DEVNULL)
        try:
            yield port
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "hms-benchmark-venvs"
    compare_others(place, lambda name, rate: print(f"{name:<58}{rate(1.0):8.2f} {rate(0.05):8.2f}", flush=True))
