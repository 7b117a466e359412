"""`hms run`: everything on this machine, from preparing data to the report; and the parts that other commands share."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.config import SearchConfig
from search.config_reader import parse_config
from search.errors import SearchChanged, StoreError, UnknownSearch, UsageError
from search.launch import Launcher
from search.launch_choice import LaunchOrder, RunOptions, choose_launcher, refuse_unlaunchable
from search.learning_curve import require_tensorboard
from search.logged_metrics import described, metric_versions
from search.paths import RunFolder, data_root
from search.place import Place
from search.process_identity import ProcessIdentity
from search.progress import Progress
from search.provenance import provenance
from search.store import Document, Store
from search.store.driver_lock import LOCK_SECONDS
from search.watch import Watcher

if TYPE_CHECKING:
    from search.driver import Outcome


def stored_config(store: Store, name: str) -> SearchConfig:
    """The resolved configuration that the search `name` was made with."""
    search = store.search(name)
    if "imported" in search:
        raise UsageError(f"`{name}` was imported from HyperOpt: it can be exported and reported, not continued")
    return parse_config(search["config"], source=f"the stored search `{name}`")


def resolve_device(store: Store, config: SearchConfig) -> SearchConfig:
    """Replace `device: auto` by the stored search's class, or by what the workers will have."""
    if config.training.device != "auto":
        return config
    try:
        device = store.search(config.search.name)["config"]["training"]["device"]
    except UnknownSearch:
        device = "cuda" if _gpu_expected(config) else "cpu"
    return config.model_copy(update={"training": config.training.model_copy(update={"device": device})})


def _gpu_expected(config: SearchConfig) -> bool:
    """Whether this machine has a GPU; under Slurm, where the login node has none, whether workers ask for one."""
    if config.launch.kind == "slurm":
        return config.launch.slurm.gpus_per_worker != 0
    import torch

    return bool(torch.cuda.is_available())


def open_search(store: Store, config: SearchConfig, command: str, *, force_space: bool = False) -> tuple[bool, str]:
    """Create the search or continue it: (whether it was created, the driver lock). `command` repeats it.

    Raises:
        SearchChanged: it exists with another space or training configuration.
        DriverRunning: another driver works on it; nothing was changed.
        MetricError: a metric of another package cannot be imported.
    """
    metrics, versions = described(config), metric_versions(config)
    name = config.search.name
    origin = {**provenance(), **({"metrics": versions} if versions else {})}
    given = {"config": config.document(), "hashes": config.hashes(), "provenance": origin}
    created = store.create(name, **given)
    lock = store.acquire_driver(name, ProcessIdentity.current().to_dict(), LOCK_SECONDS)
    try:  # only the holder of the lock may write what a running driver goes by
        if not created:
            store.create_or_resume(name, **given, force_space=force_space)
        store.update_search(name, command=command, metrics=metrics)
    except BaseException:
        with contextlib.suppress(StoreError):
            store.release_driver(name, lock)
        raise
    return created, lock


