"""`hms run`: everything on this machine, from preparing the data to the report; and the parts that other commands share."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.config import SearchConfig
from search.config_reader import parse_config
from search.driver import Driver, Outcome
from search.errors import UnknownSearch
from search.export import export_tables
from search.launch import LocalProcesses, default_devices, device_slots
from search.materials import Progress, prepare
from search.mongod import embedded_server
from search.paths import RunFolder, data_root
from search.provenance import provenance, usable_cores
from search.report import write_report
from search.store import Store
from search.watch import Watcher


@dataclass(frozen=True)
class Place:
    """Where a command works: the results folder and, unless the embedded server is meant, a store's URI."""

    results: Path
    uri: str | None = None

    @contextmanager
    def server(self) -> Iterator[str]:
        """The URI of the store; the embedded server runs for as long as the block."""
        if self.uri is not None:
            yield self.uri
            return
        self.results.mkdir(parents=True, exist_ok=True)
        with embedded_server(self.results) as uri:
            yield uri

    @contextmanager
    def store(self, lease_seconds: float = 180.0) -> Iterator[Store]:
        """A connected store, closed at the end."""
        with self.server() as uri:
            store = Store.connect(uri, lease_seconds=lease_seconds)
            try:
                yield store
            finally:
                store.close()


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


def open_search(store: Store, config: SearchConfig, *, force_space: bool = False) -> bool:
    """Create the search or continue it; whether it was created.

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
    return created


def drive(
    store: Store,
    config: SearchConfig,
    *,
    say: Callable[[str], None],
    each_cycle: Callable[[dict[int, dict[str, Any]]], None] = lambda documents: None,
) -> Outcome:
    """Run the driver until the budget is spent or SIGINT/SIGTERM; adds the wall seconds to the search."""
    stop = threading.Event()
    previous = {n: signal.signal(n, _stopper(stop)) for n in (signal.SIGINT, signal.SIGTERM)}
    started = time.monotonic()
    name = config.search.name
    try:
        outcome = Driver(store, config, say=say).run(stop, each_cycle)
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
    *,
    workers: int | None,
    devices: list[str] | None,
    allow_mixed: bool,
    force_space: bool,
    say: Callable[[str], None],
    progress: Progress,
    watcher: Watcher,
) -> tuple[Outcome, Path]:
    """Prepare, launch workers, drive, export, report. Returns the outcome and the path of `report.html`."""
    folder = RunFolder.of(place.results, config.search.name)
    with place.server() as uri:
        store = Store.connect(uri, lease_seconds=config.search.lease_seconds)
        try:
            config = resolve_device(store, config)
            created = open_search(store, config, force_space=force_space)
            say(f"{'new search' if created else 'continuing'} `{config.search.name}` in {folder.root}")
            if not _budget_spent(store, config):
                note_materials(store, config, progress)
            launcher = _launcher(store, config, uri, place, folder, workers, devices, allow_mixed)
            outcome = _drive_with(launcher, store, config, say, watcher)
            report = make_report(store, config.search.name, folder)
        finally:
            store.close()
    return outcome, report


def make_report(store: Store, name: str, folder: RunFolder) -> Path:
    """Export the tables and write the report; the path of `report.html`."""
    tables = export_tables(store, name, folder, data_root())
    return write_report(tables, folder.report)


def note_materials(store: Store, config: SearchConfig, progress: Progress) -> None:
    """Prepare what trials need and store its description and the seconds that it took."""
    started = time.monotonic()
    materials = prepare(config, data_root(), progress)
    seconds = time.monotonic() - started
    name = config.search.name
    earlier = store.search(name).get("preparation_seconds") or 0.0
    store.update_search(name, materials=materials.describe(), preparation_seconds=max(earlier, seconds))


def _drive_with(
    launcher: LocalProcesses, store: Store, config: SearchConfig, say: Callable[[str], None], watcher: Watcher
) -> Outcome:
    launched = False

    def each_cycle(documents: dict[int, dict[str, Any]]) -> None:
        nonlocal launched
        if not launched:
            store.release_dead(config.search.name)
            launcher.start()
            launched = True
        launcher.check()
        watcher.update(documents, store)

    try:
        with watcher:
            outcome = drive(store, config, say=say, each_cycle=each_cycle)
        if outcome.interrupted:
            say("interrupted: the workers write a checkpoint and give their trials back")
    finally:
        launcher.stop(config.search.grace_seconds + 10.0)
    return outcome


def _launcher(
    store: Store,
    config: SearchConfig,
    uri: str,
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
        uri=uri,
        logs=folder.logs,
        results=place.results,
        threads=max(1, cores // count),
        released=lambda pid, started: store.release_process(name, pid, started),
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
