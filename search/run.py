"""`hms run`: everything on this machine, from preparing data to the report; and the parts that other commands share."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from search.config import SearchConfig
from search.config_reader import parse_config
from search.errors import UnknownSearch
from search.launch import LocalProcesses, default_devices, device_slots
from search.mongod import EmbeddedServer
from search.paths import RunFolder, data_root
from search.progress import Progress
from search.provenance import provenance, usable_cores
from search.store import Document, Store
from search.watch import Watcher

if TYPE_CHECKING:
    from search.driver import Outcome


@dataclass
class Server:
    """The store's address; `revive` restarts the embedded server if it died, and does nothing for any other."""

    uri: str
    embedded: EmbeddedServer | None = None

    def revive(self) -> None:
        """Restart the embedded server where it is ours and dead."""
        if self.embedded is not None:
            self.embedded.ensure_running()


@dataclass(frozen=True)
class Place:
    """Where a command works: the results folder and, unless the embedded server is meant, a store's URI."""

    results: Path
    uri: str | None = None

    @contextmanager
    def server(self) -> Iterator[Server]:
        """The server; the embedded one runs for as long as the block, or longer where others use it."""
        if self.uri is not None:
            yield Server(self.uri)
            return
        self.results.mkdir(parents=True, exist_ok=True)
        embedded = EmbeddedServer(self.results)
        embedded.join()
        try:
            yield Server(embedded.uri, embedded)
        finally:
            embedded.leave()

    @contextmanager
    def store(self, lease_seconds: float = 180.0) -> Iterator[Store]:
        """A connected store, closed at the end."""
        with self.server() as server, Store.connect(server.uri, lease_seconds=lease_seconds) as store:
            yield store


def stored_config(store: Store, name: str) -> SearchConfig:
    """The resolved configuration that the search `name` was made with."""
    return parse_config(store.search(name)["config"], source=f"the stored search `{name}`")


def resolve_device(store: Store, config: SearchConfig) -> SearchConfig:
    """Replace `device: auto` by the stored search's class, or by what this machine has."""
    if config.training.device != "auto":
        return config
    try:
        device = store.search(config.search.name)["config"]["training"]["device"]
    except UnknownSearch:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return config.model_copy(update={"training": config.training.model_copy(update={"device": device})})


def open_search(store: Store, config: SearchConfig, file: Path, *, force_space: bool = False) -> bool:
    """Create the search or continue it; whether it was created. `file` is noted for the command that repeats it.

    Raises:
        SearchChanged: it exists with another space or training configuration.
    """
    _, created = store.create_or_resume(
        config.search.name,
        config=config.document(),
        hashes=config.hashes(),
        provenance=provenance(),
        force_space=force_space,
    )
    store.update_search(config.search.name, config_file=str(file))
    return created


def drive(
    store: Store,
    config: SearchConfig,
    *,
    say: Callable[[str], None],
    each_cycle: Callable[[list[Document]], None] = lambda documents: None,
    on_outage: Callable[[], object] = lambda: None,
) -> "Outcome":
    """Run the driver until the budget is spent or SIGINT/SIGTERM; adds the wall seconds to the search."""
    from search.driver import Driver  # it imports HyperOpt, which takes a second

    stop = threading.Event()
    previous = {n: signal.signal(n, _stopper(stop)) for n in (signal.SIGINT, signal.SIGTERM)}
    started = time.monotonic()
    name = config.search.name
    try:
        outcome = Driver(store, config, say=say, on_outage=on_outage).run(stop, each_cycle)
        if outcome.enqueued or not store.search(name).get("wall_seconds"):
            earlier = store.search(name).get("wall_seconds") or 0.0
            store.update_search(name, wall_seconds=earlier + time.monotonic() - started)
        return outcome
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_search(
    place: Place,
    config: SearchConfig,
    file: Path,
    *,
    workers: int | None,
    devices: list[str] | None,
    allow_mixed: bool,
    force_space: bool,
    say: Callable[[str], None],
    progress: Progress,
    watcher: Watcher,
) -> "tuple[Outcome, Path]":
    """Prepare, launch workers, drive, export, report. Returns the outcome and the path of `report.html`."""
    folder = RunFolder.of(place.results, config.search.name)
    with place.server() as server, Store.connect(server.uri, lease_seconds=config.search.lease_seconds) as store:
        config = resolve_device(store, config)
        created = open_search(store, config, file, force_space=force_space)
        say(f"{'new search' if created else 'continuing'} `{config.search.name}` in {folder.root}")
        if not _budget_spent(store, config):
            note_materials(store, config, progress)
        launcher = _launcher(store, config, place, folder, workers, devices, allow_mixed)
        outcome = _drive_with(launcher, store, config, say, watcher, server.revive)
        report = make_report(store, config.search.name, folder)
    return outcome, report


def make_report(store: Store, name: str, folder: RunFolder, out: Path | None = None) -> Path:
    """Export the tables and write the report; the path of `report.html`."""
    # Slow to import, and no other step of a search needs them.
    from search.export import export_tables
    from search.report import write_report

    tables = export_tables(store, name, folder, data_root())
    return write_report(tables, out or folder.report)


def note_materials(store: Store, config: SearchConfig, progress: Progress) -> None:
    """Prepare what trials need and store its description and the seconds that it took. A toy needs nothing."""
    if config.training.learner == "toy":
        return
    from search.materials import prepare

    started = time.monotonic()
    materials = prepare(config, data_root(), progress)
    seconds = time.monotonic() - started
    name = config.search.name
    earlier = store.search(name).get("preparation_seconds") or 0.0
    store.update_search(name, materials=materials.describe(), preparation_seconds=max(earlier, seconds))


def _drive_with(
    launcher: LocalProcesses,
    store: Store,
    config: SearchConfig,
    say: Callable[[str], None],
    watcher: Watcher,
    on_outage: Callable[[], object],
) -> "Outcome":
    launched = False

    def each_cycle(documents: list[Document]) -> None:
        nonlocal launched
        if not launched:
            launcher.start()
            launched = True
        launcher.check()
        watcher.update(documents)

    try:
        with watcher:
            outcome = drive(store, config, say=say, each_cycle=each_cycle, on_outage=on_outage)
            if launched:
                watcher.update(store.jobs(config.search.name), at_once=True)
        if outcome.interrupted:
            say("interrupted: the workers write a checkpoint and give their trials back")
    finally:
        launcher.stop(config.search.grace_seconds + 10.0)
    return outcome


def _launcher(
    store: Store,
    config: SearchConfig,
    place: Place,
    folder: RunFolder,
    workers: int | None,
    devices: list[str] | None,
    allow_mixed: bool,
) -> LocalProcesses:
    cores = usable_cores()
    devices = devices or default_devices(config.training.device)
    count = workers or (min(cores, 8) if devices == ["cpu"] else len(devices))
    slots = device_slots(devices, -(-count // len(devices)))[:count]
    name = config.search.name
    return LocalProcesses(
        slots,
        name=name,
        uri=place.uri,
        logs=folder.logs,
        results=place.results,
        threads=max(1, cores // count),
        store=store,
        allow_mixed=allow_mixed,
    )


def _budget_spent(store: Store, config: SearchConfig) -> bool:
    counts = store.counts(config.search.name)
    final = sum(counts.get(state, 0) for state in ("DONE", "ERROR", "CANCEL"))
    return final >= config.search.max_trials and final == sum(counts.values())


def _stopper(stop: threading.Event) -> Callable[[int, object], None]:
    def handler(number: int, _frame: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    return handler
