"""One driver a search: a lock with an expiry on the server's clock."""

import uuid

from search.errors import DriverRunning
from search.process_identity import ProcessIdentity
from search.store.connection import speaks_mongo
from search.store.contract import Document
from search.store.documents import storable
from search.store.fencing import from_now, literal, past
from search.store.searches import Searches

LOCK_SECONDS = 30.0
"""How long a driver's lock holds without a renewal."""


class DriverLock(Searches):
    """Acquire, renew and release the lock of a search's driver."""

    @speaks_mongo
    def acquire_driver(self, name: str, owner: Document, seconds: float) -> str:
        """Take the lock for `seconds`; returns the token that renews and releases it.

        An expired lock is free, and so is one whose process on this machine is dead: a local restart never waits.
        Raises `DriverRunning` with the owner's host and pid, or `UnknownSearch`.
        """
        token = uuid.uuid4().hex
        holder = self.search(name, unfinished=True)["driver"]
        free: list[Document] = [{"driver": None}, past("driver.until")]
        if holder is not None and _known_dead(holder["owner"]):
            free.append({"driver.token": holder["token"]})
        lock = {
            "token": token,
            "owner": literal(storable(owner, name="owner")),
            "since": "$$NOW",
            "until": from_now(seconds),
        }
        taken = self._searches.update_one({"exp_key": name, "$or": free}, [{"$set": {"driver": lock}}])
        if taken.matched_count == 0:
            raise DriverRunning(self._refusal(name))
        return token

    @speaks_mongo
    def renew_driver(self, name: str, token: str, seconds: float) -> bool:
        """Hold the lock for `seconds` from now; False when it was lost: the driver then stops."""
        update = [{"$set": {"driver.until": from_now(seconds)}}]
        return self._searches.update_one({"exp_key": name, "driver.token": token}, update).matched_count == 1

    @speaks_mongo
    def release_driver(self, name: str, token: str) -> None:
        """Give the lock back, if it is still held by this token."""
        self._searches.update_one({"exp_key": name, "driver.token": token}, {"$set": {"driver": None}})

    @speaks_mongo
    def driver_runs(self, name: str) -> bool:
        """Whether a driver holds the lock now, on the server's clock."""
        held = {"exp_key": name, "driver": {"$ne": None}, "$expr": {"$gte": ["$driver.until", "$$NOW"]}}
        return self._searches.find_one(held, {"_id": True}) is not None

    def _refusal(self, name: str) -> str:
        driver = self.search(name)["driver"]
        owner = driver["owner"] if driver else {}
        until = driver["until"].isoformat(timespec="seconds") if driver else "now"
        return (
            f"a driver of the search {name!r} runs on host {owner.get('host', '?')}, pid {owner.get('pid', '?')} "
            f"(its lock holds until {until}, server time). Add workers to it: hms worker --name {name}; or end it first"
        )


def _known_dead(owner: Document) -> bool:
    identity = ProcessIdentity.from_dict(owner)
    return identity is not None and identity.known_dead()
