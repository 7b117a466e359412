"""The updates that the contract allows: filters that prove a reservation, and pipelines on the server's clock."""

from typing import Any

from search.store.contract import HISTORY_LENGTH, MAX_CRASHES, Document, Job, State


def literal(value: Any) -> Document:
    """A value from outside, which MongoDB must not read as an expression."""
    return {"$literal": value}


def reservation(job: Job) -> Document:
    """Matches the trial only while this reservation of it holds."""
    return {"exp_key": job.name, "tid": job.tid, "token": job.token, "state": int(State.RUNNING)}


def changes(fields: Document) -> list[Document]:
    """A pipeline that sets fields (each an expression of the document before the change) and counts the version."""
    return [{"$set": {**fields, "version": {"$add": ["$version", 1]}, "refresh_time": "$$NOW"}}]


def from_now(seconds: float) -> Document:
    """A moment on the server's clock."""
    return {"$add": ["$$NOW", int(seconds * 1000)]}


def past(field: str) -> Document:
    """Matches documents whose time lies behind the server's clock."""
    return {"$expr": {"$lt": [f"${field}", "$$NOW"]}}


def ended(how: str, reason: str | None = None) -> Document:
    """The history with the present attempt closed."""
    attempt = {
        "attempt": "$attempt",
        "owner": "$owner",
        "began": "$book_time",
        "ended": "$$NOW",
        "how": how,
        "reason": literal(reason),
    }
    return {"$slice": [{"$concatArrays": ["$history", [attempt]]}, -HISTORY_LENGTH]}


def crashed(how: str, reason: str | None = None) -> list[Document]:
    """Back to NEW after a crash, or to ERROR `lost` when this was the last allowed one; the old token ends.

    `reason`: what is known of this crash, in words.
    """
    crashes = {"$add": ["$crashes", 1]}
    lost = {"$gte": [crashes, MAX_CRASHES]}
    message = (
        f"lost: {MAX_CRASHES} attempts in a row crashed ({how}) before they got past the checkpoint they began with"
    ) + (f"; the last one: {reason}" if reason else "")
    return changes(
        {
            "state": {"$cond": [lost, int(State.ERROR), int(State.NEW)]},
            "crashes": crashes,
            "error": {"$cond": [lost, {"message": literal(message), "traceback": ""}, "$error"]},
            "result": {"$cond": [lost, {"status": "fail", "reason": literal(message)}, "$result"]},
            "owner": {"$cond": [lost, "$owner", None]},
            "token": None,
            "lease_until": None,
            "history": ended(how, reason),
        }
    )


def with_checkpoint(info: Document | None) -> Document:
    """Fields that store a checkpoint, keep the one before, and restart the crash count if the attempt got further.

    A repetition, after an answer that was lost, changes nothing; it is known by the name of its `file`.
    """
    if info is None:
        return {}
    stored = {"$unsetField": {"field": "previous", "input": "$checkpoint"}}
    repeated = {"$eq": ["$checkpoint.file", literal(info["file"])]} if "file" in info else False
    first = {"$eq": ["$checkpoint", None]}
    before = {"$cond": [repeated, "$checkpoint.previous", {"$cond": [first, None, stored]}]}
    return {
        "checkpoint": {"$mergeObjects": [literal(info), {"previous": before}]},
        "crashes": {"$cond": [{"$gt": [int(info["epoch"]), "$resume_epoch"]}, 0, "$crashes"]},
    }
