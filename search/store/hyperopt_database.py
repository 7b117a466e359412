"""A database that stock HyperOpt's `MongoTrials` wrote, to be read and left as it is.

Only documents of its trials are read. Its GridFS holds pickles (the objective, attachments), which are never opened.
"""

from typing import Self

from search.errors import UsageError
from search.store.connection import Connection, speaks_mongo
from search.store.contract import Document

READ = ("_id", "tid", "exp_key", "state", "result", "misc", "owner", "book_time", "refresh_time", "version", "error")


class HyperoptDatabase(Connection):
    """Trials by `exp_key`. Any server that the driver still speaks to will do, a standalone one too."""

    @classmethod
    def open(cls, uri: str) -> Self:
        """Connect to `mongodb://HOST:PORT/DATABASE`: HyperOpt's `mongo://HOST:PORT/DATABASE/jobs` in MongoDB's words.

        Raises:
            UsageError: no URI, or one that names no database.
            StoreUnreachable, StoreRefused: see `Connection.connect`.
        """
        database = uri.partition("?")[0].partition("://")[2].partition("/")[2]
        if not database or "/" in database:
            raise UsageError(
                "the URI must name the database that HyperOpt used: mongodb://HOST:PORT/DATABASE "
                "(where HyperOpt was given mongo://HOST:PORT/DATABASE/jobs)"
            )
        return cls.connect(uri, database=database)

    @property
    def place(self) -> str:
        """Hosts and database, without any login."""
        return f"{self._hosts}/{self._jobs.database.name}"

    @speaks_mongo
    def exp_keys(self) -> list[str | None]:
        """The searches of the database; None is one without a key."""
        found = {group["_id"] for group in self._jobs.aggregate([{"$group": {"_id": "$exp_key"}}])}
        return sorted(found, key=lambda key: (key is not None, key))

    @speaks_mongo
    def trials(self, exp_key: str | None) -> list[Document]:
        """The documents of one search in the order of (tid, version), with `_id`, which names one without a tid."""
        found = self._jobs.find({"exp_key": exp_key}, dict.fromkeys(READ, True))
        return list(found.sort([("tid", 1), ("version", 1)]))

    def _check_server(self) -> None:
        with self._translated():
            self._jobs.find_one({}, {"_id": True})

    def _make_indexes(self) -> None:
        """None: nothing is written there."""
