"""What one array task of Slurm runs: a worker of the search, which gives its job back to the queue when it must go."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from search.errors import HmsError, StoreError
from search.slurm_queue import SlurmAway, current_job, requeue, state_of
from search.store import Store

Say = Callable[[str], None]


@dataclass(frozen=True)
class SlurmTask:
    """A worker as submitit pickles it: names and paths only. The store's URI stands in the file `address` (0600)."""

    name: str
    results: str
    data: str
    address: str
    devices: str | None = None
    allow_mixed: bool = False
    requeue: bool = True

    def __call__(self) -> None:
        """Serve trials until the search is finished or Slurm wants the node back; exit codes are those of `hms`."""
        # Submitit ignores SIGTERM and hangs a traceback on SIGUSR2; until the worker listens, a signal simply ends it.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        from search.place import Place
        from search.serve_slots import WorkerOptions, serve

        os.environ["HMS_DATA"] = self.data
        options = WorkerOptions(self.devices, allow_mixed=self.allow_mixed, requeue=self.requeue)
        try:
            uri = Path(self.address).read_text(encoding="utf-8").strip()
            serve(Place(Path(self.results), uri), self.name, options, _say)
        except FileNotFoundError:
            _say(f"{self.address} is gone: the search was ended; this worker has nothing to do")
        except HmsError as error:
            _say(f"hms: {error}")
            raise SystemExit(error.exit_code) from None


def release_earlier_runs(store: Store, name: str) -> None:
    """Take back what earlier runs of this requeued job still hold, after a node failed: no lease is waited for."""
    own = current_job()
    for restart in range(own.get("slurm_restart", 0)):
        store.release(name, {"slurm_job": own["slurm_job"], "slurm_restart": restart})


def requeue_own_job(store: Store, name: str, say: Say) -> None:
    """After a signal: have Slurm run this job again, while the search is unfinished and driven.

    A job that Slurm ends by itself is left alone: a person cancelled it, or it was pre-empted and is queued already.
    """
    try:
        wanted = not store.search(name).get("finished") and store.driver_runs(name)
    except StoreError:
        wanted = True  # a start too many ends by itself, a worker too few does not come back
    job = current_job().get("slurm_job")
    if job is None or not wanted:
        return
    try:
        if state_of(job) == "RUNNING":
            requeue(job)
            say(f"Slurm job {job} is back in the queue")
    except SlurmAway as error:
        say(f"Slurm job {job} was not requeued: {error}")


def _say(text: str) -> None:
    print(text, flush=True)
