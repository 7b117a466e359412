"""What a worker hands to the process that trains, and how that process is asked to stop."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.config import SearchConfig

Report = Callable[[str, dict[str, Any]], None]
Check = Callable[[], None]


class Preempted(BaseException):
    """The worker was asked to give the trial back. A `BaseException`, so that no `except Exception` swallows it."""


@dataclass(frozen=True)
class TrialOrder:
    """One attempt at one trial, as plain values.

    `history` holds the metrics rows already stored, `checkpoints` those recorded, newest first; the `epoch` of a
    checkpoint is the last one evaluated before it. `finished` are the last values of the stopping rule's
    metric of networks that finished. Checkpoints, log and curve lie in the trial's `folder`; what a finished trial
    leaves is written to `artifacts`, the attempt's own, and moved there when the store took the result.
    """

    name: str
    tid: int
    seed: int
    params: dict[str, Any]
    config: SearchConfig
    folder: Path
    data_root: Path
    device: str
    threads: int
    checkpoints: tuple[dict[str, Any], ...] = ()
    history: tuple[dict[str, Any], ...] = ()
    finished: tuple[float, ...] = ()
    attempt_folder: Path | None = None

    @property
    def artifacts(self) -> Path:
        """The attempt's own folder; the trial's where nobody else can work on it."""
        return self.attempt_folder or self.folder
