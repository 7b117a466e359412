"""Follows a search in the store for as long as somebody looks, and keeps what is known of it, ready to be sent."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from search.errors import HmsError
from search.serve.views import curve_view, trial_view
from search.status import Status
from search.store import Store

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 2.0


@dataclass(frozen=True)
class Moment:
    """A search at one moment: never changed, only followed by another.

    `trials` and `curves` are JSON texts by tid; `changed` is the revision at which a trial was last seen to change.
    `begun` is the first revision of this search: earlier ones were of another that was removed and had its name.
    """

    status: Status
    begun: int
    revision: int
    trials: Mapping[int, str]
    curves: Mapping[int, str]
    changed: Mapping[int, int]

    @property
    def metrics(self) -> list[str]:
        """The metrics that the search logs."""
        return list(self.status.metrics)


def look(store: Store, name: str, before: Moment | None = None, begun: int = 1) -> Moment:
    """The search now. Of what `before` knew, only trials that changed are asked for, with their epochs.

    A row of an epoch is written in one transaction with its trial's version, so that none is missed.
    """
    status = Status.read(store, name, before.status if before is not None else None)
    if before is not None and status.search.get("created") != before.status.search.get("created"):
        return look(store, name, begun=before.revision + 1)  # removed and made again under the same name
    known = before.status.jobs if before is not None else {}
    tids = [tid for tid, job in status.jobs.items() if known.get(tid, {}).get("version") != job["version"]]
    if before is None or tids:
        metrics = status.metrics
        rows: dict[int, list[Any]] = {tid: [] for tid in tids}
        for row in store.curves(name, tids, metrics) if tids else ():
            rows[row["tid"]].append(row)
        revision = begun if before is None else before.revision + 1
        trials = {tid: _text(trial_view(status.jobs[tid], metrics, rows[tid])) for tid in tids}
        curves = {tid: _text(curve_view(rows[tid], metrics)) for tid in tids}
        if before is None:
            return Moment(status, begun, revision, trials, curves, dict.fromkeys(tids, revision))
        changed = {**before.changed, **dict.fromkeys(tids, revision)}
        return replace(
            before,
            status=status,
            revision=revision,
            trials={**before.trials, **trials},
            curves={**before.curves, **curves},
            changed=changed,
        )
    return replace(before, status=status)


class Follower:
    """Looks at a search at most once in `LOOK_SECONDS`, and only when somebody asks. Safe to use from many threads."""

    def __init__(self, store: Store, name: str, on_outage: Callable[[], object] = lambda: None) -> None:
        """Raises what the store raises: an unknown search, no server."""
        self._store, self._name, self._on_outage = store, name, on_outage
        self._moment = look(store, name)
        self._looked, self._looks = time.monotonic(), 0
        self._trouble: str | None = None
        self._asked, self._news = threading.Event(), threading.Condition()
        threading.Thread(target=self._follow, daemon=True, name="follower").start()

    def now(self) -> tuple[Moment, str | None]:
        """The search as it is, or as it was last seen and why it cannot be seen now."""
        with self._news:
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._asked.set()
                looks = self._looks
                self._news.wait_for(lambda: self._looks != looks, PATIENCE_SECONDS)
            return self._moment, self._trouble

    @property
    def age(self) -> float:
        """Seconds since the search was last seen."""
        return time.monotonic() - self._looked

    def _follow(self) -> None:
        while True:
            self._asked.wait()
            moment, trouble = self._moment, None
            try:
                moment = look(self._store, self._name, moment)
            except HmsError as error:
                trouble = str(error)
                self._on_outage()
            except Exception as error:  # a thread that ended would leave a page that looks alive
                trouble = f"{type(error).__name__}: {error}"
            with self._news:
                self._asked.clear()
                self._moment, self._trouble = moment, trouble
                self._looked = self._looked if trouble else time.monotonic()
                self._looks += 1
                self._news.notify_all()
            time.sleep(LOOK_SECONDS)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
