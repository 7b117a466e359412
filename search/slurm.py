"""Workers as jobs of Slurm: an array submitted through submitit, watched by squeue, replaced when tasks die."""

import contextlib
import json
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from search.config import SearchConfig
from search.errors import HmsError, MachineFailed, StoreError, UsageError
from search.paths import RunFolder, data_root
from search.slurm_queue import QueuedJob, SlurmAway, cancel, jobs_named, own_environment
from search.slurm_task import SlurmTask
from search.store import Store

LOOK_SECONDS = 5.0
LEAVING_LOOK_SECONDS = 1.0
QUICK_DEATHS = 3
QUICK_SECONDS = 60
SIGNAL_MARGIN_SECONDS = 30
"""Slurm looks at time limits every half minute: the warning is asked for so much before the grace time."""
ARRAY_LIMIT = 1000


class SlurmJobs:
    """The workers of one search as jobs of Slurm; one job is one `hms worker` with all devices that it was given.

    Their ids are kept in the run's folder, so that a restarted driver goes on with the jobs that still wait or run. The
    store's URI reaches them by a file that only its owner can read, whose path is all that Slurm and submitit see.
    """

    def __init__(
        self,
        config: SearchConfig,
        *,
        workers: int,
        uri: str,
        folder: RunFolder,
        store: Store,
        say: Callable[[str], None],
        devices: str | None = None,
        allow_mixed: bool = False,
    ) -> None:
        self.options, self.workers, self.uri, self.store, self.say = config.launch.slurm, workers, uri, store, say
        self.name, self.job_name = config.search.name, f"hms-{config.search.name}"
        self.parameters = sbatch_parameters(config)
        self.folder = folder.root / "slurm"
        self.task = SlurmTask(
            self.name,
            results=str(folder.root.parent),
            data=str(data_root().absolute()),
            address=str(self.folder / "address"),
            devices=devices,
            allow_mixed=allow_mixed,
            requeue=self.options.requeue,
        )
        self.jobs: dict[int, str] = {}
        self.missing: set[int] = set()
        self.deaths: Counter[int] = Counter()
        self.started = False
        self.looked = 0.0
        self.announced = ""

    def start(self) -> None:
        """Go on with the jobs of an earlier driver, cancel those too many, submit what is missing.

        Raises:
            SlurmAway: Slurm does not answer.
            UsageError: it takes no jobs with these options.
        """
        self.store.release_dead(self.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # submitit's pickles are code that the jobs run
        queue = jobs_named(self.job_name)
        _write_private(Path(self.task.address), self.uri)
        self.started = True
        earlier = self._stored()
        alive = [job for job in earlier if job in queue and queue[job].living]
        for job in set(earlier) - set(alive):
            self._release(job)
        cancel(alive[self.workers :])
        self.jobs = dict(enumerate(alive[: self.workers]))
        if self.jobs:
            self.say(f"Slurm: going on with {len(self.jobs)} jobs of an earlier driver")
        self.missing = set(range(len(self.jobs), self.workers))
        self._fill()

    def check(self) -> None:
        """Every few seconds: release and replace jobs that ended although the search is not finished.

        A worker whose jobs die at once again and again is given up, and said so. While Slurm does not answer, or takes
        no job, this is said and tried again.

        Raises:
            HmsError: all workers are given up; the message quotes the end of the last log.
        """
        if time.monotonic() - self.looked < LOOK_SECONDS:
            return
        self.looked = time.monotonic()
        try:
            queue = jobs_named(self.job_name)
        except SlurmAway as error:
            self._announce(f"waiting for Slurm: {error}")
            return
        self._announce(_summary([queue[job] for job in self.jobs.values() if job in queue]))
        ended = {number for number, job in self.jobs.items() if job not in queue or not queue[job].living}
        for number in ended:
            self._release(self.jobs[number])
        if not (ended or self.missing) or self.store.search(self.name).get("finished"):
            return
        for number in sorted(ended):
            self._end(number, queue.get(self.jobs.pop(number)))
        try:
            self._fill()
        except (UsageError, OSError) as error:
            self._announce(str(error))

    def stop(self, grace_seconds: float) -> None:
        """Waiting jobs are cancelled, running ones asked to give their trials back, and cancelled when they do not."""
        if not self.started:
            return
        ids = list(self.jobs.values())
        try:
            cancel(self._living(ids), "--state=PENDING")
            # The driver's lock is released by now: the workers leave and do not requeue their jobs.
            cancel(self._living(ids), "--signal=TERM", "--state=RUNNING")
            self._wait_until_gone(ids, grace_seconds)
            cancel(self._living(ids))
            self._wait_until_gone(ids, grace_seconds)
        except SlurmAway as error:
            self.say(f"the jobs could not be cancelled: {error}. Later: scancel {' '.join(ids)}")
            return
        for job in ids:
            self._release(job)
        Path(self.task.address).unlink(missing_ok=True)
        self._ids_file.unlink(missing_ok=True)

    def _fill(self) -> None:
        """Submit an array of jobs for the workers that have none; a large one in parts."""
        while self.missing:
            numbers = sorted(self.missing)[:ARRAY_LIMIT]
            submitted = self._submit(len(numbers))
            self.jobs.update(zip(numbers, submitted, strict=True))
            self.missing.difference_update(numbers)
            _write_private(self._ids_file, json.dumps(list(self.jobs.values())))
            self.say(f"Slurm: submitted {', '.join(submitted)}; logs in {self.folder}")

    def _submit(self, count: int) -> list[str]:
        import submitit

        try:
            executor = submitit.SlurmExecutor(folder=self.folder, python=shlex.quote(sys.executable))
            executor.update_parameters(**self.parameters)
            with self._submission_environment(), executor.batch():
                submitted = [executor.submit(self.task) for _ in range(count)]
        except (RuntimeError, OSError) as error:
            raise UsageError(
                f"Slurm took no job: {error}\nSee launch.slurm in the configuration, and `sinfo`"
            ) from None
        return [str(job.job_id) for job in submitted]

    @contextmanager
    def _submission_environment(self) -> Iterator[None]:
        """Slurm stores the environment of whoever submits: it holds the path of the URI's file, never the URI."""
        before = dict(os.environ)
        clean = own_environment() | {"HMS_MONGO": self.task.address, "HMS_RESULTS": self.task.results}
        os.environ.clear()
        os.environ.update(clean)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _end(self, number: int, job: QueuedJob | None) -> None:
        """Replace the ended job of a worker, or give the worker up: wrong usage, or the third end within a minute.

        Raises:
            HmsError: no worker is left.
        """
        quick = job is not None and job.seconds < QUICK_SECONDS and job.state not in ("CANCELLED", "PREEMPTED")
        failed = job is not None and job.exit_code == MachineFailed.exit_code
        self.deaths[number] = self.deaths[number] + 1 if quick or failed else 0
        refused = job is not None and job.exit_code == UsageError.exit_code
        if job is None or not (refused or self.deaths[number] >= QUICK_DEATHS):
            self.missing.add(number)
            return
        error = _failed(job, self.folder)
        if not self.jobs and not self.missing:
            raise error
        self.say(f"going on without worker {number}: {error}")

    def _living(self, ids: list[str]) -> list[str]:
        queue = jobs_named(self.job_name)
        return [job for job in ids if job in queue and queue[job].living]

    def _wait_until_gone(self, ids: list[str], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self._living(ids):
                return
            time.sleep(LEAVING_LOOK_SECONDS)

    def _release(self, job: str) -> None:
        """Give back at once what an ended job held; while the store is away its lease does the same later."""
        with contextlib.suppress(StoreError):
            self.store.release(self.name, {"slurm_job": job})

    def _announce(self, text: str) -> None:
        if text and text != self.announced:
            self.announced = text
            self.say(text)

    @property
    def _ids_file(self) -> Path:
        return self.folder / "jobs.json"

    def _stored(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return list(json.loads(self._ids_file.read_text(encoding="utf-8")))
        return []


def sbatch_parameters(config: SearchConfig) -> dict[str, Any]:
    """What submitit is told: the options of `launch.slurm`, and a signal early enough for a checkpoint."""
    slurm = config.launch.slurm
    warning = round(config.search.grace_seconds) + SIGNAL_MARGIN_SECONDS
    additional = {key.replace("-", "_"): value for key, value in slurm.additional.items() if value is not False}
    return {
        "job_name": f"hms-{config.search.name}",
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "time": slurm.minutes,
        "cpus_per_task": slurm.cpus_per_worker,
        "gpus_per_node": config.gpus_per_worker() or None,
        "mem": None if slurm.memory_gb is None else f"{round(slurm.memory_gb * 1024)}M",
        "setup": list(slurm.setup) or None,
        "stderr_to_stdout": True,
        "array_parallelism": ARRAY_LIMIT,
        "wckey": None,
        "additional_parameters": {
            "signal": f"USR1@{warning}",
            ("requeue" if slurm.requeue else "no_requeue"): True,
            **additional,
        },
    }


def _summary(jobs: list[QueuedJob]) -> str:
    """`Slurm: 2 running, 6 pending (Resources)`."""
    counts = Counter(
        f"{job.state.lower()} ({job.reason})" if job.state == "PENDING" else job.state.lower() for job in jobs
    )
    return "Slurm: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) if counts else ""


def _failed(job: QueuedJob, folder: Path) -> HmsError:
    log = folder / f"{job.id}_0_log.out"
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:]) if log.exists() else "(there is no log)"
    error = HmsError(
        f"Slurm job {job.id} cannot run ({job.state}, exit code {job.exit_code}); the end of {log}:\n{tail}"
    )
    error.exit_code = job.exit_code if job.exit_code in (2, 3, 5) else 1
    return error


def _write_private(path: Path, text: str) -> None:
    """Write, then rename; only the owner can read it from the first byte on."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
