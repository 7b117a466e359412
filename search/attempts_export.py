"""`attempts`: one row an attempt at a trial: which worker, from when to when, and how it ended."""

from typing import Any

import pandas as pd

from search.store import State, Store

COLUMNS = ["tid", "attempt", "host", "pid", "device", "slot", "began", "ended", "how"]


def attempts_table(store: Store, name: str) -> pd.DataFrame:
    """Columns `COLUMNS`, by tid and time; an attempt that runs now has no end and is `running`. Times: the server's."""
    rows: list[dict[str, Any]] = []
    for job in store.jobs(name):
        for attempt in job.get("history") or []:
            rows.append(_row(job["tid"], attempt, attempt.get("began"), attempt.get("ended"), attempt.get("how")))
        if job["state"] == State.RUNNING:
            rows.append(_row(job["tid"], job, job.get("book_time"), None, "running"))
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(tid: int, attempt: dict[str, Any], began: Any, ended: Any, how: Any) -> dict[str, Any]:
    owner = attempt.get("owner")
    known = owner if isinstance(owner, dict) else {"host": owner}
    return {
        "tid": tid, "attempt": attempt.get("attempt"), "host": known.get("host"), "pid": known.get("pid"),
        "device": known.get("device"), "slot": known.get("slot"), "began": began, "ended": ended, "how": how,
    }  # fmt: skip
