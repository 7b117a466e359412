"""`hms report`: of one search, of one that still runs again and again, or of several side by side."""

import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from search.config_section import NAME_PATTERN
from search.errors import EpochNotReached, UsageError
from search.paths import RunFolder, data_root
from search.place import Place
from search.run import make_report
from search.store import Store, waiting

LOOK_SECONDS = 2.0

Say = Callable[[str], None]


def report_one(place: Place, given: str, out: Path | None, epoch_rule: str) -> Path:
    """Write the report of a search, or of a folder of exported tables, which needs no database; its path."""
    if _is_folder(given):
        from search.report import write_report

        folder = Path(given).resolve()
        run = folder if (folder / "tables").is_dir() else folder.parent
        return write_report(folder, out or run / "report", epoch_rule)
    with place.store() as store:
        return make_report(store, given, RunFolder.of(place.results, given), out, epoch_rule)


def compare(place: Place, given: list[str], out: Path | None, epoch_rule: str) -> Path:
    """Write the page that sets these searches, or folders of exported tables, side by side; its path."""
    from search.export import export_tables
    from search.report import write_comparison

    folders = {name: Path(name).resolve() for name in given if _is_folder(name)}
    names = [name for name in given if name not in folders]
    if len({*folders.values(), *names}) < len(given):
        raise UsageError("the same search twice: name each once")
    if names:
        with place.store() as store:
            for name in names:
                store.search(name)  # all are there before any is exported
            for name in names:
                folders[name] = export_tables(store, name, RunFolder.of(place.results, name), data_root())
    # `+` is in no search's name, so that this is no search's folder.
    default = place.results / "+".join(name if name in names else _title(folders[name]) for name in given)
    return write_comparison([folders[name] for name in given], out or default, epoch_rule)


def follow(place: Place, given: str, out: Path | None, epoch_rule: str, every: float, say: Say) -> Path:
    """Write the report of a search every so many seconds until the search is finished; its path.

    Figures for print are drawn at the beginning and at the end. A store that does not answer is waited for, and so is
    the epoch of a rule that no network has reached yet.

    Raises:
        UsageError: a folder of tables, which does not change; no such search; at its end, no network of that epoch.
        KeyboardInterrupt: Ctrl-C, after a line that says which report stays.
    """
    if _is_folder(given):
        raise UsageError(f"{given} is a folder of tables, which does not change: --watch takes the name of a search")
    folder, written = RunFolder.of(place.results, given), ""
    with place.store() as store:
        try:
            while True:
                ended = _ended(store, given)
                write = partial(make_report, store, given, folder, out, epoch_rule, printed=ended or not written)
                try:
                    page = waiting(write)
                except EpochNotReached as error:
                    if ended:
                        raise
                    say(f"{datetime.now():%H:%M:%S} {_counts(store, given)}: no report yet: {error}")
                else:
                    written = f"{datetime.now():%H:%M:%S} {_counts(store, given)}: {page}"
                    say(written)
                    if ended:
                        return page
                due = time.monotonic() + every
                while not _ended(store, given) and (left := due - time.monotonic()) > 0:
                    time.sleep(min(left, LOOK_SECONDS))
        except KeyboardInterrupt:
            say(f"no longer followed; it stays as of {written}" if written else "no report was written")
            raise


def _title(folder: Path) -> str:
    """The search's folder, also where its `tables` were given."""
    return folder.parent.name if folder.name == "tables" else folder.name


def _ended(store: Store, name: str) -> bool:
    """Finished; or cancelled and none waits or runs, where no driver was there to see it."""
    search = waiting(lambda: store.search(name))
    if search.get("finished") or not search.get("cancelled"):
        return bool(search.get("finished"))
    counts = waiting(lambda: store.counts(name))
    return not counts["NEW"] and not counts["RUNNING"]


def _counts(store: Store, name: str) -> str:
    counts = waiting(lambda: store.counts(name))
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"


def _is_folder(given: str) -> bool:
    """Whether a folder is meant: what could be a search's name is one, also where a folder is called so."""
    return not re.fullmatch(NAME_PATTERN, given) and Path(given).is_dir()
