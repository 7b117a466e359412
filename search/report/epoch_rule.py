"""The epoch rule: which evaluation of a network its values in a table are of.

`last`: its last evaluation. `final`: the same, but only networks that trained all their planned epochs. `stopped`: the
evaluation at which the search's stopping rule stops it; the stability rule with the search's window and tolerance where
that search stopped none, so that full runs are read as if it had; a network that the rule never stops, by its last
evaluation. `at epoch E`: the evaluation at epoch E.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from search.errors import EpochNotReached, UsageError
from search.metric_sections import StoppingSection
from search.report.record import SearchRecord
from search.report.tables import SearchTables
from search.stopping import Evaluation, first_stable

KINDS = ("last", "final", "stopped")
STOPPED_EARLY = ("hms_stable", "stable", "below_threshold")
LEFT_OUT = "left_out"  # the column that says why a network has no row in a table; empty where it has


@dataclass(frozen=True)
class EpochRule:
    """`kind` is one of `KINDS`, or `epoch` with the `epoch`; `name` is what tables carry."""

    kind: str = "last"
    epoch: int | None = None

    @classmethod
    def parse(cls, text: str) -> "EpochRule":
        """`last`, `final`, `stopped` or a number of epochs. Raises `UsageError` for anything else."""
        word = text.strip().lower()
        if word in KINDS:
            return cls(word)
        if word.isascii() and word.isdigit():
            return cls("epoch", int(word))
        raise UsageError(f"--epoch-rule is {text!r}: expected {', '.join(KINDS)} or an epoch such as 30")

    @property
    def name(self) -> str:
        """`last`, `final`, `stopped`, `at epoch 30`."""
        return self.kind if self.epoch is None else f"at epoch {self.epoch}"

    def words(self, record: SearchRecord) -> str:
        """For captions: whose values, of which evaluation."""
        if self.kind == "final":
            return "values of the last evaluation, only of networks that trained all their planned epochs"
        if self.kind == "stopped":
            return f"values at the evaluation where {_rule_in_words(record)}, or the last where it never does"
        if self.kind == "epoch":
            return f"values of the evaluation at epoch {self.epoch}"
        return "values of each network's last evaluation"


def finished_at(tables: SearchTables, rule: EpochRule) -> pd.DataFrame:
    """The finished trials with their metrics, statuses and `epochs_trained` as of the rule, and `left_out`.

    Raises:
        EpochNotReached: no network was evaluated at the epoch of the rule; the nearest evaluated epochs are named.
    """
    done = tables.finished.copy()
    if rule.kind == "final":
        return done.assign(**{LEFT_OUT: [_not_final(row) for row in done.to_dict("records")]})
    if rule.kind == "stopped" and tables.record.stopping_rule != "threshold":
        return _evaluated(tables, done, _stops(tables)).assign(**{LEFT_OUT: ""})
    if rule.kind == "epoch" and rule.epoch is not None:
        _check_epoch(tables, rule.epoch)
        at = _evaluated(tables, done, dict.fromkeys(done["tid"], rule.epoch))
        there = set(tables.epochs.loc[tables.epochs["epoch"] == rule.epoch, "tid"])
        reasons = ["" if row["tid"] in there else _not_at(row, rule.epoch) for row in done.to_dict("records")]
        return at.assign(**{LEFT_OUT: reasons})
    return done.assign(**{LEFT_OUT: ""})


def cut_off(frame: pd.DataFrame) -> int:
    """How many networks of `finished_at` the rule leaves out because stopping ended them early: by what they scored."""
    return int(((frame[LEFT_OUT] != "") & frame["finish"].isin(STOPPED_EARLY)).sum())


def _evaluated(tables: SearchTables, done: pd.DataFrame, chosen: dict[int, int]) -> pd.DataFrame:
    """`done` with the values of the evaluation at `chosen[tid]`; a network without it keeps its own."""
    columns = [column for name in tables.metrics for column in (name, f"{name}_status")]
    wanted = pd.DataFrame({"tid": list(chosen), "epoch": list(chosen.values())}, dtype=np.int64)
    rows = tables.epochs.reindex(columns=["tid", "epoch", *columns]).merge(wanted, on=["tid", "epoch"])
    rows = rows.set_index("tid")
    found = done.set_index("tid", drop=False).rename_axis(None)
    for column in columns:
        values = rows[column].fillna("").astype(str) if column.endswith("_status") else rows[column]
        found.loc[rows.index, column] = values
    found.loc[rows.index, "epochs_trained"] = rows["epoch"].astype(np.float64)
    return found.reset_index(drop=True)


def _stops(tables: SearchTables) -> dict[int, int]:
    """tid -> the epoch at which the stability rule stops it; only of those that it stops."""
    settings, metric = _settings(tables.record), tables.record.stopping.get("metric", "hms")
    every = int((tables.record.config.get("metrics") or {}).get("every") or 5)
    histories: dict[int, list[Evaluation]] = {int(tid): [] for tid in tables.finished["tid"]}
    for row in tables.epochs[["tid", "epoch", metric]].itertuples(index=False):
        value = float(row[2])
        evaluation = Evaluation(int(row[1]), value if math.isfinite(value) else None)
        histories.setdefault(int(row[0]), []).append(evaluation)
    stops = {tid: first_stable(histories[tid], settings, every) for tid in tables.finished["tid"]}
    return {int(tid): epoch for tid, epoch in stops.items() if epoch is not None}


def _settings(record: SearchRecord) -> StoppingSection:
    known = {"window", "tolerance", "ddof", "min_epochs"}
    return StoppingSection(**{key: value for key, value in record.stopping.items() if key in known})


def _rule_in_words(record: SearchRecord) -> str:
    if record.stopping_rule == "threshold":
        return "the threshold rule stopped the network"
    settings = _settings(record)
    name = str(record.stopping.get("metric", "hms"))
    title = "HMS" if name == "hms" else name
    return (
        f"the stability rule stops the network (SD of {title} over {settings.window} epochs at most "
        f"{settings.tolerance:g})"
    )


def _not_final(row: dict[Any, Any]) -> str:
    planned, trained = row["epochs_planned"], row["epochs_trained"]
    if row["finish"] == "max_epochs" or trained >= planned:
        return ""
    return f"ended before its planned epochs, {row['finish'] or 'finish unknown'}"


def _not_at(row: dict[Any, Any], epoch: int) -> str:
    if row["epochs_planned"] < epoch:
        return f"planned fewer than {epoch} epochs"
    if row["epochs_trained"] < epoch:
        return f"ended before epoch {epoch}, {row['finish'] or 'finish unknown'}"
    return f"not evaluated at epoch {epoch}"


def _check_epoch(tables: SearchTables, epoch: int) -> None:
    epochs = np.unique(tables.epochs["epoch"].to_numpy(dtype=np.int64))
    if len(epochs) == 0 or epoch in epochs:
        return
    nearest = sorted(epochs, key=lambda other: (abs(other - epoch), other))[:3]
    names = ", ".join(str(int(other)) for other in sorted(nearest))
    raise EpochNotReached(f"--epoch-rule {epoch}: no network was evaluated at epoch {epoch}; the nearest are {names}.")
