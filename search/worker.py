"""A worker: reserve a trial, run it, reserve the next, until the search is finished. One worker, one device slot."""

import contextlib
import errno
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from search.attempt import Attempt
from search.checkpoints import checkpoint_store
from search.config import SearchConfig
from search.errors import LeaseLost, MachineFailed, StoreError, StoreRefused, StoreUnreachable
from search.paths import RunFolder
from search.process_identity import ProcessIdentity
from search.retention import Retention
from search.slots import Slot, offers
from search.slurm_queue import current_job
from search.store import MANY_TRIES, Job, Patience, Store
from search.trial_process import LEARNERS

IDLE_SECONDS = 0.1
IDLE_LIMIT = 0.4
REAP_SECONDS = 10.0
DISK_SECONDS = 1.0
DISK_BYTES = 2**16
DRIVERLESS_SECONDS = 600.0
"""An idle worker leaves its Slurm job when the driver has been gone for so long."""

FAILURES = 5
FAILURE_PAUSE = 2.0
"""So many attempts in a row that the operating system fails end a worker; pauses of 2, 4, 8 and 16 s between them."""

Say = Callable[[str], None]


class Worker:
    """Serves trials of one search until it is finished or the worker is asked to stop.

    Args:
        launcher: pid of the process that launched this one; the worker stops when it is gone. None: nobody did.
        on_outage: called whenever the store does not answer.
    """

    def __init__(
        self,
        store: Store,
        config: SearchConfig,
        slot: Slot,
        *,
        folder: RunFolder,
        data_root: Path,
        allow_mixed: bool = False,
        launcher: int | None = None,
        say: Say = print,
        on_outage: Callable[[], object] = lambda: None,
    ) -> None:
        self.store, self.config, self.slot = store, config, slot
        self.folder, self.data_root, self.allow_mixed = folder, data_root, allow_mixed
        self.launcher, self.on_outage = launcher, on_outage
        self._say = say
        self.patience, self.failures = Patience(tries=MANY_TRIES), 0
        self.name = config.search.name
        self.owner = {
            **ProcessIdentity.current().to_dict(),
            "device": slot.device,
            "slot": slot.number,
            **current_job(),
        }
        self.files = checkpoint_store(store, config, folder)
        self.retention = Retention(store, self.files, self.name, config.search.keep_best)
        self.stopping = threading.Event()
        self.disk: tuple[OSError | None, float] = (None, -DISK_SECONDS)
        self.driver_seen: tuple[Any, float] = (None, time.monotonic())
        self.processes = multiprocessing.get_context("forkserver")
        learner = LEARNERS[config.training.learner].partition(":")[0]
        self.processes.set_forkserver_preload(["search.trial", learner])

    def say(self, text: str) -> None:
        """Tell a person; a log that cannot be written, on a full disk say, ends no worker."""
        with contextlib.suppress(OSError):
            self._say(text)

    def stop_on_signals(self) -> None:
        """SIGTERM, SIGUSR1, SIGINT, SIGHUP: checkpoint, give the trial back, exit 0. A second signal exits at once.

        Not so under Slurm, which repeats its signals and kills by itself when its time has come.
        """

        def handler(number: int, _frame: object) -> None:
            if self.stopping.is_set() and "slurm_job" not in self.owner:
                os._exit(128 + number)
            self.stopping.set()

        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, handler)

    def asked_to_stop(self) -> bool:
        """Whether a signal came, or the process that launched this worker is gone."""
        if self.launcher is not None and os.getppid() != self.launcher:
            self.stopping.set()
        return self.stopping.is_set()

    def run(self) -> int:
        """Serve until the search is finished or a signal came; the number of trials that this worker ended.

        Raises:
            MachineFailed: the operating system fails one attempt after the other.
            StoreError: the store refuses what is asked, again and again; an outage is waited for.
        """
        ended, idle, last_reap = 0, IDLE_SECONDS, 0.0
        offered = self._start_fork_server()
        with contextlib.suppress(StoreError):
            self.files.sweep()
            self.retention.enforce()
        self.say(f"worker {self.slot.number} of `{self.name}` is ready on {self.slot.device}")
        while not self.asked_to_stop():
            try:
                if time.monotonic() - last_reap > REAP_SECONDS:
                    self.store.reap(self.name)
                    last_reap = time.monotonic()
                job = None
                if self._disk_has_room():
                    job = self.store.reserve(self.name, self.owner, require=offered, allow_mixed=self.allow_mixed)
                if job is not None:
                    ended += self._attempt(job)
                    self.retention.enforce()
                    idle = IDLE_SECONDS
                    continue
                search = self.store.search(self.name)
                self.patience.worked()
                if search.get("finished") or self._left_alone(search["driver"]):
                    break
            except StoreRefused:
                raise
            except StoreError as error:
                pause = self.patience.pause(error)
                if self.patience.is_news(error):
                    self.say(f"waiting for the store: {error}")
                self.on_outage()
                self.stopping.wait(pause)
            self.stopping.wait(idle)
            idle = min(idle * 1.5, IDLE_LIMIT)
        return ended

    def _attempt(self, job: Job) -> int:
        """1 when the trial ended. One that the operating system fails (no memory to fork, a stale file) is given back.

        Raises:
            MachineFailed: it was the last of `FAILURES` in a row without a trial that ended.
        """
        try:
            ended = Attempt(self, job).run()
        except (OSError, EOFError) as error:  # a fork server that cannot fork leaves an end of file
            what = f"this machine failed the attempt: {_words(error)}"
            self._give_back(job, what)
            self.say(f"trial {job.tid} is given back: {what}")
            self.failures += 1
            if self.failures >= FAILURES:
                raise MachineFailed(
                    f"{FAILURES} attempts in a row, and {what}. The trials were given back; look at the machine's "
                    "memory, processes, open files and disks (hms doctor)"
                ) from error
            self.stopping.wait(FAILURE_PAUSE * 2 ** (self.failures - 1))
            return 0
        except StoreError as error:
            if not isinstance(error, StoreUnreachable):
                self._give_back(job, str(error))
            raise
        self.patience.worked()
        self.failures = 0 if ended else self.failures
        return ended

    def _give_back(self, job: Job, reason: str) -> None:
        with contextlib.suppress(StoreError, LeaseLost):  # what the store does not hear now, it learns from the lease
            self.store.requeue(job, reason=reason)

    def _disk_has_room(self) -> bool:
        """Whether the run's folder takes another file; on a full disk each trial would end without its weights."""
        before, looked = self.disk
        if time.monotonic() - looked > DISK_SECONDS:
            trial = self.folder.root / f".room-{os.getpid()}"
            problem: OSError | None = None
            try:
                self.folder.root.mkdir(parents=True, exist_ok=True)
                trial.write_bytes(bytes(DISK_BYTES))
            except OSError as error:
                problem = error if error.errno in (errno.ENOSPC, errno.EDQUOT) else None  # a trial tells of others
            with contextlib.suppress(OSError):
                trial.unlink()
            self.disk = (problem, time.monotonic())
            if problem is not None and before is None:
                self.say(f"no trial is begun while the disk of {self.folder.root} is full: {problem}")
        return self.disk[0] is None

    def _left_alone(self, driver: Any) -> bool:
        """Whether this worker idles in a Slurm job for a driver that is long gone: its lock no longer changes."""
        if driver != self.driver_seen[0]:
            self.driver_seen = (driver, time.monotonic())
        gone = "slurm_job" in self.owner and time.monotonic() - self.driver_seen[1] > DRIVERLESS_SECONDS
        if gone:
            self.say(f"no driver of `{self.name}` since {DRIVERLESS_SECONDS / 60:g} min: the job is given up")
        return gone

    def _start_fork_server(self) -> dict[str, Any]:
        """Pay the imports of the fork server before the first trial is reserved; what the device offers."""
        try:
            receiver, sender = self.processes.Pipe(duplex=False)
            process = self.processes.Process(target=_tell_offers, args=(self.slot.device, sender))
            process.start()
            sender.close()
            try:
                told: dict[str, Any] = receiver.recv()
            finally:
                process.join()
        except (OSError, EOFError) as error:
            raise MachineFailed(f"no process can be started on {self.slot.device}: {_words(error)}") from error
        return told


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _tell_offers(device: str, pipe: "multiprocessing.connection.Connection[Any, Any]") -> None:
    """Runs in a child, so that the worker itself never starts CUDA."""
    pipe.send(offers(device))
    pipe.close()
