"""The connection to MongoDB: options, checks at connect, and the translation of driver errors into ours."""

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar, cast

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
from search.store.confirmation import unconfirmed
from search.store.continuity import Continuity
from search.store.contract import INDEXES, Document
from search.store.uri import hosts, is_uri, options, redacted, stray_at, user

R = TypeVar("R")
Method = TypeVar("Method", bound=Callable[..., Any])

OLDEST_SERVER = (5, 0)
SOCKET_SECONDS = 30.0
NOT_AUTHORIZED = 13
REFUSED_LOGIN = (NOT_AUTHORIZED, 18, 8000)
READING = frozenset({"find", "getMore", "aggregate", "count", "distinct", "listIndexes", "listCollections"})
TLS_HINTS = {
    "connection closed": "If it asks for TLS, the URI needs tls=true. ",
    "SSL handshake failed": "If it does not speak TLS, the URI must not say tls=true. ",
}
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
        self._uri, self._user, self._hosts = uri, user(uri) or "(none given)", hosts(uri)
        self._continuity = continuity
        self._unanswered: dict[str, str] = {}
        self._abandoned: list[Any] = []
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
        """Connect, check the server, and make the indexes; a user who may only read needs none.

        The URI is passed through unchanged (authentication, TLS, srv, read concern); `w=majority`, `journal=true` and
        `retryWrites=true` hold unless it says otherwise. Raises `UsageError` (not a URI), `StoreUnreachable`,
        `StoreRefused` (authentication, a missing right, standalone server, old version); never with the password in the
        message.
        """
        continuity = Continuity()
        try:
            if not is_uri(uri):
                raise InvalidURI("it must begin with mongodb:// or mongodb+srv://")
            if stray_at(uri):
                raise InvalidURI("user and password must be percent-encoded (? is %3F), and so must each @ after the ?")
            client: MongoClient[Document] = MongoClient(
                uri, tz_aware=True, appname="hms", **_defaults(uri, timeout_seconds)
            )
        except (InvalidURI, ConfigurationError, ValueError, OSError) as error:
            # `from None`: the driver's error may quote the URI.
            raise UsageError(
                f"the MongoDB URI is not valid: {redacted(str(error), uri)}. "
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
        with pymongo.timeout(self._timeout_seconds):
            self._end_abandoned()
            with self._client.start_session() as session:
                try:
                    return session.with_transaction(body)
                except PyMongoError:
                    self._abandoned.append(session.session_id)
                    raise

    def _end_abandoned(self) -> None:
        """End transactions that an outage cut off: the server would hold their documents' locks for a minute."""
        if self._abandoned:
            with suppress(OperationFailure):
                self._client.admin.command("killSessions", list(self._abandoned))
            self._abandoned.clear()

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
        database = self._jobs.database
        with self._translated():
            try:
                for collection, indexes in INDEXES.items():
                    for keys, unique in indexes:
                        database[collection].create_index([(key, 1) for key in keys], unique=unique)
            except OperationFailure as error:
                if error.code not in REFUSED_LOGIN or (not self._indexed() and self._may_insert()):
                    raise

    def _indexed(self) -> bool:
        """Whether all indexes are there: somebody else may have made them."""
        for collection, indexes in INDEXES.items():
            found = self._jobs.database[collection].index_information().values()
            there = {(tuple(key for key, _ in index["key"]), bool(index.get("unique"))) for index in found}
            if not there.issuperset(indexes):
                return False
        return True

    def _may_insert(self) -> bool:
        """Whether this user could write trials; without the indexes these would not be unique."""
        status = self._client.admin.command("connectionStatus", showPrivileges=True)
        for privilege in status["authInfo"]["authenticatedUserPrivileges"]:
            resource = privilege["resource"]
            ours = resource.get("db") in ("", self._jobs.database.name) and resource.get("collection") in ("", "jobs")
            if "insert" in privilege["actions"] and (ours or resource.get("anyResource")):
                return True
        return False

    def _translate(self, error: PyMongoError) -> Exception:
        if isinstance(error, OperationFailure) and error.code is not None:
            if error.code in REFUSED_LOGIN:
                return self._refused(error)
            if error.code in OUT_OF_DISK or "No space left on device" in str(error):
                return StoreFull(
                    f"the disk of the MongoDB server at {self._hosts} is full. Make room there, then repeat"
                )
            if error.code in TOO_LARGE:
                return DocumentRefused(f"a document is larger than MongoDB's 16 MB: {self._reason(error)}")
        if isinstance(error, DocumentTooLarge):
            return DocumentRefused(f"a document is larger than MongoDB's 16 MB: {self._reason(error)}")
        if reason := unconfirmed(error):
            return StoreUnreachable(f"the MongoDB servers at {self._hosts} did not confirm a write: {reason}")
        if isinstance(error, ConnectionFailure) or error.timeout or error.has_error_label("TransientTransactionError"):
            return self._unreachable(error)
        if isinstance(error, ConfigurationError):
            return StoreRefused(f"the MongoDB server at {self._hosts} cannot be used: {self._reason(error)}")
        return StoreError(f"the MongoDB server at {self._hosts} reports an error: {self._reason(error)}")

    def _refused(self, error: OperationFailure) -> StoreRefused:
        """A user whom the server does not know, or who may not do what was tried."""
        denied = re.search(r"not authorized on (\S+) to execute command \{ (\w+):", str(error))
        if denied is None:
            return StoreRefused(
                f"the MongoDB server at {self._hosts} refused the user {self._user}: {self._reason(error)}. Check "
                "user, password and authSource of the URI (--mongo or HMS_MONGO)"
            )
        database, command = denied.groups()
        role = "read" if command in READING else "readWrite"
        return StoreRefused(
            f"the user {self._user} has no right to `{command}` in the database {database} of the MongoDB server at "
            f"{self._hosts}. Take a user with the role {role}, or grant it: "
            f'db.grantRolesToUser("{self._user}", [{{role: "{role}", db: "{database}"}}])'
        )

    def _unreachable(self, error: PyMongoError) -> StoreError:
        kinds = {server.server_type_name for server in self._client.topology_description.server_descriptions().values()}
        if "RSGhost" in kinds:
            return StoreRefused(
                f"the MongoDB server at {self._hosts} belongs to a replica set that was never initiated. Once: "
                "mongosh --eval 'rs.initiate()'"
            )
        reason = self._reason(error)
        if "certificate verify failed" in reason:
            return StoreUnreachable(
                f"the certificate of the MongoDB server at {self._hosts} is not trusted: {reason}. The URI must name "
                "the authority that signed it (tlsCAFile=FILE), and the host as the certificate does"
            )
        hint = next((hint for sign, hint in TLS_HINTS.items() if sign in reason), "")
        return StoreUnreachable(
            f"no MongoDB server answers at {self._hosts} (tried {self._timeout_seconds:g} s): {reason}. {hint}"
            "Check that it runs and that its port is open, or pass another one: --mongo URI; see also: hms doctor"
        )

    def _reason(self, error: PyMongoError) -> str:
        # The driver appends its view of the whole topology and the server's whole answer.
        text = str(error).partition(", Timeout:")[0].partition(", full error:")[0].partition(" (configured ")[0]
        return redacted(text, self._uri).rstrip(".")


def speaks_mongo(method: Method) -> Method:
    """Make a public method of the store raise our errors instead of the driver's."""

    @functools.wraps(method)
    def translated(self: Connection, *args: Any, **kwargs: Any) -> Any:
        with self._translated():
            return method(self, *args, **kwargs)

    return cast(Method, translated)


def _defaults(uri: str, timeout_seconds: float) -> dict[str, Any]:
    """Our options, without those that the URI sets itself."""
    milliseconds = int(timeout_seconds * 1000)
    ours = {
        "w": "majority",
        "journal": True,
        "retryWrites": True,
        "serverSelectionTimeoutMS": milliseconds,
        "connectTimeoutMS": milliseconds,
        "socketTimeoutMS": int(max(SOCKET_SECONDS, timeout_seconds) * 1000),
    }
    given = options(uri)
    return {option: value for option, value in ours.items() if option.lower() not in given}
