"""The whole report of a search that is being followed, made again when somebody asks for it.

Tables and page are written to a temporary folder, by a process of its own: it takes seconds of computing, during which
the page goes on, and what `hms run` and `hms report` write stays as it is.
"""

import multiprocessing
import shutil
import signal
import tempfile
import threading
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from search.errors import HmsError
from search.paths import RunFolder, data_root

PAGE = "report.html"


@dataclass(frozen=True)
class Source:
    """What a report is made from; `uri` is the store's."""

    uri: str = field(repr=False)
    name: str
    folder: RunFolder


@dataclass(frozen=True)
class Built:
    """A report that was asked for: its files by their path in it; or why there is none, and those of the one before."""

    number: int
    files: dict[str, Path]
    folder: Path | None  # of the files; None without any
    error: str | None = None


class ReportCopy:
    """At most one report is being made at a time; the one before stays until the next is there."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._root = Path(tempfile.mkdtemp(prefix="hms-serve-"))
        self._lock = threading.Lock()
        self._number = 0
        self._process: multiprocessing.process.BaseProcess | None = None
        self.built: Built | None = None

    def request(self) -> int:
        """Begin to make the report unless that is going on; the number that `built` will have, or a higher one."""
        with self._lock:
            if self._process is None:
                self._number += 1
                context = multiprocessing.get_context("spawn")
                receiver, sender = context.Pipe(duplex=False)
                out = self._root / str(self._number)
                self._process = context.Process(target=_make, args=(self._source, out, sender), name="report")
                self._process.start()
                sender.close()
                waiting = (self._number, out, self._process, receiver)
                threading.Thread(target=self._await, args=waiting, daemon=True, name="report").start()
            return self._number

    @property
    def making(self) -> bool:
        """Whether a report is being made."""
        return self._process is not None

    def close(self) -> None:
        """End what is going on and remove the folder."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                process.terminate()
                process.join()
            shutil.rmtree(self._root, ignore_errors=True)

    def _await(
        self,
        number: int,
        out: Path,
        process: multiprocessing.process.BaseProcess,
        receiver: Connection,
    ) -> None:
        try:
            error: str | None = receiver.recv()
        except EOFError:
            process.join()
            error = f"the process that made the report ended with code {process.exitcode}"
        process.join()
        report = out / "report"
        files = {path.relative_to(report).as_posix(): path for path in report.rglob("*") if path.is_file()}
        with self._lock:
            before = self.built or Built(number, {}, None)
            failed = error is not None
            self.built = replace(before, number=number, error=error) if failed else Built(number, files, out)
            self._process = None
        over = out if failed else before.folder
        if over is not None:
            shutil.rmtree(over, ignore_errors=True)


def _make(source: Source, out: Path, sender: Connection) -> None:
    """In a process of its own: export the tables, write the report; send None, or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    from search.export import export_tables
    from search.report import write_report
    from search.store import Store

    try:
        with Store.connect(source.uri) as store:
            tables = export_tables(store, source.name, source.folder, data_root(), out / "tables")
        logs = source.folder.root / "trials"
        if logs.is_dir():
            (out / "trials").symlink_to(logs.absolute())  # beside the tables, where the report looks for logs
        write_report(tables, out / "report")
    except (HmsError, OSError) as error:
        sender.send(str(error))
    else:
        sender.send(None)
