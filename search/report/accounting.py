"""What a search cost and where the time went."""

from dataclasses import dataclass

import pandas as pd

from search.report.tables import SearchTables

STATES = ("NEW", "RUNNING", "DONE", "ERROR", "CANCEL")
FINISHES = ("hms_stable", "stable", "below_threshold", "max_epochs", "collapsed", "diverged")
PARTS = ("preparation", "training", "validation", "hms", "mse", "matching", "conclusion", "checkpoint", "store")


@dataclass(frozen=True)
class Account:
    """Counts and costs. Epochs are of finished trials; `device_seconds` is the sum over trials of their time."""

    states: dict[str, int]
    finishes: dict[str, int]
    planned_trials: int | None
    epochs_planned: int
    epochs_trained: int
    device_seconds: float
    wall_seconds: float | None
    devices: dict[str, int]

    @property
    def done(self) -> int:
        """Number of finished trials."""
        return self.states.get("DONE", 0)

    @property
    def epochs_untrained(self) -> int:
        """Planned epochs that finished trials left untrained, because they were stopped or diverged."""
        return max(0, self.epochs_planned - self.epochs_trained)


def account(tables: SearchTables) -> Account:
    """Count states and finish reasons, and add up epochs and seconds."""
    trials, done = tables.trials, tables.finished
    both = done[["epochs_planned", "epochs_trained"]].dropna()
    used = trials[trials["device"] != ""]
    return Account(
        states={state: int((trials["state"] == state).sum()) for state in STATES if (trials["state"] == state).any()},
        finishes={name: int((done["finish"] == name).sum()) for name in FINISHES if (done["finish"] == name).any()},
        planned_trials=tables.record.planned_trials,
        epochs_planned=int(both["epochs_planned"].sum()),
        epochs_trained=int(both["epochs_trained"].sum()),
        device_seconds=float(trials["seconds"].sum()),
        wall_seconds=tables.record.wall_seconds,
        devices={
            f"{device} ({precision})" if precision else str(device): len(group)
            for (device, precision), group in used.groupby(["device", "precision"])
        },
    )


def time_by_part(tables: SearchTables) -> pd.DataFrame:
    """Seconds by part of the work, in the order of the work; columns part, seconds, share (of the listed parts)."""
    seconds = {part: float(value) for part, value in tables.record.seconds.items() if value is not None}
    order = [*[part for part in PARTS if part in seconds], *[part for part in seconds if part not in PARTS]]
    total = sum(seconds.values())
    rows = [
        {"part": part, "seconds": seconds[part], "share": seconds[part] / total if total else 0.0} for part in order
    ]
    return pd.DataFrame(rows, columns=["part", "seconds", "share"])
