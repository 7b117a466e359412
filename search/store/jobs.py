"""The trials of a search as its driver and its reader see them: inserted, counted, read, cancelled."""

from collections.abc import Collection, Iterable, Mapping

from pymongo.errors import BulkWriteError

from search.store.connection import Connection, speaks_mongo
from search.store.contract import Document, State
from search.store.fencing import changes, ended

DUPLICATE_KEY = 11000
UNSETTLED = [int(State.NEW), int(State.RUNNING)]


class Jobs(Connection):
    """Insert and read trials."""

    @speaks_mongo
    def insert(self, documents: Iterable[Document]) -> int:
        """Insert trials made by `new_job_document`; returns how many were new.

        A trial that the store already holds, by (exp_key, tid), stays as it is: an insert may be repeated.
        """
        batch = [dict(document) for document in documents]
        if not batch:
            return 0
        try:
            return len(self._jobs.insert_many(batch, ordered=False).inserted_ids)
        except BulkWriteError as error:
            details = error.details or {}
            # Unconfirmed by a majority, an insert may be rolled back: it is no success, though it may be repeated.
            failed = any(failure["code"] != DUPLICATE_KEY for failure in details["writeErrors"])
            if failed or details.get("writeConcernErrors"):
                raise
            return int(details["nInserted"])

    @speaks_mongo
    def counts(self, name: str) -> dict[str, int]:
        """Trials of each state, all five named; their sum is what the budget has used."""
        groups = self._jobs.aggregate(
            [{"$match": {"exp_key": name}}, {"$group": {"_id": "$state", "count": {"$sum": 1}}}]
        )
        found = {group["_id"]: int(group["count"]) for group in groups}
        return {state.name: found.get(int(state), 0) for state in State}

    @speaks_mongo
    def jobs(
        self, name: str, newer_than: Mapping[int, int] | None = None, unsettled: Collection[int] | None = None
    ) -> list[Document]:
        """Trials sorted by tid; with `newer_than` (tid -> version known) only those that changed since, without `seen`.

        With `unsettled` (the tids not final when last seen) only these are looked at, and whatever waits or runs now:
        the cost does not grow with the search. A trial that left and reached a final state in between stays unseen.
        """
        query: Document = {"exp_key": name}
        if newer_than is None:
            return list(self._jobs.find(query, {"_id": False}).sort("tid", 1))
        if unsettled is not None:
            query["$or"] = [{"state": {"$in": UNSETTLED}}, {"tid": {"$in": list(unsettled)}}]
        if newer_than:
            # Versions, unlike times, cannot miss a write that was committed late.
            versions = self._jobs.find(query, {"_id": False, "tid": True, "version": True})
            tids = [job["tid"] for job in versions if newer_than.get(job["tid"]) != job["version"]]
            if not tids:
                return []
            query = {"exp_key": name, "tid": {"$in": tids}}
        return list(self._jobs.find(query, {"_id": False, "seen": False}).sort("tid", 1))

    @speaks_mongo
    def job(self, name: str, tid: int) -> Document | None:
        """One trial; None when there is none of that tid."""
        return self._jobs.find_one({"exp_key": name, "tid": tid}, {"_id": False})

    @speaks_mongo
    def tids(self, name: str) -> set[int]:
        """The tids of all trials that the store holds."""
        return {job["tid"] for job in self._jobs.find({"exp_key": name}, {"_id": False, "tid": True})}

    @speaks_mongo
    def finished_tokens(self, name: str, tid: int | None = None) -> dict[int, str]:
        """tid -> token of the reservation that finished it, of one trial or all, where DONE."""
        query: Document = {"exp_key": name, "state": int(State.DONE)}
        if tid is not None:
            query["tid"] = tid
        found = self._jobs.find(query, {"_id": False, "tid": True, "token": True})
        return {job["tid"]: job["token"] or "" for job in found}

    @speaks_mongo
    def endings(self, name: str) -> dict[int, tuple[State, float | None]]:
        """tid -> (state, loss) of every trial that is DONE or cancelled; no loss where there is none."""
        query = {"exp_key": name, "state": {"$in": [int(State.DONE), int(State.CANCEL)]}}
        found = self._jobs.find(query, {"_id": False, "tid": True, "state": True, "result.loss": True})
        return {job["tid"]: (State(job["state"]), (job.get("result") or {}).get("loss")) for job in found}

    @speaks_mongo
    def finished_values(self, name: str, metric: str) -> list[float]:
        """The last value of a metric of every DONE trial that has one, by tid."""
        query = {"exp_key": name, "state": int(State.DONE), f"result.{metric}": {"$ne": None}}
        found = self._jobs.find(query, {"_id": False, f"result.{metric}": True}).sort("tid", 1)
        return [job["result"][metric] for job in found]

    @speaks_mongo
    def cancel(self, name: str, tid: int | None = None) -> list[int]:
        """Cancel one trial, or all, that waits or runs; returns their tids. A worker notices at its next heartbeat."""
        query: Document = {"exp_key": name, "state": {"$in": UNSETTLED}}
        if tid is not None:
            query["tid"] = tid
        running = {"$eq": ["$state", int(State.RUNNING)]}
        update = changes(
            {
                "state": int(State.CANCEL),
                "token": None,
                "lease_until": None,
                "history": {"$cond": [running, ended("cancelled"), "$history"]},
            }
        )
        tids = sorted(job["tid"] for job in self._jobs.find(query, {"tid": True}))
        return [tid for tid in tids if self._jobs.update_one({**query, "tid": tid}, update).modified_count]
