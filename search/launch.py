"""Starts workers and keeps them alive. One interface: `start`, `check`, `stop`; here as processes of this machine."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from search.errors import HmsError, MachineFailed, StoreError, UsageError
from search.logs import rotate
from search.process_identity import ProcessIdentity
from search.slurm_queue import current_job
from search.store import Store

QUICK_DEATHS = 3
QUICK_SECONDS = 10.0
SPAWN_TRIES = 5
SPAWN_PAUSE = 2.0
"""With pauses of 2, 4, 8 and 16 s between them."""
ROTATE_SECONDS = 60.0


class Launcher(Protocol):
    """What a launcher does, whatever it launches on."""

    def start(self) -> None:
        """Start all workers."""

    def check(self) -> None:
        """Release the trials of workers that died and start others in their place."""

    def stop(self, grace_seconds: float) -> None:
        """Ask the workers to give their trials back, wait, end those that do not."""


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    started: float
    identity: ProcessIdentity | None
    deaths: int = 0
    ended: bool = False
    again: float = 0.0


class LocalProcesses:
    """Workers as processes of this machine, one a device slot, each in its own session so that Ctrl-C passes them by.

    A URI reaches them through the environment, never through their command line; without one (`uri` None) each joins
    the embedded server by itself, and so keeps it alive. They stop when this process is gone.
    """

    def __init__(
        self,
        slots: list[str],
        *,
        name: str,
        uri: str | None,
        logs: Path,
        results: Path,
        threads: int,
        store: Store,
        allow_mixed: bool = False,
    ) -> None:
        self.slots, self.name, self.logs, self.store = slots, name, logs, store
        self.environment = {**os.environ, "HMS_MONGO": uri or "", "HMS_RESULTS": str(results)}
        self.options = ["--threads", str(threads), "--launcher", str(os.getpid())]
        self.options += ["--allow-mixed"] if allow_mixed else []
        self.running: dict[int, _Running] = {}
        self.rotated = time.monotonic()

    def start(self) -> None:
        """Start all workers, after giving back what dead workers of this machine still hold."""
        self.store.release_dead(self.name)
        self.logs.mkdir(parents=True, exist_ok=True)
        for number in range(len(self.slots)):
            self.running[number] = self._spawn(number)

    def check(self) -> None:
        """Release and replace workers that died, and those that left although the search is not finished.

        Raises:
            HmsError: a worker keeps dying at once or cannot run; the message quotes the end of its log.
            OSError: for half a minute, this machine could start no process.
        """
        self._rotate_logs()
        for number, worker in list(self.running.items()):
            code = worker.process.poll()
            if code is None or time.monotonic() < worker.again:
                continue
            if not worker.ended:
                held = self._release(worker)
                if code == 0 and self._search_finished():
                    del self.running[number]
                    continue
                self._count_death(number, worker, code, bool(held))
            self._replace(number, worker)

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM, then SIGKILL to those that outlive the grace time."""
        for worker in self.running.values():
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_seconds
        for worker in self.running.values():
            try:
                worker.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
                self._release(worker)
        self.running.clear()

    def _count_death(self, number: int, worker: _Running, code: int, held: bool) -> None:
        # One that held a trial can run: what a trial does to its worker ends as that trial's crashes do.
        quick = not held and time.monotonic() - worker.started < QUICK_SECONDS
        worker.ended = True
        worker.deaths = worker.deaths + 1 if quick or code == MachineFailed.exit_code else 0
        if (code == UsageError.exit_code and not held) or worker.deaths >= QUICK_DEATHS:
            raise self._failed(number, code)

    def _replace(self, number: int, worker: _Running) -> None:
        """Start another worker; where no process can be started now, a later check tries again."""
        try:
            fresh = self._spawn(number)
        except OSError:
            worker.deaths += 1
            if worker.deaths >= SPAWN_TRIES:
                raise
            worker.again = time.monotonic() + SPAWN_PAUSE * 2 ** (worker.deaths - 1)
            return
        fresh.deaths = worker.deaths
        self.running[number] = fresh

    def _rotate_logs(self) -> None:
        if time.monotonic() - self.rotated > ROTATE_SECONDS:
            self.rotated = time.monotonic()
            for number in self.running:
                rotate(self._log(number))

    def _search_finished(self) -> bool:
        with contextlib.suppress(StoreError):
            return bool(self.store.search(self.name).get("finished"))
        return False

    def _log(self, number: int) -> Path:
        job = current_job().get("slurm_job")  # jobs on several nodes share the folder
        return self.logs / (f"worker-{number}.log" if job is None else f"worker-{job}-{number}.log")

    def _spawn(self, number: int) -> _Running:
        command = [sys.executable, "-m", "search", "worker", "--name", self.name, "--devices", self.slots[number]]
        command += ["--slot", str(number), *self.options]
        rotate(self._log(number))
        with self._log(number).open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment, start_new_session=True
            )
        return _Running(process, time.monotonic(), ProcessIdentity.of(process.pid))

    def _release(self, worker: _Running) -> list[int]:
        """Give back at once what a dead worker held; while the store is away its lease does the same later."""
        if worker.identity is not None:
            with contextlib.suppress(StoreError):
                return self.store.release(self.name, worker.identity.to_dict())
        return []

    def _failed(self, number: int, code: int) -> HmsError:
        log = self._log(number)
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        error = HmsError(f"worker {number} cannot run (exit code {code}); the end of {log}:\n{tail}")
        error.exit_code = code if code in (2, 3, 5) else 1
        return error
