"""Writes that were made and that too few of the set's servers confirmed: a fail-over may undo them."""

from pymongo.errors import PyMongoError, WriteConcernError

UNSATISFIABLE = (79, 100)
"""The URI asks for more servers than there are, or for a write concern that the set does not know."""


def unconfirmed(error: PyMongoError) -> str | None:
    """The server's words where a write was made but not confirmed and a repetition may be; None for other errors."""
    details = getattr(error, "details", None) or {}
    failures = [details] if isinstance(error, WriteConcernError) else details.get("writeConcernErrors") or []
    if not failures or any(failure.get("code") in UNSATISFIABLE for failure in failures):
        return None
    return str(failures[0].get("errmsg") or error)
