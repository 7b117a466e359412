"""Where a command works: its results folder and its store, the embedded server or one given by a URI."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from search.errors import StoreError, UsageError
from search.mongod import EmbeddedServer
from search.paths import results_root
from search.store import Store
from search.store.uri import holds_secret, is_uri


@dataclass
class Server:
    """The store's address; `revive` restarts the embedded server if it died, and does nothing for any other."""

    uri: str = field(repr=False)
    embedded: EmbeddedServer | None = None

    def revive(self, say: Callable[[str], None] = print) -> None:
        """Restart the embedded server where it is ours and dead; what stands in the way is said, not raised."""
        if self.embedded is not None:
            try:
                self.embedded.ensure_running()
            except (StoreError, OSError) as error:
                say(str(error))


@dataclass(frozen=True)
class Place:
    """The results folder and, unless the embedded server is meant, a store's URI."""

    results: Path
    uri: str | None = field(default=None, repr=False)

    @classmethod
    def given(cls, mongo: str | None) -> "Place":
        """From `--mongo` (a URI, or a file that holds it), else `HMS_MONGO`, else the embedded server.

        Raises:
            UsageError: neither a URI nor a readable file, or a password where others can see it. It is never quoted.
        """
        if mongo and is_uri(mongo) and holds_secret(mongo):
            raise UsageError(
                "--mongo holds a password, and everybody on this machine can read command lines (ps). Give it by the "
                "environment: export HMS_MONGO='mongodb://...'; or in a file that only you can read: --mongo FILE"
            )
        name, value = ("--mongo", mongo) if mongo else ("HMS_MONGO", os.environ.get("HMS_MONGO", ""))
        if value and not is_uri(value):
            value = uri_in(name, value)
        return cls(results_root(), value or None)

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


def uri_in(name: str, value: str) -> str:
    """The URI that the file `value` holds; `name` says who named the file."""
    path = Path(value).expanduser()
    if not path.is_file():
        shown = "(not shown: it may hold a password)" if "@" in value else value
        raise UsageError(f"{name} is neither a mongodb:// URI nor a file: {shown}")
    uri = path.read_text(encoding="utf-8", errors="replace").strip()
    if not is_uri(uri):
        raise UsageError(f"{name} names {path}, which holds no URI: it must begin with mongodb:// or mongodb+srv://")
    mode = stat.S_IMODE(path.stat().st_mode)
    if holds_secret(uri) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"{path} holds a password, and others can read it (mode {mode:04o}): chmod 600 {path}")
    return uri
