"""The logged metrics of finished networks as matrices, one row a network, one column an evaluated epoch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.metric import DIVERGED
from search.report.tables import SearchTables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

CUTS = ("hms_stable", "stable", "below_threshold")  # finish reasons of a run that its search's own rule ended


@dataclass(frozen=True)
class Histories:
    """n networks, evaluated at E different epochs; NaN and False where a network was not evaluated.

    epochs (E,): ascending. evaluated (n, E). values, diverged: by metric, (n, E); NaN where undefined.
    final: by metric, (n,), the value that the trial ended with. planned, trained (n,): epochs.
    seconds_per_epoch (n,): device time of the whole trial over its trained epochs; NaN where no trial was timed.
    measured (n,): whose time was measured; others count with the median of those. every: epochs between evaluations.
    signs: 1 where a higher value of the metric is better, else -1. titles: the metrics in a word.
    """

    tids: Ints
    epochs: Ints
    evaluated: Flags
    values: Mapping[str, Floats]
    diverged: Mapping[str, Flags]
    final: Mapping[str, Floats]
    planned: Ints
    trained: Ints
    seconds_per_epoch: Floats
    measured: Flags
    every: int
    signs: Mapping[str, int]
    titles: Mapping[str, str]

    @property
    def n(self) -> int:
        """Number of networks."""
        return len(self.tids)

    @property
    def timed(self) -> int:
        """Number of networks whose time was measured."""
        return int(self.measured.sum())

    @property
    def metrics(self) -> list[str]:
        """The metrics with any value after the untrained state."""
        later = self.epochs > 0
        return [name for name, values in self.values.items() if np.isfinite(values[:, later]).any()]

    def at(self, metric: str, stop: Ints) -> Floats:
        """The metric (n,) of each network ended after `stop` (n,) epochs; the final value where it ends by itself."""
        column = np.searchsorted(self.epochs, stop).clip(max=max(0, len(self.epochs) - 1))
        if not len(self.epochs):
            return self.final[metric]
        there = self.epochs[column] == stop
        values = np.where(there, self.values[metric][np.arange(self.n), column], np.nan)
        return np.where(stop >= self.trained, self.final[metric], values)

    def where(self, chosen: Flags) -> "Histories":
        """The networks of the mask `chosen` (n,)."""
        return Histories(
            tids=self.tids[chosen],
            epochs=self.epochs,
            evaluated=self.evaluated[chosen],
            values={name: values[chosen] for name, values in self.values.items()},
            diverged={name: flags[chosen] for name, flags in self.diverged.items()},
            final={name: values[chosen] for name, values in self.final.items()},
            planned=self.planned[chosen],
            trained=self.trained[chosen],
            seconds_per_epoch=self.seconds_per_epoch[chosen],
            measured=self.measured[chosen],
            every=self.every,
            signs=self.signs,
            titles=self.titles,
        )


def histories(tables: SearchTables) -> Histories:
    """The histories of all finished networks that were evaluated at all, in the order of tid."""
    done = tables.finished.dropna(subset=["epochs_planned", "epochs_trained"])
    rows = tables.epochs[tables.epochs["tid"].isin(done["tid"])].drop_duplicates(["tid", "epoch"], keep="last")
    done = done[done["tid"].isin(rows["tid"])]
    tids, epochs = done["tid"].to_numpy(np.int64), np.unique(rows["epoch"].to_numpy(np.int64))
    place = np.searchsorted(tids, rows["tid"]), np.searchsorted(epochs, rows["epoch"])
    shape, trained = (len(tids), len(epochs)), done["epochs_trained"].to_numpy(np.int64)
    per_epoch, measured = _seconds_per_epoch(done, trained)
    return Histories(
        tids=tids,
        epochs=epochs,
        evaluated=_filled(shape, place, np.ones(len(rows), dtype=bool), False),
        values={name: _filled(shape, place, rows[name].to_numpy(np.float64), np.nan) for name in tables.metrics},
        diverged={name: _filled(shape, place, _diverged(rows, name), False) for name in tables.metrics},
        final={name: done[name].to_numpy(np.float64) for name in tables.metrics},
        planned=done["epochs_planned"].to_numpy(np.int64),
        trained=trained,
        seconds_per_epoch=per_epoch,
        measured=measured,
        every=_every(tables, epochs),
        signs={name: metric.sign for name, metric in tables.metrics.items()},
        titles={name: metric.short for name, metric in tables.metrics.items()},
    )


def cut_short(tables: SearchTables, tids: Ints) -> Flags:
    """Which of these finished networks (n,) the search's own rule ended before their planned epochs."""
    rows = tables.trials.set_index("tid").loc[tids]
    return (rows["finish"].isin(CUTS) & (rows["epochs_trained"] < rows["epochs_planned"])).to_numpy(dtype=bool)


def _filled(shape: tuple[int, int], place: tuple[Any, Any], values: NDArray[Any], empty: object) -> NDArray[Any]:
    matrix = np.full(shape, empty, dtype=values.dtype)
    matrix[place] = values
    return matrix


def _diverged(rows: pd.DataFrame, metric: str) -> Flags:
    status = f"{metric}_status"
    return (rows[status] == DIVERGED).to_numpy(dtype=bool) if status in rows else np.zeros(len(rows), dtype=bool)


def _seconds_per_epoch(done: pd.DataFrame, trained: Ints) -> tuple[Floats, Flags]:
    each = done["seconds"].to_numpy(np.float64) / np.maximum(trained, 1)
    timed = np.isfinite(each)
    return np.where(timed, each, np.median(each[timed]) if timed.any() else np.nan), timed


def _every(tables: SearchTables, epochs: Ints) -> int:
    """Epochs between evaluations: as configured, or the smallest step that was logged."""
    configured = (tables.record.config.get("metrics") or {}).get("every")
    if configured:
        return int(configured)
    return int(np.diff(epochs).min()) if len(epochs) > 1 else 1
