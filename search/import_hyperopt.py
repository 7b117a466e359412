"""`hms import-hyperopt`: the trials of a search that stock HyperOpt ran, adopted so that reports and exports show them.

What HyperOpt stored is kept: sampled values, status, loss, numbers of the result, times, errors. It stored neither a
configuration nor epochs, so an imported search can be looked at but not continued. Nothing is unpickled.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from metrics.metric import Metric
from metrics.registry import METRICS, find
from search.config_section import NAME_PATTERN
from search.errors import DocumentRefused, UsageError
from search.place import uri_in
from search.provenance import provenance
from search.store import Document, State, Store, new_job_document, to_plain
from search.store.documents import hyperopt_result
from search.store.hyperopt_database import HyperoptDatabase
from search.store.uri import holds_secret, is_uri

HYPEROPTS_SCHEME = "mongo://"
CHOICES = "a value that hp.choice sampled is the number of its option, from 0: the options stood in a pickle"


def source_uri(given: str) -> str:
    """The URI that an argument is, or that the file of that name holds.

    Raises:
        UsageError: neither, HyperOpt's own form, or a password where others can see it.
    """
    if given.startswith(HYPEROPTS_SCHEME):
        ours = f"mongodb://{given.removeprefix(HYPEROPTS_SCHEME).removesuffix('/').removesuffix('/jobs')}"
        shown = "mongodb://USER:PASSWORD@HOST:PORT/DATABASE in a file" if "@" in given else ours
        raise UsageError(f"a URI of mongo:// is HyperOpt's own form; in MongoDB's words: {shown}")
    if is_uri(given) and holds_secret(given):
        raise UsageError(
            "the URI holds a password, and everybody on this machine can read command lines (ps): write it to a file "
            "that only you can read, and give the name of the file"
        )
    return given if is_uri(given) else uri_in("URI", given)


def import_hyperopt(
    store: Store, source: HyperoptDatabase, exp_key: str | None, name: str | None, loss_is: str | None
) -> Document:
    """Adopt one search under `name` (default: its exp_key); what is told of it: `counts` by state and `notes`.

    Args:
        exp_key: which one; None: the only one there is.
        loss_is: the metric that the loss was, as `loss_metric` reads it; None: a loss of its own.

    Raises:
        UsageError: which one is not clear, it is not there, or the store has a search of that name; a wrong sign.
        MetricError: the metric is not known on this machine.
    """
    metric = None if loss_is is None else loss_metric(loss_is)
    key = _chosen(source, exp_key)
    name = name or key or ""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"{name!r} is no name for a search (letters, digits, `_`, `.`, `-`): give one: --name NEW")
    if name in store.names():
        raise UsageError(f"the store has a search `{name}` already: it stays as it is. Take another name: --name NEW")
    found = source.trials(key)
    newest, unreadable = _readable(name, found, metric)
    now = store.server_time()
    jobs = [job for _, job in newest.values()]
    told = {
        "from": f"HyperOpt at {source.place}",
        "exp_key": key,
        "loss_is": loss_is,
        "counts": Counter(State(job["state"]).name for job in jobs),
        "notes": _notes(len(found), [trial for trial, _ in newest.values()], loss_is, unreadable),
    }
    search = to_plain(_search(name, jobs, told, now, metric), name=f"search {name}")
    store.install(name, [*(("jobs", job) for job in jobs), ("searches", search)])
    return search["imported"]


def loss_metric(loss_is: str) -> Metric:
    """The metric whose value a loss was, `mse`, or minus which, `-hms`: HyperOpt minimises.

    Raises:
        UsageError: the sign is not that of the metric's direction.
        MetricError: no such metric on this machine.
    """
    metric = find(loss_is.removeprefix("-"))[0]
    wanted = f"-{metric.name}" if metric.higher_is_better else metric.name
    if loss_is != wanted:
        raise UsageError(
            f"--loss-is={loss_is}: of {metric.name} {metric.direction.partition(',')[0]}, and HyperOpt minimises: "
            f"--loss-is={wanted}"
        )
    return metric


def _chosen(source: HyperoptDatabase, exp_key: str | None) -> str | None:
    keys = source.exp_keys()
    if exp_key is not None and exp_key in keys:
        return exp_key
    if exp_key is None and len(keys) == 1:
        return keys[0]
    listed = ", ".join("(none)" if key is None else key for key in keys) or "none"
    raise UsageError(f"{source.place} holds these exp_keys: {listed}. Choose one: --exp-key KEY")


def _readable(
    name: str, found: Sequence[Document], metric: Metric | None
) -> tuple[dict[int, tuple[Document, Document]], list[str]]:
    """The newest version of each trial by tid, with how the store holds it; and which could not be read, and why."""
    newest: dict[int, tuple[Document, Document]] = {}
    unreadable = []
    for trial in found:
        try:
            newest[int(trial["tid"])] = (trial, _job(name, trial, metric))
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, DocumentRefused) as error:
            unreadable.append(f"trial {trial.get('tid', '?')} ({trial.get('_id')}): {type(error).__name__}: {error}")
    if found and not newest:
        raise UsageError(f"no trial of {name!r} can be read; the first: {unreadable[0]}")
    return newest, unreadable


def _job(name: str, trial: Document, metric: Metric | None) -> Document:
    """One trial as the store holds it. What never ended is CANCEL: nobody will end it now."""
    tid, state = int(trial["tid"]), State(trial["state"])
    misc = trial.get("misc") or {}
    vals = {str(label): list(values or ()) for label, values in (misc.get("vals") or {}).items()}
    idxs = {str(label): list(values or ()) for label, values in (misc.get("idxs") or {}).items()}
    params = {label: values[0] if values else None for label, values in vals.items()}
    job = new_job_document(name, tid, params=params, seed=0, misc={"idxs": idxs, "vals": vals})
    began, ended = trial.get("book_time"), trial.get("refresh_time")
    for moment in (began, ended):
        if moment is not None and not isinstance(moment, datetime):
            raise TypeError(f"a time is {moment!r}")
    owner = _text(trial.get("owner"))
    message = _text(trial.get("error")) or "no message was stored"
    job |= {
        "seed": None,
        "state": int(state if state in (State.DONE, State.ERROR) else State.CANCEL),
        "owner": owner,
        "book_time": began,
        "refresh_time": ended,
        "version": int(trial.get("version") or 0),
        "attempt": int(began is not None),
        "history": [_attempt(owner, began, ended, state)] if began is not None else [],
    }
    if state == State.DONE:
        job["result"] = _result(trial, metric, began, ended)
    elif state == State.ERROR:
        job |= {"error": {"message": message, "traceback": ""}, "result": {"status": "fail", "reason": message}}
    return job


def _attempt(owner: str | None, began: datetime, ended: datetime | None, state: State) -> Document:
    how = {State.DONE: "finished", State.ERROR: "failed"}.get(state, "never ended")
    return {"attempt": 1, "owner": owner, "began": began, "ended": ended, "how": how, "reason": "imported"}


def _result(trial: Document, metric: Metric | None, began: datetime | None, ended: datetime | None) -> Document:
    """Status and loss as HyperOpt has them, the metric that the loss was, and other numbers under `imported`."""
    given = trial.get("result") or {}
    loss = _number(given.get("loss"))
    result: Document = {"status": "ok", "loss": loss} if given.get("status") == "ok" and loss is not None else {}
    if not result:
        why = "the loss is no finite number" if given.get("status") == "ok" else f"status {given.get('status')}"
        result = {"status": "fail", "reason": _text(given.get("reason") or given.get("failure")) or why}
    if metric is not None and result["status"] == "ok":
        result |= {metric.name: -metric.sign * result["loss"], f"{metric.name}_status": "ok"}
    if began is not None and ended is not None:
        result["seconds"] = {"objective": max(0.0, (ended - began).total_seconds())}
    numbers = {str(key): _number(value) for key, value in given.items() if key != "loss"}
    return hyperopt_result({**result, "imported": {k: v for k, v in numbers.items() if v is not None}})


def _search(
    name: str, jobs: Sequence[Document], told: Mapping[str, Any], now: datetime, metric: Metric | None
) -> Document:
    logged = METRICS if metric is None else {**METRICS, metric.name: metric}
    began = [job["book_time"] for job in jobs if job["book_time"] is not None]
    ended = [job["refresh_time"] for job in jobs if job["book_time"] is not None and job["refresh_time"] is not None]
    section: Document = {"name": name, "algorithm": "unknown", "max_trials": len(jobs), "replicates": 1}
    section |= {} if metric is None else {"guide": metric.name}
    config: Document = {"search": section, "space": {}, "data": {}, "network": {}, "training": {"device": "unknown"}}
    return {
        "exp_key": name,
        "config": config | {"metrics": {}, "stopping": {}},
        "hashes": {"space": "imported", "training": "imported"},
        "provenance": provenance(),
        "created": now,
        "resumed": [],
        "driver": None,
        "finished": True,
        "wall_seconds": (max(ended) - min(began)).total_seconds() if began and ended else None,
        "metrics": [found.description() for found in logged.values()],
        "imported": told,
    }


def _notes(found: int, newest: Sequence[Document], loss_is: str | None, unreadable: Sequence[str]) -> list[str]:
    open_ended = sum(State(trial["state"]) in (State.NEW, State.RUNNING) for trial in newest)
    notes = [
        "HyperOpt stored neither algorithm, epochs, data nor versions: how it was sampled and trained is not known",
        f"its loss is {loss_is.replace('-', 'minus ')}, as was said" if loss_is else "its loss is taken for no metric",
        CHOICES,
    ]
    notes += [f"{open_ended} trials that never ended are shown as CANCEL"] if open_ended else []
    twice = found - len(newest) - len(unreadable)
    if unreadable:
        more = f"; and {len(unreadable) - 3} more" if len(unreadable) > 3 else ""
        notes.append(
            f"{len(unreadable)} stored trials are left out, they cannot be read: {'; '.join(unreadable[:3])}{more}"
        )
    return notes + ([f"of {twice} trials stored more than once the newest version is shown"] if twice else [])


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _text(value: Any) -> str | None:
    """Owners and errors are texts or lists of texts in HyperOpt."""
    if value is None:
        return None
    return ": ".join(str(part) for part in value) if isinstance(value, list | tuple) else str(value)
