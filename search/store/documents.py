"""Plain values for MongoDB: what may be stored, how foreign types become plain, and the document of a new trial."""

import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any, Literal

import bson
import numpy as np

from search.errors import DocumentRefused
from search.store.contract import Document, State

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 100
"""Levels of nesting. The server takes a few more, but what is written lies within other documents there."""
NonFinite = Literal["null", "refuse"]


def to_plain(value: Any, *, non_finite: NonFinite = "null", name: str = "value", depth: int = 0) -> Any:
    """Plain JSON types (and datetimes) of a value: dict, list, str, bool, int, float, None.

    NumPy scalars and arrays, torch tensors, enums and paths are converted. NaN and infinities become None, because a
    status beside them says why (`non_finite="null"`), or are refused where they would change what is trained
    (`"refuse"`). Raises `DocumentRefused`, naming the field, for all else: integers beyond 64 bits, bytes, sets,
    complex numbers, objects, keys that are no strings, and what is nested deeper than `MAX_DEPTH` levels; `depth`
    levels lie around the value.
    """
    if value is None or isinstance(value, bool | datetime):
        return value
    if isinstance(value, Enum):
        return to_plain(value.value, non_finite=non_finite, name=name, depth=depth)
    if isinstance(value, int):
        return _plain_int(int(value), name)
    if isinstance(value, float):
        return _plain_float(float(value), non_finite, name)
    if isinstance(value, str | PurePath):
        return _plain_str(str(value), name)
    if isinstance(value, Mapping | list | tuple):
        return _plain_container(value, non_finite, name, depth + 1)
    return _plain_array(value, non_finite, name, depth)


def storable(value: Any, *, non_finite: NonFinite = "null", name: str) -> Document:
    """A mapping as `to_plain` makes it, refused by name when it is longer than MongoDB's 16 MB."""
    plain = to_plain(value, non_finite=non_finite, name=name)
    if not isinstance(plain, dict):
        raise DocumentRefused(f"{name} must be a mapping of names to values, not {type(value).__name__}: {value!r:.80}")
    size = len(bson.encode(plain))
    # The document around it needs room too.
    if size > MAX_BYTES - 2**20:
        largest = max(plain, key=lambda key: len(bson.encode({key: plain[key]})))
        raise DocumentRefused(
            f"{name} has {size:,} bytes, and MongoDB holds {MAX_BYTES:,} a document; its largest field is {largest!r}. "
            "Write large arrays to a file of the run's folder"
        )
    return plain


def hyperopt_result(result: Mapping[str, Any]) -> Document:
    """A result that HyperOpt accepts: status `ok` with a finite `loss`, or `fail` with a `reason` and no loss.

    A loss of NaN or infinity turns the trial into a failed one, so that `best_trial` never meets it.
    """
    plain = storable(result, name="result")
    status = plain.get("status")
    if status not in ("ok", "fail"):
        raise DocumentRefused(f"result.status is {status!r}: a finished trial has 'ok' (with a loss) or 'fail'")
    if status == "ok" and "loss" not in plain:
        raise DocumentRefused("result has status 'ok' but no loss; give a loss, or status 'fail' with a reason")
    if status == "ok" and plain["loss"] is None:
        given = result["loss"]
        plain |= {"status": "fail", "reason": plain.get("reason") or f"the loss is {given}"}
    if plain["status"] == "fail":
        plain.pop("loss", None)
        return {**plain, "reason": plain.get("reason") or "failed"}
    if isinstance(plain["loss"], bool) or not isinstance(plain["loss"], int | float):
        raise DocumentRefused(f"result.loss is {plain['loss']!r}: it must be a number")
    return {**plain, "loss": float(plain["loss"])}


def new_job_document(
    name: str,
    tid: int,
    *,
    params: Mapping[str, Any],
    seed: int,
    misc: Mapping[str, Any] | None = None,
    point: int | None = None,
    replicate: int = 0,
    requires: Mapping[str, Any] | None = None,
    seen: Sequence[int] = (),
) -> Document:
    """A trial in state NEW, in HyperOpt's schema plus the fields of the contract.

    `params` are the concrete values, `misc` HyperOpt's (`idxs` and `vals`), `seen` the tids that `suggest` saw;
    `requires` is what a worker must offer. `point` is the sampled point that replicates share; `tid` by default.
    """
    document = {
        "exp_key": name,
        "tid": tid,
        "spec": None,
        "misc": {"cmd": None, "workdir": None, "idxs": {}, "vals": {}, **(misc or {}), "tid": tid},
        "state": int(State.NEW),
        "result": {"status": "new"},
        "owner": None,
        "book_time": None,
        "refresh_time": None,
        "version": 0,
        "params": params,
        "seed": seed,
        "point": tid if point is None else point,
        "replicate": replicate,
        "requires": requires or {},
        "seen": list(seen),
        "token": None,
        "lease_until": None,
        "attempt": 0,
        "crashes": 0,
        "preemptions": 0,
        "resume_epoch": 0,
        "offer": None,
        "checkpoint": None,
        "history": [],
        "error": None,
    }
    return storable(document, non_finite="refuse", name=f"trial {tid}")


def _plain_container(
    value: Mapping[Any, Any] | Sequence[Any], non_finite: NonFinite, name: str, depth: int
) -> dict[str, Any] | list[Any]:
    if depth > MAX_DEPTH:
        raise DocumentRefused(f"{name:.80}... is nested deeper than {MAX_DEPTH} levels, more than MongoDB holds")
    if isinstance(value, Mapping):
        return {
            _plain_key(key, name): to_plain(item, non_finite=non_finite, name=f"{name}.{key}", depth=depth)
            for key, item in value.items()
        }
    return [to_plain(item, non_finite=non_finite, name=f"{name}[{i}]", depth=depth) for i, item in enumerate(value)]


def _plain_int(value: int, name: str) -> int:
    if not -(2**63) <= value < 2**63:
        raise DocumentRefused(f"{name} is {value}: MongoDB holds integers of 64 bits; store it as text")
    return value


def _plain_float(value: float, non_finite: NonFinite, name: str) -> float | None:
    if math.isfinite(value):
        return value
    if non_finite == "refuse":
        raise DocumentRefused(f"{name} is {value}: a finite number is needed here")
    return None


def _plain_str(value: str, name: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DocumentRefused(f"{name} is {value!r:.80}: it holds characters that are not Unicode text") from None
    return value


def _plain_key(key: Any, name: str) -> str:
    if not isinstance(key, str) or "\0" in key:
        raise DocumentRefused(f"{name} has the key {key!r:.80}: keys are strings without the character NUL")
    return _plain_str(str(key), f"a key of {name}")


def _plain_array(value: Any, non_finite: NonFinite, name: str, depth: int) -> Any:
    # torch is never imported for this: if it was not, the value is no tensor.
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return to_plain(value.detach().cpu().tolist(), non_finite=non_finite, name=name, depth=depth)
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        if value.dtype == np.longdouble:
            value = value.astype(np.float64)
        return to_plain(value.tolist(), non_finite=non_finite, name=name, depth=depth)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise DocumentRefused(f"{name} is a {kind}, which MongoDB cannot hold; convert it to a number, text, list or dict")
