"""Where a command works: its results folder and its store, the embedded server or one given by a URI."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from search.errors import StoreError, UsageError
from search.mongod import EmbeddedServer
from search.paths import results_root
from search.store import Store


@dataclass
class Server:
    """The store's address; `revive` restarts the embedded server if it died, and does nothing for any other."""

    uri: str
    embedded: EmbeddedServer | None = None

    def revive(self, say: Callable[[str], None] = print) -> None:
        """Restart the embedded server where it is ours and dead; what stands in the way is said, not raised."""
        if self.embedded is not None:
            try:
                self.embedded.ensure_running()
            except StoreError as error:
                say(str(error))


@dataclass(frozen=True)
class Place:
    """The results folder and, unless the embedded server is meant, a store's URI."""

    results: Path
    uri: str | None = None

    @classmethod
    def given(cls, mongo: str | None) -> "Place":
        """From `--mongo` (a URI, or a file that holds it), else `HMS_MONGO`, else the embedded server.

        Raises:
            UsageError: neither a URI nor a readable file. A value that may hold a password is not quoted.
        """
        name, value = ("--mongo", mongo) if mongo else ("HMS_MONGO", os.environ.get("HMS_MONGO", ""))
        if value and not value.startswith(("mongodb://", "mongodb+srv://")):
            path = Path(value).expanduser()
            if not path.is_file():
                shown = "(not shown: it may hold a password)" if "@" in value else value
                raise UsageError(f"{name} is neither a mongodb:// URI nor a file: {shown}")
            value = path.read_text(encoding="utf-8").strip()
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
