"""The connection to MongoDB: options, checks at connect, and the translation of driver errors into ours."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import pymongo
from bson.errors import InvalidDocument
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    InvalidURI,
    OperationFailure,
    PyMongoError,
)

from search.errors import DocumentRefused, StoreError, StoreFull, StoreRefused, StoreUnreachable, UsageError
from search.store.continuity import Continuity
from search.store.contract import INDEXES, Document

R = TypeVar("R")
Method = TypeVar("Method", bound=Callable[..., Any])

OLDEST_SERVER = (5, 0)
SOCKET_SECONDS = 30.0
UNAUTHORIZED = (13, 18, 8000)
OUT_OF_DISK = (14031, 28)
TOO_LARGE = (10334, 17419, 17420)


class Connection:
    """A connected database. Safe to use from several threads; not across a fork: connect again in the child."""

    def __init__(
        self,
        client: MongoClient[Document],
        database: str,
        uri: str,
        continuity: Continuity,
        *,
        lease_seconds: float,
        timeout_seconds: float,
    ) -> None:
        self._client = client
        self._jobs = client[database]["jobs"]
        self._metrics = client[database]["metrics"]
        self._searches = client[database]["searches"]
        self._timeout_seconds = timeout_seconds
        self._login, self._hosts = _split_uri(uri)
        self._continuity = continuity
        self._unanswered: dict[str, str] = {}
        self.lease_seconds = lease_seconds

    @property
    def lease_seconds(self) -> float:
        """How long a reservation holds without a heartbeat, and how long a reaper must be connected before it reaps."""
        return self._lease_seconds

    @lease_seconds.setter
    def lease_seconds(self, seconds: float) -> None:
        self._lease_seconds = seconds
        # A reaper that was silent for longer may have missed an outage.
        self._continuity.longest_silence = seconds / 2

    @classmethod
    def connect(
        cls, uri: str, *, database: str = "hms", lease_seconds: float = 180.0, timeout_seconds: float = 10.0
    ) -> Self:
        """Connect, check the server, and make the indexes.

        The URI is passed through unchanged (authentication, TLS, srv, read concern); `w=majority`, `journal=true` and
        `retryWrites=true` hold unless it says otherwise. Raises `UsageError` (not a URI), `StoreUnreachable`,
        `StoreRefused` (authentication, standalone server, old version); never with the password in the message.
        """
        continuity = Continuity()
        try:
            if not uri.startswith(("mongodb://", "mongodb+srv://")):
                raise InvalidURI("it must begin with mongodb:// or mongodb+srv://")
            client: MongoClient[Document] = MongoClient(
                uri, tz_aware=True, appname="hms", **_defaults(uri, timeout_seconds)
            )
        except (InvalidURI, ConfigurationError, ValueError, OSError) as error:
            # `from None`: the driver's error may quote the URI.
            raise UsageError(
                f"the MongoDB URI is not valid: {_redacted(str(error), uri)}. "
                "It looks like mongodb://USER:PASSWORD@HOST:27017/?replicaSet=NAME"
            ) from None
        connection = cls(
            client, database, uri, continuity, lease_seconds=lease_seconds, timeout_seconds=timeout_seconds
        )
        try:
            connection._check_server()
            connection._make_indexes()
        except BaseException:
            client.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._hosts}, database {self._jobs.database.name}>"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PyMongoError as error:
            translated = self._translate(error)
            if isinstance(translated, StoreUnreachable):
                self._continuity.lost()
            raise translated from None
        except (InvalidDocument, OverflowError) as error:
            raise DocumentRefused(f"MongoDB cannot hold this document: {error}") from None
        self._continuity.heard()

    def _transaction(self, body: Callable[[ClientSession], R]) -> R:
        """Run `body` as one transaction, repeated on conflicts, within the time that an operation may take."""
        with self._client.start_session() as session, pymongo.timeout(self._timeout_seconds):
            return session.with_transaction(body)

    def _check_server(self) -> None:
        with self._translated():
            hello = self._client.admin.command("hello")
            version = tuple(self._client.server_info()["versionArray"][:2])
        if "setName" not in hello and hello.get("msg") != "isdbgrid":
            raise StoreRefused(
                f"the MongoDB server at {self._hosts} stands alone, but transactions need a replica set. Restart it as "
                "one of a single node: mongod --replSet rs0 (with its other options), then once: "
                "mongosh --eval 'rs.initiate()'"
            )
        if version < OLDEST_SERVER:
            raise StoreRefused(
                f"the MongoDB server at {self._hosts} is version {version[0]}.{version[1]}; "
                f"{OLDEST_SERVER[0]}.{OLDEST_SERVER[1]} or later is needed. Upgrade it, or pass another: --mongo URI"
            )

    def _make_indexes(self) -> None:
        with self._translated():
            for collection, indexes in INDEXES.items():
                for keys, unique in indexes:
                    self._jobs.database[collection].create_index([(key, 1) for key in keys], unique=unique)

    def _translate(self, error: PyMongoError) -> Exception:
        if isinstance(error, OperationFailure) and error.code is not None:
            if error.code in UNAUTHORIZED:
                user = self._login[0] or "(none given)"
                return StoreRefused(
                    f"the MongoDB server at {self._hosts} refused the user {user}: {self._reason(error)}. Check user, "
                    "password and authSource of the URI (--mongo or HMS_MONGO)"
                )
            if error.code in OUT_OF_DISK or "No space left on device" in str(error):
                return StoreFull(
                    f"the disk of the MongoDB server at {self._hosts} is full. Make room there, then repeat"
                )
            if error.code in TOO_LARGE:
                return DocumentRefused(f"a document is larger than MongoDB's 16 MB: {self._reason(error)}")
        if isinstance(error, DocumentTooLarge):
            return DocumentRefused(f"a document is larger than MongoDB's 16 MB: {self._reason(error)}")
        if isinstance(error, ConnectionFailure) or error.timeout or error.has_error_label("TransientTransactionError"):
            return self._unreachable(error)
        if isinstance(error, ConfigurationError):
            return StoreRefused(f"the MongoDB server at {self._hosts} cannot be used: {self._reason(error)}")
        return StoreError(f"the MongoDB server at {self._hosts} reports an error: {self._reason(error)}")

    def _unreachable(self, error: PyMongoError) -> StoreError:
        kinds = {server.server_type_name for server in self._client.topology_description.server_descriptions().values()}
        if "RSGhost" in kinds:
            return StoreRefused(
                f"the MongoDB server at {self._hosts} belongs to a replica set that was never initiated. Once: "
                "mongosh --eval 'rs.initiate()'"
            )
        return StoreUnreachable(
            f"no MongoDB server answers at {self._hosts} (tried {self._timeout_seconds:g} s): {self._reason(error)}. "
            "Check that it runs and that its port is open, or pass another one: --mongo URI; see also: hms doctor"
        )

    def _reason(self, error: PyMongoError) -> str:
        # The driver appends its view of the whole topology and the server's whole answer.
        text = str(error).partition(", Timeout:")[0].partition(", full error:")[0].partition(" (configured ")[0]
        login = ":".join(self._login)
        return _redacted(text, f"mongodb://{login}@host")


def speaks_mongo(method: Method) -> Method:
    """Make a public method of the store raise our errors instead of the driver's."""

    @functools.wraps(method)
    def translated(self: Connection, *args: Any, **kwargs: Any) -> Any:
        with self._translated():
            return method(self, *args, **kwargs)

    return cast(Method, translated)


def _defaults(uri: str, timeout_seconds: float) -> dict[str, Any]:
    """Our options, without those that the URI sets itself."""
    given = {key.lower() for key, _ in parse_qsl(uri.partition("?")[2].replace(";", "&"), keep_blank_values=True)}
    milliseconds = int(timeout_seconds * 1000)
    options = {
        "w": "majority",
        "journal": True,
        "retryWrites": True,
        "serverSelectionTimeoutMS": milliseconds,
        "connectTimeoutMS": milliseconds,
        "socketTimeoutMS": int(max(SOCKET_SECONDS, timeout_seconds) * 1000),
    }
    return {option: value for option, value in options.items() if option.lower() not in given}


def _split_uri(uri: str) -> tuple[tuple[str, ...], str]:
    """((user, password), hosts) of a URI, without any other part of it."""
    authority = uri.partition("://")[2].partition("?")[0]
    login, _, rest = authority.rpartition("@")
    user, _, password = login.partition(":")
    return (user, password), rest.partition("/")[0] or "(no host)"


def _redacted(text: str, uri: str) -> str:
    (_, password), _ = _split_uri(uri)
    for secret in {password, unquote(password)} - {""}:
        text = text.replace(secret, "***")
    return text
