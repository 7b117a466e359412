"""The contract of the trials store: what its documents hold, and who may change what in which state.

States are HyperOpt's. `→` is one atomic update; nothing else changes a state.

    insert            driver             (absent) → NEW            idempotent by (exp_key, tid)
    reserve           any worker         NEW → RUNNING             new token, lease, attempt + 1
    heartbeat         token's worker     RUNNING                   lease, progress
    begin_attempt     token's worker     RUNNING                   resume_epoch; deletes later epochs, bad checkpoints
    record            token's worker     RUNNING                   one epoch; lease
    set_checkpoint    token's worker     RUNNING                   checkpoint; crash count
    finish            token's worker     RUNNING → DONE            result, in the same update
    fail              token's worker     RUNNING → ERROR           error with traceback
    requeue           token's worker     RUNNING → NEW             preemptions + 1; ERROR at MAX_PREEMPTIONS
    reap              driver, workers    RUNNING → NEW             only past the lease; ERROR `lost` at MAX_CRASHES
    release           launcher           RUNNING → NEW             only of an owner known to be dead; likewise
    cancel            a person           NEW, RUNNING → CANCEL
    retry             a person           ERROR → NEW; RUNNING past its lease → NEW
    install           a person           (absent) → any            a whole search; none is replaced
    remove_search     a person           any → (absent)            a whole search

"Token's worker": the update filters on the token of the reservation and on RUNNING. When it misses, the trial was taken
over, cancelled or finished; `LeaseLost` is raised and nothing was written. `finish`, `fail` and `requeue` may be
repeated after a lost answer: a repetition finds its own token in the state it wanted and succeeds.

All times are the server's (`$$NOW`): leases, locks and stored times never depend on a client's clock. Every write bumps
`version`. Data from outside enter update pipelines only inside `$literal`: a string such as "$x" stays a string.
Nothing is ever unpickled or imported from a document.

jobs      HyperOpt's fields: exp_key tid spec misc{tid cmd workdir idxs vals} state result owner book_time refresh_time
          version; ours: params (concrete values) seed point replicate requires{device_class precision} seen (at most
          1,000 tids that `suggest` saw) token lease_until attempt crashes preemptions resume_epoch offer
          checkpoint{epoch ... previous}
          history[{attempt owner began ended how reason}] error{message traceback} progress (for people who watch)
metrics   exp_key tid epoch attempt recorded and the row that the worker gave
workers   exp_key worker owner since seen until: signs of life, for people who watch; no decision rests on them
searches  exp_key config hashes{space training} provenance created resumed[] driver{token owner since until}
trial_files.files, trial_files.chunks   GridFS, where `search.checkpoints` is `gridfs`; see `files.py`
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Document = dict[str, Any]

MAX_CRASHES = 3
MAX_PREEMPTIONS = 1000
HISTORY_LENGTH = 200
ERROR_BYTES = 16_000
BUCKET = "trial_files"

INDEXES: dict[str, tuple[tuple[tuple[str, ...], bool], ...]] = {
    "jobs": (
        (("exp_key", "tid"), True),
        (("exp_key", "state", "tid"), False),
        (("state", "lease_until"), False),
    ),
    "metrics": ((("exp_key", "tid", "epoch"), True),),
    "searches": ((("exp_key",), True),),
    "workers": ((("exp_key", "worker"), True),),
    f"{BUCKET}.chunks": ((("files_id", "n"), True),),
}
"""Collection -> (keys, unique)."""


class State(IntEnum):
    """HyperOpt's job states."""

    NEW = 0
    RUNNING = 1
    DONE = 2
    ERROR = 3
    CANCEL = 4


@dataclass(frozen=True)
class Job:
    """A reserved trial: what its worker needs, and the token that proves the reservation.

    `attempt` counts from 1. `checkpoint` is what `set_checkpoint` stored last, with the one before under `previous`;
    None at the start. `misc` is HyperOpt's, untouched.
    """

    name: str
    tid: int
    token: str
    attempt: int
    params: Mapping[str, Any]
    seed: int
    point: int
    replicate: int
    checkpoint: Mapping[str, Any] | None = None
    requires: Mapping[str, Any] = field(default_factory=dict)
    misc: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_document(cls, document: Document) -> "Job":
        """The job of a RUNNING document."""
        names = ["tid", "token", "attempt", "params", "seed", "point", "replicate", "checkpoint", "requires", "misc"]
        return cls(name=document["exp_key"], **{name: document[name] for name in names})
