"""`hms export`: the tidy tables of a search as CSV, Parquet, JSON or LaTeX, or the weights of its networks."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from search.errors import UsageError
from search.export import epochs_table, export_tables, export_weights, trials_table
from search.paths import RunFolder
from search.store import Store


def json_records(table: pd.DataFrame) -> str:
    """One object a row at full precision (pandas' own writer rounds to 10 digits); undefined values are null."""
    rows = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    return json.dumps(rows, indent=1, default=str, allow_nan=False)


WRITERS: dict[str, tuple[str, Callable[[pd.DataFrame, Path], object]]] = {
    "json": (".json", lambda table, path: path.write_text(json_records(table), encoding="utf-8")),
}


def _latex(exported: Path, out: Path) -> list[Path]:
    """The tables of the report and of the trials and their evaluations, as `hms report` writes and words them."""
    # Slow to import, and no other format needs it.
    from search.report import analyse, read_tables
    from search.report.exports import report_tables
    from search.report.latex_tables import run_tables, write_latex

    analysis = analyse(read_tables(exported))
    return write_latex(analysis, report_tables(analysis) | run_tables(analysis), out)


def export_as(store: Store, name: str, folder: RunFolder, data_root: Path, format: str, out: Path) -> list[Path]:
    """Write the tables of `name` to `out`; the paths. CSV and Parquet come with `search.json`, as reports need them."""
    if format in ("csv", "parquet"):
        export_tables(store, name, folder, data_root, out)
        return [out / f"trials.{format}", out / f"epochs.{format}", out / "search.json"]
    store.search(name)
    if format == "latex":
        return _latex(export_tables(store, name, folder, data_root), out)
    if format == "weights":
        return export_weights(store, name, folder, out)
    if format not in WRITERS:
        raise UsageError(f"--format is {format!r}: expected csv, parquet, json, latex or weights")
    suffix, write = WRITERS[format]
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for stem, table in (("trials", trials_table(store, name)), ("epochs", epochs_table(store, name))):
        path = out / f"{stem}{suffix}"
        temporary = path.with_name(f"{stem}.part{suffix}")
        write(table, temporary)
        temporary.replace(path)
        paths.append(path)
    return paths
