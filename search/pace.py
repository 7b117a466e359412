"""How fast a search goes and when it will end: pure functions of its trials. All times are the server's."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import fmean

from search.store import Document, State

FINAL = (State.DONE, State.ERROR, State.CANCEL)
RATE_SECONDS = 3600.0


def ended_per_hour(jobs: Iterable[Document], now: datetime) -> float | None:
    """Trials that ended in the last hour, scaled up where the first one began later; None before any ended."""
    ends, begins = [], []
    for job in jobs:
        attempts = job["history"]
        begins += [attempt["began"] for attempt in attempts if attempt.get("began")]
        if job["state"] in (State.DONE, State.ERROR) and attempts and attempts[-1].get("ended"):
            ends.append(attempts[-1]["ended"])
    if not ends or not begins:
        return None
    window = min(RATE_SECONDS, (now - min(begins)).total_seconds())
    recent = sum(now - end <= timedelta(seconds=RATE_SECONDS) for end in ends)
    return recent * 3600.0 / max(window, 1.0)


def seconds_left(jobs: Sequence[Document], planned: int, workers: int, now: datetime) -> float | None:
    """What is still to do at the mean of finished trials, shared by the workers that live; None where unknown.

    A trial's seconds are those of all its attempts. It knows nothing of how large the coming networks are.
    """
    spent = [_attempt_seconds(job) for job in jobs if job["state"] == State.DONE]
    mean = fmean(spent) if spent else 0.0
    if mean <= 0 or workers < 1:
        return None
    waiting = max(planned, len(jobs)) - sum(job["state"] in (*FINAL, State.RUNNING) for job in jobs)
    running = [job for job in jobs if job["state"] == State.RUNNING]
    begun = [_attempt_seconds(job) + (now - job["book_time"]).total_seconds() for job in running]
    return (waiting * mean + sum(max(0.0, mean - seconds) for seconds in begun)) / workers


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    whole = round(max(seconds, 0.0))
    if whole < 120:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86_400
    if hours < 1:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60} min" if days < 1 else f"{days} d {hours % 24} h"


def _attempt_seconds(job: Document) -> float:
    whole = [attempt for attempt in job["history"] if attempt.get("began") and attempt.get("ended")]
    return sum((attempt["ended"] - attempt["began"]).total_seconds() for attempt in whole)
