"""What every worker did when: one row an attempt at a trial, in seconds since the first began."""

import numpy as np
import pandas as pd

from search.report.record import SearchRecord
from search.report.tables import SearchTables

COLUMNS = ["worker", "tid", "attempt", "start", "seconds", "outcome"]
FINISHED, FAILED, INTERRUPTED, RUNNING = "finished", "failed", "interrupted: given back, lost or cancelled", "running"
OUTCOMES = (FINISHED, FAILED, INTERRUPTED, RUNNING)


def timeline(tables: SearchTables) -> pd.DataFrame:
    """Columns `COLUMNS`, workers in the order in which they began; empty where no trial has times.

    From the exported `attempts`; from `trials`, one row a trial from its first start to its end, where an older export
    has none. An attempt that runs reaches to the time of the export.
    """
    raw = _attempts(tables)
    if raw is None:
        raw = _from_trials(tables)
    began = pd.to_datetime(raw["began"], utc=True, errors="coerce", format="ISO8601")
    ended = pd.to_datetime(raw["ended"], utc=True, errors="coerce", format="ISO8601")
    running = ended.isna() & (raw["how"] == RUNNING)
    if tables.record.exported:
        ended = ended.where(~running, pd.Timestamp(tables.record.exported).tz_convert("UTC"))
    known = began.notna() & ended.notna() & (ended >= began)
    start = (began - began[known].min()).dt.total_seconds()
    rows = pd.DataFrame(
        {
            "worker": raw["worker"],
            "tid": raw["tid"],
            "attempt": raw["attempt"],
            "start": start,
            "seconds": (ended - began).dt.total_seconds(),
            "outcome": raw["how"].map({FINISHED: FINISHED, FAILED: FAILED, RUNNING: RUNNING}).fillna(INTERRUPTED),
        }
    )
    rows = rows[known].astype({"tid": np.int64, "attempt": np.int64})
    first = rows.groupby("worker")["start"].transform("min")
    order = rows.assign(first=first).sort_values(["first", "worker", "start"], kind="stable").index
    return rows.loc[order, COLUMNS].reset_index(drop=True)


def _attempts(tables: SearchTables) -> pd.DataFrame | None:
    try:
        raw = pd.read_csv(tables.directory / "attempts.csv", dtype=str, keep_default_na=False)
    except (OSError, ValueError):
        return None
    if not {"tid", "attempt", "host", "pid", "device", "began", "ended", "how"} <= set(raw.columns) or raw.empty:
        return None
    numbers = raw["pid"].str.removesuffix(".0")
    worker = raw["host"] + " " + raw["device"] + numbers.map(lambda pid: f" ({pid})" if pid else "")
    attempt = pd.to_numeric(raw["attempt"], errors="coerce").fillna(1)
    return raw.assign(worker=worker.str.strip(), attempt=attempt, tid=pd.to_numeric(raw["tid"]))


def _from_trials(tables: SearchTables) -> pd.DataFrame:
    trials = tables.trials.reindex(columns=["tid", "state", "owner", "book_time", "end_time", "attempts"])
    how = trials["state"].map({"DONE": FINISHED, "ERROR": FAILED, "RUNNING": RUNNING}).fillna("")
    return pd.DataFrame(
        {
            "tid": trials["tid"],
            "worker": trials["owner"].astype(object).fillna("").astype(str),
            "attempt": pd.to_numeric(trials["attempts"], errors="coerce").fillna(1),
            "began": trials["book_time"].astype(str),
            "ended": trials["end_time"].astype(str),
            "how": how,
        }
    )[trials["owner"].notna() & (trials["owner"] != "")]


def busy_share(rows: pd.DataFrame, record: SearchRecord) -> float:
    """Share of the workers' time, from each one's first start to the last end of all, that attempts filled.

    NaN without attempts, or where bars of one worker overlap: those of an older export span several attempts.
    """
    later = rows.groupby("worker")["start"].shift(-1)
    if rows.empty or record.imported or (later < rows["start"] + rows["seconds"]).any():
        return float("nan")
    end = float((rows["start"] + rows["seconds"]).max())
    available = float((end - rows.groupby("worker")["start"].min()).sum())
    return float(rows["seconds"].sum()) / available if available > 0 else float("nan")
