"""`hms worker`: one slot is served in this process, several by a process each."""

import signal
import threading
from collections.abc import Callable

from search.launch import LocalProcesses, default_devices, device_slots
from search.paths import RunFolder, data_root
from search.provenance import usable_cores
from search.run import Place, stored_config
from search.store import Store
from search.worker import Slot, Worker


def serve(
    place: Place,
    name: str,
    devices: str | None,
    per_device: int,
    threads: int | None,
    slot: int,
    *,
    allow_mixed: bool,
    say: Callable[[str], None],
) -> None:
    """Serve the trials of `name` on every slot until the search is finished or a signal comes.

    Raises:
        UnknownSearch: the store holds no such search: start `hms run` or `hms driver` first.
    """
    folder = RunFolder.of(place.results, name)
    with place.server() as server, Store.connect(server.uri) as store:
        config = stored_config(store, name)
        store.lease_seconds = config.search.lease_seconds
        slots = device_slots(devices.split(",") if devices else default_devices(config.training.device), per_device)
        threads = threads or max(1, usable_cores() // len(slots))
        if len(slots) == 1:
            if config.training.learner != "toy":
                from search.materials import prepare

                prepare(config, data_root())
            store.release_dead(name)
            worker = Worker(
                store,
                config,
                Slot(slots[0], threads, slot),
                folder=folder,
                data_root=data_root(),
                allow_mixed=allow_mixed,
                say=say,
                on_outage=server.revive,
            )
            worker.stop_on_signals()
            ended = worker.run()
            say(f"worker of `{name}` on {slots[0]}: {ended} trials ended here")
        else:
            _serve_many(store, name, place, folder, slots, threads, allow_mixed, config.search.grace_seconds)


def _serve_many(
    store: Store,
    name: str,
    place: Place,
    folder: RunFolder,
    slots: list[str],
    threads: int,
    allow_mixed: bool,
    grace_seconds: float,
) -> None:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: stop.set())
    launcher = LocalProcesses(
        slots,
        name=name,
        uri=place.uri,
        logs=folder.logs,
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
