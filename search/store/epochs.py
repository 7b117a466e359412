"""The metrics of every evaluated epoch: one row per (search, trial, epoch), never inside the trial's document."""

from collections.abc import Collection, Mapping
from typing import Any

from pymongo.client_session import ClientSession

from search.errors import DocumentRefused
from search.store.connection import speaks_mongo
from search.store.contract import Document, Job
from search.store.documents import storable
from search.store.fencing import literal
from search.store.leases import Leases

RESERVED = frozenset({"_id", "exp_key", "tid", "epoch", "attempt", "recorded"})


class Epochs(Leases):
    """Record and read epochs."""

    @speaks_mongo
    def record(self, job: Job, epoch: int, row: Mapping[str, Any]) -> None:
        """Store the row of one epoch, and renew the lease, in one transaction; a repetition replaces the row.

        NaN and infinities become None. Raises `LeaseLost`, with nothing written, when the trial was taken over.
        """
        clash = RESERVED & row.keys()
        if clash:
            raise DocumentRefused(f"the row of epoch {epoch} uses reserved names: {', '.join(sorted(clash))}")
        key = {"exp_key": job.name, "tid": job.tid, "epoch": int(epoch)}
        document = storable({**row, **key, "attempt": job.attempt}, name=f"epoch {epoch} of trial {job.tid}")
        replacement = [{"$replaceWith": {"$mergeObjects": [literal(document), {"_id": "$_id", "recorded": "$$NOW"}]}}]

        def body(session: ClientSession) -> bool:
            held = self._write(job, {}, session)
            if held:
                self._metrics.update_one(key, replacement, upsert=True, session=session)
            return held

        self._demand(self._transaction(body), job)

    @speaks_mongo
    def epochs(self, name: str, tid: int | None = None) -> list[Document]:
        """All rows of a search, or of one trial, sorted by (tid, epoch)."""
        query: Document = {"exp_key": name} if tid is None else {"exp_key": name, "tid": tid}
        rows = self._metrics.find(query, {"_id": False, "exp_key": False})
        return list(rows.sort([("tid", 1), ("epoch", 1)]))

    @speaks_mongo
    def curves(self, name: str, tids: Collection[int], columns: Collection[str]) -> list[Document]:
        """`tid`, `epoch` and these columns of every row of these trials, sorted by (tid, epoch)."""
        shown = {"_id": False, **dict.fromkeys(("tid", "epoch", *columns), True)}
        rows = self._metrics.find({"exp_key": name, "tid": {"$in": sorted(tids)}}, shown)
        return list(rows.sort([("tid", 1), ("epoch", 1)]))
