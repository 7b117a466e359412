"""What the page is told of a search: plain values for JSON, made from its documents. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from metrics.metric import Metric
from search.pace import span
from search.status import Status
from search.store import Document, State


def trial_view(job: Document, metrics: Mapping[str, Metric], rows: Sequence[Document] = ()) -> dict[str, Any]:
    """One trial: where it is or how it ended, its newest metrics, its hyperparameters, who has it and since when.

    `rows` are its evaluated epochs, which may be newer than what its worker last said of it. `stopped` is the epoch at
    which a rule ended it early, else None. Times are ISO 8601 in UTC.
    """
    state = State(job["state"])
    result, progress, params = job.get("result") or {}, job.get("progress") or {}, job["params"]
    newest = result if state == State.DONE else _newest(progress, rows) if state == State.RUNNING else {}
    attempts = job.get("history") or []
    began = next((attempt["began"] for attempt in attempts if attempt.get("began")), job.get("book_time"))
    return {
        "tid": job["tid"],
        "state": state.name,
        "finish": result.get("finish") or "",
        "reason": result.get("reason") or (job.get("error") or {}).get("message") or "",
        "stopped": (result.get("stopped") or {}).get("epoch"),
        "epoch": newest.get("epochs_trained", newest.get("epoch")),
        "planned": newest.get("epochs_planned", newest.get("epochs", params.get("epochs"))),
        "metrics": {name: _number(newest.get(name)) for name in metrics},
        "params": {key: value for key, value in params.items() if isinstance(value, bool | int | float | str)},
        "point": job.get("point"),
        "replicate": job.get("replicate"),
        "worker": _worker(job, attempts),
        "attempts": job.get("attempt", 0),
        "began": _moment(began),
        "ended": _moment(job.get("refresh_time")) if state in (State.DONE, State.ERROR) else None,
        "seconds": sum((result.get("seconds") or {}).values()) or None,
        "parameters": result.get("n_parameters"),
    }


def curve_view(rows: Sequence[Document], metrics: Iterable[str]) -> dict[str, Any]:
    """One trial's evaluated epochs: `epoch` and each metric as lists of equal length; None where undefined."""
    curve: dict[str, Any] = {"epoch": [row["epoch"] for row in rows]}
    return curve | {name: [_number(row.get(name)) for row in rows] for name in metrics}


def summary_view(status: Status) -> dict[str, Any]:
    """Who drives and works, how far the search is and how fast, what is wrong.

    It changes only with the search: of a finished one it is the same however often it is asked for.
    """
    driver, states = status.driver, [State(job["state"]) for job in status.documents]
    rate, left = status.trials_an_hour(), status.seconds_left()
    return {
        "name": status.name,
        "finished": status.finished,
        "cancelled": bool(status.search.get("cancelled")),
        "imported": bool(status.search.get("imported")),
        "counts": {state.name: states.count(state) for state in State},
        "planned": status.planned,
        "driver": None
        if driver is None
        else f"{driver['owner'].get('host', '?')} pid {driver['owner'].get('pid', '?')}",
        "command": status.search.get("command") or "",
        "workers": [
            {
                "where": worker.where,
                "condition": worker.condition,
                "tid": worker.tid,
                "here": span((status.now - worker.since).total_seconds()),
                "seen": span((status.now - worker.seen).total_seconds()),
            }
            for worker in status.workers
        ],
        "rate": None if status.finished else rate,
        "left": None if status.finished or left is None else span(left),
        "troubles": status.troubles(),
    }


def _newest(progress: Document, rows: Sequence[Document]) -> Document:
    last = rows[-1] if rows else {"epoch": 0}
    return {**progress, **last, "epoch": max(progress.get("epoch", 0), last["epoch"])}


def _worker(job: Document, attempts: Sequence[Document]) -> str:
    owners = [job.get("owner"), *(attempt.get("owner") for attempt in reversed(attempts))]
    owner = next((owner for owner in owners if owner), "")
    return f"{owner.get('host', '?')} {owner.get('device', '')}".strip() if isinstance(owner, dict) else str(owner)


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")
