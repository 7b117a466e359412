"""The workers that live, by their own word, so that idle ones are seen too. Nothing about a trial rests on it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from search.store.connection import Connection, speaks_mongo
from search.store.contract import Document
from search.store.documents import to_plain
from search.store.fencing import from_now, literal

REMEMBERED_SECONDS = 3600.0
"""How long a worker that went silent is still listed."""


class Workers(Connection):
    """Come, show a sign of life, leave; and who is there."""

    @speaks_mongo
    def greet(self, name: str, owner: Mapping[str, Any]) -> None:
        """A sign of life, good for one lease. The first one also clears away workers that were silent for long."""
        key = _key(name, owner)
        update = {
            "owner": literal(to_plain(owner, name="owner")),
            "since": {"$ifNull": ["$since", "$$NOW"]},
            "seen": "$$NOW",
            "until": from_now(self.lease_seconds),
        }
        first = self._workers.update_one(key, [{"$set": update}], upsert=True).upserted_id is not None
        if first:
            silent = {"$expr": {"$lt": ["$until", from_now(-REMEMBERED_SECONDS)]}}
            self._workers.delete_many({"exp_key": name, **silent})

    @speaks_mongo
    def leave(self, name: str, owner: Mapping[str, Any]) -> None:
        """The worker ends by itself."""
        self._workers.delete_one(_key(name, owner))

    @speaks_mongo
    def workers(self, name: str) -> list[Document]:
        """`owner`, `since`, `seen`, `until` of each worker that came and did not leave, in the order of their coming.

        One whose `until` lies behind `server_time` was killed, or cannot reach the store.
        """
        return list(self._workers.find({"exp_key": name}, {"_id": False, "exp_key": False}).sort("since", 1))

    @speaks_mongo
    def server_time(self) -> datetime:
        """The server's clock: what leases and signs of life are to be compared with."""
        hello = self._client.admin.command("hello", codec_options=self._client.codec_options)
        return hello["localTime"]

    @property
    def _workers(self) -> Any:
        return self._jobs.database["workers"]


def _key(name: str, owner: Mapping[str, Any]) -> Document:
    parts = ("host", "realm", "pid", "started", "slot")
    return {"exp_key": name, "worker": "/".join(str(owner[part]) for part in parts)}
