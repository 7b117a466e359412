"""The exported tables of a search: which files and columns they have, and how they load."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from metrics.metric import Metric
from metrics.registry import METRICS
from search.errors import UsageError
from search.logged_metrics import as_described
from search.report.record import SearchRecord, read_record

PARAMETER = "param."

# The columns that the report reads; tables may hold more, which it leaves as they are.
_TRIAL_TEXT = "state finish reason hms_status mse_status accuracy_status device precision error"
_TRIAL_NUMBERS = "tid point replicate epochs_planned epochs_trained hms mse accuracy seconds"
_TRIAL_FLAG = "unmoved"
_EPOCH_NUMBERS = "tid epoch hms mse mse_previous_frame accuracy"


@dataclass(frozen=True)
class SearchTables:
    """One search, read from a directory.

    trials: one row a trial, sorted by tid; metrics are the last evaluated values, NaN where undefined.
    epochs: one row (tid, epoch), sorted. Artifacts of single trials are read on demand by `search.report.artifacts`.
    """

    directory: Path
    record: SearchRecord
    trials: pd.DataFrame
    epochs: pd.DataFrame

    @property
    def metrics(self) -> dict[str, Metric]:
        """What was logged, as the export describes it; the paper's three where it does not."""
        return as_described(self.record.metrics)

    @property
    def parameters(self) -> list[str]:
        """The hyperparameter columns of `trials`, in their order there."""
        return [column for column in self.trials.columns if column.startswith(PARAMETER)]

    @property
    def finished(self) -> pd.DataFrame:
        """The trials in state DONE."""
        return self.trials[self.trials["state"] == "DONE"]


def read_tables(path: Path | str) -> SearchTables:
    """Read the tables that `hms export` or `hms run` wrote; `path` is that directory, or the one above `tables/`.

    Raises `UsageError` naming the missing file or columns and the command that writes them.
    """
    directory = Path(path)
    if not (directory / "search.json").exists() and (directory / "tables" / "search.json").exists():
        directory = directory / "tables"
    record = read_record(directory / "search.json")
    further = [name for name in as_described(record.metrics) if name not in METRICS]
    trials = _read(directory, "trials", _TRIAL_TEXT.split(), _TRIAL_NUMBERS.split(), [_TRIAL_FLAG], further)
    epochs = _read(directory, "epochs", [], _EPOCH_NUMBERS.split(), [], further)
    return SearchTables(
        directory=directory,
        record=record,
        trials=trials.sort_values("tid", ignore_index=True),
        epochs=epochs.sort_values(["tid", "epoch"], ignore_index=True),
    )


def _read(
    directory: Path, name: str, text: list[str], numbers: list[str], flags: list[str], further: list[str]
) -> pd.DataFrame:
    """One table; of the `further` metrics it may lack columns, as before any network was evaluated."""
    parquet, csv = directory / f"{name}.parquet", directory / f"{name}.csv"
    source = parquet if parquet.exists() else csv
    try:
        table = pd.read_parquet(parquet) if parquet.exists() else pd.read_csv(csv, low_memory=False)
    except FileNotFoundError:
        raise UsageError(
            f"No exported {name} in {directory}: neither {parquet.name} nor {csv.name} is there. "
            "Run `hms export NAME` first."
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{source} cannot be read ({error}). Run `hms export NAME` again.") from None
    missing = [column for column in [*text, *numbers, *flags] if column not in table.columns]
    if missing:
        raise UsageError(
            f"{source} lacks the columns {', '.join(missing)}: another version wrote it. Run `hms export NAME` again."
        )
    table = table.reindex(columns=[*table.columns, *({*further, *_statuses(further)} - {*table.columns})])
    for column in [*text, *_statuses(further)]:
        table[column] = table[column].astype(object).where(table[column].notna(), "").astype(str)
    for column in [*numbers, *further]:
        table[column] = pd.to_numeric(table[column], errors="coerce").astype(np.float64)
        table[column] = table[column].where(np.isfinite(table[column]))
    for column in flags:
        table[column] = table[column].map(_flag).astype(bool)
    keys = [column for column in ("tid", "epoch") if column in numbers]
    return table.astype(dict.fromkeys(keys, np.int64))


def _statuses(metrics: list[str]) -> list[str]:
    return [f"{metric}_status" for metric in metrics]


def _flag(value: object) -> bool:
    return str(value).strip().lower() in {"true", "1", "1.0"}
