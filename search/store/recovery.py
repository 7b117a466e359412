"""Trials whose worker is gone: taken back after their lease, at once from a dead local process, or by hand."""

from collections.abc import Mapping
from typing import Any, Literal

from search.process_identity import ProcessIdentity
from search.store.connection import Connection, speaks_mongo
from search.store.contract import Document, State
from search.store.documents import to_plain
from search.store.fencing import changes, crashed, ended, past


class Recovery(Connection):
    """The reaper, the launcher's release, and a person's retry."""

    @speaks_mongo
    def reap(self, name: str) -> list[int]:
        """Take back every trial whose lease has run out; returns their tids.

        Does nothing until this store has been connected for one full lease without a gap: after an outage the workers
        must first get the chance to renew.
        """
        if self._continuity.seconds() < self.lease_seconds:
            # Asked all the same: only an answer counts as connected.
            self._client.admin.command("ping")
            return []
        return self._take_back({"exp_key": name, **past("lease_until")}, "lease_expired")

    @speaks_mongo
    def release(self, name: str, owner: Mapping[str, Any] | str, reason: str | None = None) -> list[int]:
        """Take back at once what a dead worker held: for a launcher that saw its own worker die, and for a worker.

        A mapping matches every owner that has its fields; give `ProcessIdentity.to_dict()`. `reason`: how it died, in
        words, for the trial's history and the error of one that crashed too often.
        """
        plain = to_plain(owner, name="owner")
        fields = (
            {f"owner.{key}": value for key, value in plain.items()} if isinstance(plain, dict) else {"owner": plain}
        )
        return self._take_back({"exp_key": name, **fields}, "worker_died", reason)

    @speaks_mongo
    def release_dead(self, name: str) -> list[int]:
        """Take back what processes of this machine held that no longer live: a local restart waits for no lease."""
        running = self._jobs.find({"exp_key": name, "state": int(State.RUNNING)}, {"owner": True, "token": True})
        taken: list[int] = []
        for job in list(running):
            identity = ProcessIdentity.from_dict(job["owner"])
            if identity is not None and identity.known_dead():
                taken += self._take_back({"exp_key": name, "token": job["token"]}, "worker_died")
        return sorted(taken)

    @speaks_mongo
    def retry(self, name: str, which: Literal["failed", "stale"]) -> list[int]:
        """Back to NEW by hand, checkpoint kept: `failed` is every ERROR, `stale` every RUNNING past its lease."""
        fields: Document = {"state": int(State.NEW), "owner": None, "token": None, "lease_until": None, "error": None}
        query: Document = {"exp_key": name, "state": int(State.ERROR)}
        if which == "stale":
            query = {"exp_key": name, "state": int(State.RUNNING), **past("lease_until")}
            fields["history"] = ended("retried_stale")
        update = changes({**fields, "crashes": 0, "preemptions": 0, "result": {"status": "new"}})
        tids = sorted(job["tid"] for job in self._jobs.find(query, {"tid": True}))
        return [tid for tid in tids if self._jobs.update_one({**query, "tid": tid}, update).modified_count]

    def _take_back(self, query: Document, how: str, reason: str | None = None) -> list[int]:
        query = {**query, "state": int(State.RUNNING)}
        found = list(self._jobs.find(query, {"tid": True, "token": True}))
        taken = []
        for job in found:
            # By token: the trial may have been taken back and reserved anew in between.
            mine = {**query, "tid": job["tid"], "token": job["token"]}
            if self._jobs.update_one(mine, crashed(how, reason)).modified_count:
                taken.append(job["tid"])
        return sorted(taken)
