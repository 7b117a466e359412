"""`hms worker`: one slot is served in this process, several by a process each."""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

from search.errors import UsageError
from search.launch import LocalProcesses
from search.learning_curve import require_tensorboard
from search.paths import RunFolder, data_root
from search.place import Place
from search.presence import present
from search.provenance import usable_cores
from search.run import check_materials, stored_config
from search.slots import Slot, choose_devices, device_slots
from search.slurm_queue import current_job
from search.slurm_task import release_earlier_runs, requeue_own_job
from search.store import Store
from search.worker import Worker


@dataclass(frozen=True)
class WorkerOptions:
    """What `hms worker` was told."""

    devices: str | None = None
    per_device: int = 1
    threads: int | None = None
    slot: int = 0
    launcher: int | None = None
    allow_mixed: bool = False
    requeue: bool = False


def serve(place: Place, name: str, options: WorkerOptions, say: Callable[[str], None]) -> None:
    """Serve the trials of `name` on every slot until the search is finished or a signal comes.

    Raises:
        UsageError: `requeue` outside a Slurm job.
        UnknownSearch: the store holds no such search: start `hms run` or `hms driver` first.
        SearchChanged: this machine's data are not those of the search.
    """
    if options.requeue and not current_job():
        raise UsageError("--requeue needs a job of Slurm around it (SLURM_JOB_ID is not set): leave it out here")
    folder = RunFolder.of(place.results, name)
    with place.server() as server, Store.connect(server.uri) as store:
        config = stored_config(store, name)
        require_tensorboard(config)
        store.lease_seconds = config.search.lease_seconds
        devices = choose_devices(options.devices, config, allow_mixed=options.allow_mixed)
        slots = device_slots(devices, options.per_device)
        threads = options.threads or max(1, usable_cores() // len(slots))
        if len(slots) > 1:
            stopped = _serve_many(store, name, place, slots, threads, options.allow_mixed, config.search.grace_seconds)
            if options.requeue and stopped:
                requeue_own_job(store, name, say)
            return
        check_materials(store, config)
        store.release_dead(name)
        release_earlier_runs(store, name)
        worker = Worker(
            store,
            config,
            Slot(slots[0], threads, options.slot),
            folder=folder,
            data_root=data_root(),
            allow_mixed=options.allow_mixed,
            launcher=options.launcher,
            say=say,
            on_outage=lambda: server.revive(say),
        )
        worker.stop_on_signals()
        with present(store, name, worker.owner, config.search.heartbeat_seconds):
            ended = worker.run()
        say(f"worker of `{name}` on {slots[0]}: {ended} trials ended here")
        if options.requeue and worker.stopping.is_set():
            requeue_own_job(store, name, say)


def _serve_many(
    store: Store, name: str, place: Place, slots: list[str], threads: int, allow_mixed: bool, grace_seconds: float
) -> bool:
    """One process a slot; whether a signal ended it."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    launcher = LocalProcesses(
        slots,
        name=name,
        uri=place.uri,
        logs=RunFolder.of(place.results, name).logs,
        results=place.results,
        threads=threads,
        store=store,
        allow_mixed=allow_mixed,
    )
    launcher.start()
    try:
        while launcher.running and not stop.wait(0.2):
            launcher.check()
    finally:
        launcher.stop(grace_seconds + 10.0)
    return stop.is_set()
