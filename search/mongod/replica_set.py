"""Makes a fresh or moved `mongod` usable: a one-node replica set with a primary and one user.

Every step may be repeated: a start that was killed between two of them is completed by the next one. What needs no
password uses MongoDB's localhost exception, which holds only until the first user exists.
"""

import time
from typing import Any

from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from search.errors import StoreRefused, StoreUnreachable
from search.mongod.folder import ServerState
from search.process_identity import ProcessIdentity

PRIMARY_SECONDS = 60.0
AUTHENTICATION_FAILED = 18
ALREADY_INITIALIZED = 23
NOT_YET_INITIALIZED = 94
IN_PROGRESS = (NOT_YET_INITIALIZED, 109, 11602)
"""Not initialised yet, configuration in progress, interrupted by a change of state: the next try tells."""


def make_usable(state: ServerState, seconds: float = PRIMARY_SECONDS) -> None:
    """Initiate or repair the replica set, wait up to `seconds` for the primary, create the user.

    On another port than before the set has no primary: its stored member is another address. A forced
    reconfiguration over a direct connection mends it.
    """
    with _direct(state) as plain, _direct(state, password=state.password) as known:
        _wait_for_primary(plain, known, state, seconds)
        _ensure_user(plain, known, state)


def server_pid(state: ServerState) -> int | None:
    """The pid that the server at the state's address reports; None when none answers to our password."""
    try:
        with _direct(state, password=state.password) as client:
            return int(client.admin.command("serverStatus")["pid"])
    except PyMongoError:
        return None


def _direct(state: ServerState, password: str | None = None) -> MongoClient[dict[str, Any]]:
    login: dict[str, Any] = {"username": "hms", "password": password, "authSource": "admin"} if password else {}
    return MongoClient(
        "127.0.0.1",
        state.port,
        directConnection=True,
        serverSelectionTimeoutMS=5000,
        connectTimeoutMS=5000,
        socketTimeoutMS=10000,
        **login,
    )


def _wait_for_primary(
    plain: MongoClient[dict[str, Any]], known: MongoClient[dict[str, Any]], state: ServerState, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    last: PyMongoError | None = None
    while time.monotonic() < deadline and ProcessIdentity.of(state.pid) is not None:
        try:
            if plain.admin.command("hello").get("isWritablePrimary"):
                return
            _towards_primary(plain, known, state)
        except ConnectionFailure as error:
            # An election and a reconfiguration close connections.
            last = error
        except OperationFailure as error:
            if error.code not in IN_PROGRESS:
                raise StoreRefused(
                    f"the embedded server at {state.address} refuses to become a replica set: {error}. "
                    "See what works: hms doctor"
                ) from None
            last = error
        time.sleep(0.02)
    raise StoreUnreachable(
        f"the embedded server at {state.address} (pid {state.pid}) became no primary within {seconds:.0f} s: "
        f"{last or 'it ended'}. Its log is mongod.log in the folder .mongod of the results; see also: hms doctor"
    )


def _towards_primary(
    plain: MongoClient[dict[str, Any]], known: MongoClient[dict[str, Any]], state: ServerState
) -> None:
    try:
        config = known.admin.command("replSetGetConfig")["config"]
    except OperationFailure as error:
        if error.code == AUTHENTICATION_FAILED:
            _initiate(plain, state)
            return
        raise
    if config["members"][0]["host"] != state.address:
        config["members"][0]["host"] = state.address
        config["version"] += 1
        known.admin.command("replSetReconfig", config, force=True)


def _initiate(plain: MongoClient[dict[str, Any]], state: ServerState) -> None:
    config = {"_id": state.replica_set, "version": 1, "members": [{"_id": 0, "host": state.address}]}
    try:
        plain.admin.command("replSetInitiate", config)
    except OperationFailure as error:
        if error.code != ALREADY_INITIALIZED:
            raise
        # An earlier start was killed before it created the user, perhaps on another port.
        plain.admin.command("replSetReconfig", {**config, "version": 2}, force=True)


def _ensure_user(plain: MongoClient[dict[str, Any]], known: MongoClient[dict[str, Any]], state: ServerState) -> None:
    try:
        known.admin.command("serverStatus")
    except OperationFailure as error:
        if error.code != AUTHENTICATION_FAILED:
            raise
        try:
            plain.admin.command("createUser", "hms", pwd=state.password, roles=["root"])
        except OperationFailure:
            raise StoreRefused(
                f"the embedded server at {state.address} does not know the password in server.json. Restore the "
                "server.json that belongs to its data, or move the folder `.mongod` of the results away"
            ) from None
