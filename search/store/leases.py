"""A worker's side of a trial: reserved under a lease, kept alive, checkpointed, and brought to an end."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument
from pymongo.client_session import ClientSession

from search.errors import DocumentRefused, LeaseLost
from search.store.connection import Connection, speaks_mongo
from search.store.contract import ERROR_BYTES, MAX_PREEMPTIONS, Document, Job, State
from search.store.documents import hyperopt_result, storable, to_plain
from search.store.fencing import changes, ended, from_now, literal, reservation, with_checkpoint

MESSAGE_BYTES = 2_000


class Leases(Connection):
    """Everything that filters on the token of a reservation; a miss raises `LeaseLost`, and nothing was written."""

    @speaks_mongo
    def reserve(
        self,
        name: str,
        owner: Mapping[str, Any] | str,
        *,
        require: Mapping[str, Any] | None = None,
        allow_mixed: bool = False,
    ) -> Job | None:
        """The waiting trial of the lowest tid, now RUNNING under a lease of this owner; None when none fits.

        `require` is what the worker offers, such as `{"device_class": "cuda", "precision": ["fp32", "bf16"]}`, a value
        or a list of values each; trials whose own `requires` differs are passed over unless `allow_mixed`.
        """
        owner = to_plain(owner, name="owner")
        asker = f"{name} {json.dumps(owner, sort_keys=True, default=str)}"
        unanswered = self._unanswered.get(asker)
        if unanswered is not None:
            # The last answer was lost with the connection; the reservation may have been made.
            found = self._jobs.find_one({"exp_key": name, "token": unanswered, "state": int(State.RUNNING)})
            if found is not None:
                self._unanswered.pop(asker, None)
                return Job.from_document(found)
        token = self._unanswered[asker] = uuid.uuid4().hex
        query: Document = {"exp_key": name, "state": int(State.NEW)}
        if require and not allow_mixed:
            query |= {f"requires.{key}": {"$in": [*_values(value), None]} for key, value in require.items()}
        update = changes(
            {
                "state": int(State.RUNNING),
                "owner": literal(owner),
                "token": token,
                "book_time": "$$NOW",
                "lease_until": from_now(self.lease_seconds),
                "attempt": {"$add": ["$attempt", 1]},
                "offer": literal(to_plain(dict(require or {}), name="require")),
            }
        )
        taken = self._jobs.find_one_and_update(query, update, sort=[("tid", 1)], return_document=ReturnDocument.AFTER)
        self._unanswered.pop(asker, None)
        return None if taken is None else Job.from_document(taken)

    @speaks_mongo
    def heartbeat(self, job: Job, progress: Mapping[str, Any] | None = None) -> bool:
        """Renew the lease; False when the reservation no longer holds, and the worker stops.

        `progress` is for people who watch: where the attempt is, with its newest metrics.
        """
        return self._write(job, {} if progress is None else {"progress": literal(storable(progress, name="progress"))})

    @speaks_mongo
    def holds(self, job: Job) -> bool:
        """Whether the reservation still holds: a look that writes nothing."""
        return self._jobs.find_one(reservation(job), {"_id": True}) is not None

    @speaks_mongo
    def begin_attempt(self, job: Job, resume_epoch: int, skipped: Sequence[str] = ()) -> None:
        """Say from which epoch the attempt goes on (0: the start), and delete the epochs recorded after it.

        The stopping rule then sees what an unbroken run would. A stored checkpoint later than that epoch, or whose
        `file` is among `skipped`, could not be read: the one before it, or none, takes its place.
        """
        usable = _usable("$checkpoint", resume_epoch, skipped)
        before = _usable("$checkpoint.previous", resume_epoch, skipped)
        older = {"$cond": [before, {"$mergeObjects": ["$checkpoint.previous", {"previous": None}]}, None]}
        newest = {"$mergeObjects": ["$checkpoint", {"previous": {"$cond": [before, "$checkpoint.previous", None]}}]}
        fields = {"resume_epoch": int(resume_epoch), "checkpoint": {"$cond": [usable, newest, older]}}

        def body(session: ClientSession) -> bool:
            held = self._write(job, fields, session)
            if held:
                late = {"exp_key": job.name, "tid": job.tid, "epoch": {"$gt": resume_epoch}}
                self._metrics.delete_many(late, session=session)
            return held

        self._demand(self._transaction(body), job)

    @speaks_mongo
    def set_checkpoint(self, job: Job, info: Mapping[str, Any]) -> None:
        """Store where the checkpoint is (`epoch` and what the worker needs); the one before stays under `previous`."""
        self._demand(self._write(job, with_checkpoint(_checkpoint(info))), job)

    @speaks_mongo
    def finish(self, job: Job, result: Mapping[str, Any]) -> None:
        """RUNNING -> DONE with a result that HyperOpt accepts (see `hyperopt_result`), in one update."""
        fields = {"result": literal(hyperopt_result(result)), "error": None, "history": ended("finished")}
        self._end(job, (State.DONE,), {**fields, "state": int(State.DONE)})

    @speaks_mongo
    def fail(self, job: Job, error: str, traceback: str = "") -> None:
        """RUNNING -> ERROR; the end of the traceback is kept, 16 kB in all."""
        message = _cut(error, MESSAGE_BYTES)
        stored = {"message": message, "traceback": _cut(traceback, ERROR_BYTES - MESSAGE_BYTES, keep_end=True)}
        fields = {
            "state": int(State.ERROR),
            "error": literal(stored),
            "result": {"status": "fail", "reason": literal(message)},
            "history": ended("failed", message),
        }
        self._end(job, (State.ERROR,), fields)

    @speaks_mongo
    def requeue(self, job: Job, reason: str, checkpoint: Mapping[str, Any] | None = None) -> None:
        """RUNNING -> NEW after a pre-emption, which is no crash; ERROR after `MAX_PREEMPTIONS` of them."""
        preemptions = {"$add": ["$preemptions", 1]}
        too_many = {"$gte": [preemptions, MAX_PREEMPTIONS]}
        message = (
            f"pre-empted {MAX_PREEMPTIONS} times; look at the queue's limits, then: hms retry {job.name} --state failed"
        )
        fields = {
            "state": {"$cond": [too_many, int(State.ERROR), int(State.NEW)]},
            "preemptions": preemptions,
            "error": {"$cond": [too_many, literal({"message": message, "traceback": ""}), "$error"]},
            "owner": None,
            "history": ended("preempted", reason),
            **with_checkpoint(_checkpoint(checkpoint) if checkpoint is not None else None),
        }
        self._end(job, (State.NEW, State.ERROR), fields)

    def _write(self, job: Job, fields: Document, session: ClientSession | None = None) -> bool:
        """A fenced update that renews the lease; False when the reservation does not hold."""
        update = changes({"lease_until": from_now(self.lease_seconds), **fields})
        return self._jobs.update_one(reservation(job), update, session=session).matched_count == 1

    def _end(self, job: Job, states: tuple[State, ...], fields: Document) -> None:
        if self._write(job, {**fields, "lease_until": None}):
            return
        # The answer to an earlier try may have been lost: then the trial carries our token in a wanted state.
        settled = {
            "exp_key": job.name,
            "tid": job.tid,
            "token": job.token,
            "state": {"$in": [int(state) for state in states]},
        }
        self._demand(self._jobs.find_one(settled, {"_id": True}) is not None, job)

    def _demand(self, held: bool, job: Job) -> None:
        if not held:
            raise LeaseLost(
                f"trial {job.tid} of {job.name!r} is no longer reserved by attempt {job.attempt}: it was taken over, "
                "cancelled or finished. Nothing was written; the worker takes another trial"
            )


def _values(offered: Any) -> list[Any]:
    return list(offered) if isinstance(offered, list | tuple | set | frozenset) else [offered]


def _checkpoint(info: Mapping[str, Any]) -> Document:
    plain = storable(info, name="checkpoint")
    if isinstance(plain.get("epoch"), bool) or not isinstance(plain.get("epoch"), int):
        raise DocumentRefused(
            f"checkpoint.epoch is {plain.get('epoch')!r}: it must be the whole number of epochs trained"
        )
    return plain


def _usable(field: str, resume_epoch: int, skipped: Sequence[str]) -> Document:
    """Whether the checkpoint in a field is there, not later than the epoch, and none of those skipped."""
    there = {"$ne": [{"$ifNull": [field, None]}, None]}
    readable = {"$not": [{"$in": [{"$ifNull": [f"{field}.file", None]}, literal(list(skipped))]}]}
    return {"$and": [there, {"$lte": [f"{field}.epoch", resume_epoch]}, readable]}


def _cut(text: str, length: int, *, keep_end: bool = False) -> str:
    data = str(text).encode(errors="replace")
    if len(data) <= length:
        return data.decode()
    kept = data[-length + 4 :] if keep_end else data[: length - 4]
    whole = kept.decode(errors="ignore")
    return f"...\n{whole}" if keep_end else f"{whole}..."
