"""One MongoDB server for a results folder, started by its first user and stopped by its last one."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from search.errors import StoreFull, StoreRefused, StoreUnreachable
from search.mongod.binary import find_mongod
from search.mongod.folder import ServerFolder, ServerState, write_private
from search.mongod.process import PortTaken, free_port, start_mongod, stop_mongod, stop_orphan
from search.mongod.replica_set import make_usable, server_pid
from search.mongod.users import Users
from search.process_identity import ProcessIdentity

LOCK_SECONDS = 120.0
JOIN_SECONDS = 10.0
PORTS_TRIED = 5


@contextmanager
def embedded_server(results_dir: Path, mongod: Path | None = None) -> Iterator[str]:
    """Start or join the server of a results folder; gives its URI and leaves it at the end.

    Every process that uses the server should enter by itself: one that does not is not counted, and the server may
    stop under it.
    """
    server = EmbeddedServer(results_dir, mongod)
    server.join()
    try:
        yield server.uri
    finally:
        server.leave()


class EmbeddedServer:
    """A user's hold on the embedded server: `join`, `ensure_running` now and then, `leave`."""

    def __init__(self, results_dir: Path, mongod: Path | None = None) -> None:
        self._folder = ServerFolder(results_dir)
        self._program = mongod
        self._users = Users(self._folder.users)
        self._ticket = ""
        self._joined_in = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._state: ServerState | None = None

    @property
    def uri(self) -> str:
        """The URI with its password; hand it on by a 0600 file or an environment variable, never in argv."""
        return self._known_state().uri

    @property
    def uri_file(self) -> Path:
        """The file, readable by its owner only, that holds the URI while the server runs."""
        return self._folder.uri

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self._folder.log

    @property
    def pid(self) -> int:
        """The pid of the server."""
        return self._known_state().pid

    def join(self) -> None:
        """Start the server, or join the running one.

        Raises `ServerMissing`, `UsageError` (network file system), `StoreRefused`, `StoreFull`, `StoreUnreachable`.
        """
        self._folder.prepare()
        with self._locked():
            self._state = self._running_or_started()
            self._ticket = self._users.add()
            self._joined_in = os.getpid()

    def leave(self) -> None:
        """Leave the server; the last live user stops it. Calling it twice does nothing more."""
        if not self._ticket or self._joined_in != os.getpid():
            return
        with self._locked():
            remaining = self._users.remove(self._ticket)
            self._ticket = ""
            if remaining == 0:
                self._stop()
        self._reap_child()

    def ensure_running(self) -> bool:
        """Restart the server if it died; returns whether it had to be.

        It comes back on its port, so that connected clients go on by themselves. Only if another program took the
        port meanwhile does `uri` change.
        """
        with self._locked():
            before = self._known_state()
            self._state = self._running_or_started()
            return self._state.pid != before.pid

    def _known_state(self) -> ServerState:
        if self._state is None:
            raise RuntimeError("join() comes first")
        return self._state

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            # The operating system frees the lock of a killed process; the file that stays behind means nothing.
            with FileLock(self._folder.lock, timeout=LOCK_SECONDS, mode=0o600):
                yield
        except Timeout:
            raise StoreUnreachable(
                f"another process has held {self._folder.lock} for {LOCK_SECONDS:.0f} s. Find it: "
                f"fuser {self._folder.lock}"
            ) from None
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise StoreFull(
                f"the disk of {self._folder.root} is full: its files cannot be written. Make room, then repeat"
            ) from None

    def _running_or_started(self) -> ServerState:
        self._reap_child()
        state = self._folder.read_state()
        identity = _identity(state)
        if identity is not None and self._usable(state, identity):
            return state
        return self._start(state)

    def _usable(self, state: ServerState, identity: ProcessIdentity) -> bool:
        """Whether the recorded process serves; False when it is dead or just dying; raises when it hangs."""
        answering = server_pid(state)
        if answering is None and identity.alive():
            try:
                # Its start may have been killed half-way.
                make_usable(state, JOIN_SECONDS)
                answering = server_pid(state)
            except StoreUnreachable:
                answering = None
        if answering == state.pid:
            return True
        if not identity.alive():
            return False
        seen = "nothing answers" if answering is None else f"pid {answering} answers"
        raise StoreUnreachable(
            f"the embedded server (pid {state.pid}) runs, but {seen} at {state.address}. If it hangs, end it: "
            f"kill -9 {state.pid}; then repeat the command"
        )

    def _start(self, state: ServerState) -> ServerState:
        program = find_mongod(self._program)
        stop_orphan(self._folder)
        for attempt in range(PORTS_TRIED):
            # The old port first: clients that are still connected find the server again.
            port = state.port if attempt == 0 and state.port else free_port()
            try:
                self._child = start_mongod(program, self._folder, port, state.replica_set)
            except PortTaken:
                continue
            return self._publish(replace(state, port=port), self._child.pid)
        raise StoreRefused(f"{PORTS_TRIED} ports of 127.0.0.1 in a row were taken while mongod started; try again")

    def _publish(self, state: ServerState, pid: int) -> ServerState:
        identity = ProcessIdentity.of(pid)
        if identity is None:
            raise StoreUnreachable(f"mongod (pid {pid}) ended right after its start; its log: less {self._folder.log}")
        state = replace(state, pid=pid, started=identity.started)
        self._folder.write_state(state)
        make_usable(state)
        if server_pid(state) != pid:
            raise StoreUnreachable(f"mongod (pid {pid}) does not answer at {state.address}; see {self._folder.log}")
        write_private(self._folder.uri, state.uri + "\n")
        return state

    def _stop(self) -> None:
        identity = _identity(self._folder.read_state())
        if identity is not None:
            stop_mongod(identity)
        self._folder.uri.unlink(missing_ok=True)

    def _reap_child(self) -> None:
        if self._child is not None and self._child.poll() is not None:
            self._child = None


def _identity(state: ServerState) -> ProcessIdentity | None:
    """The process that the state names, if a process of that pid and start time runs."""
    identity = ProcessIdentity.of(state.pid) if state.pid else None
    return identity if identity is not None and identity.started == state.started else None