def drive(
    store: Store,
    config: SearchConfig,
    lock: str,
    *,
    say: Callable[[str], None],
    each_cycle: Callable[[list[Document]], None] = lambda documents: None,
    on_outage: Callable[[], object] = lambda: None,
) -> "Outcome":
    """Run the driver until the budget is spent or a signal; adds the wall seconds to the search."""
    from search.driver import Driver  # it imports HyperOpt, which takes a second

    stop = threading.Event()
    previous = {n: signal.signal(n, _stopper(stop)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    started = time.monotonic()
    name = config.search.name
    try:
        outcome = Driver(store, config, say=say, on_outage=on_outage).run(lock, stop, each_cycle)
        if outcome.worked:
            earlier = store.search(name).get("wall_seconds") or 0.0
            store.update_search(name, wall_seconds=earlier + time.monotonic() - started)
        return outcome
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_search(
    place: Place,
    config: SearchConfig,
    options: RunOptions,
    *,
    say: Callable[[str], None],
    progress: Progress,
    watcher: Watcher,
) -> "tuple[Outcome, Path | None]":
    """Prepare, launch workers, drive, export, report. Returns the outcome and the path of `report.html`.

    A search that was interrupted before a trial ended has no report.
    """
    refuse_unlaunchable(config, place, options)
    folder = RunFolder.of(place.results, config.search.name)
    with place.server() as server, Store.connect(server.uri, lease_seconds=config.search.lease_seconds) as store:
        config = resolve_device(store, config)
        require_tensorboard(config)
        launcher = choose_launcher(LaunchOrder(store, config, place, folder, options, say))
        created, lock = open_search(store, config, options.command, force_space=options.force_space)
        say(f"{'new search' if created else 'continuing'} `{config.search.name}` in {folder.root}")
        if not _budget_spent(store, config):
            for warning in note_materials(store, config, lock, progress):
                say(f"warning: {warning}")
        outcome = _drive_with(launcher, store, config, lock, say, watcher, lambda: server.revive(say))
        if outcome.interrupted and not store.counts(config.search.name).get("DONE"):
            return outcome, None
        report = make_report(store, config.search.name, folder)
    return outcome, report


def make_report(
    store: Store,
    name: str,
    folder: RunFolder,
    out: Path | None = None,
    epoch_rule: str = "last",
    *,
    printed: bool = True,
) -> Path:
    """Export the tables and write the report, with its figures for print if `printed`; the path of `report.html`."""
    # Slow to import, and no other step of a search needs them.
    from search.export import export_tables
    from search.report import write_report

    tables = export_tables(store, name, folder, data_root())
    return write_report(tables, out or folder.report, epoch_rule, printed=printed)


def note_materials(store: Store, config: SearchConfig, lock: str, progress: Progress | None = None) -> list[str]:
    """Prepare what trials need; store its description and the seconds that it took; warnings. A toy needs nothing.

    It may take hours: the driver's `lock` is renewed meanwhile.

    Raises:
        SearchChanged: the search was begun with other data.
    """
    started = time.monotonic()
    with _renewed(store, config.search.name, lock):
        described = check_materials(store, config, progress)
    if described is not None:
        name = config.search.name
        seconds = max(store.search(name).get("preparation_seconds") or 0.0, time.monotonic() - started)
        store.update_search(name, materials=described, preparation_seconds=seconds)
    return described["warnings"] if described is not None else []


@contextlib.contextmanager
def _renewed(store: Store, name: str, lock: str) -> Iterator[None]:
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(LOCK_SECONDS / 3):
            with contextlib.suppress(StoreError):  # the next one may get through; a lost lock stops the driver later
                store.renew_driver(name, lock, LOCK_SECONDS)

    thread = threading.Thread(target=renew, daemon=True, name="driver lock")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def check_materials(store: Store, config: SearchConfig, progress: Progress | None = None) -> dict[str, Any] | None:
    """Prepare what trials need on this machine and compare it with what the search was begun with; its description.

    Raises:
        SearchChanged: other frames, windows, objects or matching trials: numbers would not be comparable.
    """
    if config.training.learner == "toy":
        return None
    from search.materials import prepare

    described = prepare(config, data_root(), progress).describe()
    name = config.search.name
    stored = store.search(name).get("materials")
    changed = [key for key, digest in described["digests"].items() if stored and stored["digests"].get(key) != digest]
    if changed:
        raise SearchChanged(
            f"the search `{name}` was begun with other data ({', '.join(changed)}) than {data_root()} holds now: its "
            "numbers could not be compared. Restore the data, or take another name: --name NEW"
        )
    return described


def _drive_with(
    launcher: Launcher,
    store: Store,
    config: SearchConfig,
    lock: str,
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
            outcome = drive(store, config, lock, say=say, each_cycle=each_cycle, on_outage=on_outage)
            if launched:
                watcher.update(store.jobs(config.search.name), at_once=True)
        if outcome.interrupted:
            say("interrupted: the workers write a checkpoint and give their trials back")
    finally:
        launcher.stop(config.search.grace_seconds + 10.0)
    return outcome


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
