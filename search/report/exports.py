"""The tables of a report as files: CSV, the numbers of the page at full precision, and LaTeX for print."""

from pathlib import Path

import pandas as pd

from search.atomic import replacing
from search.report.analysis import Analysis
from search.report.latex_tables import write_latex
from search.report.matching_kinds import matching_kinds
from search.report.references import reference_table


def export_tables(analysis: Analysis, folder: Path) -> list[Path]:
    """Write the tables into `folder` and return their paths; tables that do not apply are not written.

    A folder that holds the search's exported tables is left with them: their names do not clash with these.
    """
    tables = report_tables(analysis)
    printed = write_latex(analysis, tables, folder)
    if folder.resolve() != analysis.tables.directory.resolve():
        tables |= {"trials": analysis.tables.trials, "epochs": analysis.tables.epochs}
    return [*(_write(table, folder / f"{name}.csv") for name, table in tables.items()), *printed]


def report_tables(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """The tables that apply to a search, by the name of their file."""
    tables = {
        "table1": analysis.defined.table_1,
        "correlations": analysis.defined.correlations,
        "undefined": analysis.undefined,
        "time": analysis.time,
        "importance": analysis.importance,
        "pareto": analysis.pareto,
        "timeline": analysis.timeline,
    }
    if analysis.scored is not None:
        tables["table1_undefined_scored"] = analysis.scored.table_1
        tables["correlations_undefined_scored"] = analysis.scored.correlations
    tables |= {name: table for name, table in analysis.early_stopping.tables.items() if len(table)}
    tables |= {"hms_by_layer_and_step": analysis.best.parts} if len(analysis.best.parts) else {}
    kinds = matching_kinds(analysis.tables)
    tables |= {"matching_by_kind": kinds} if len(kinds) else {}
    references = reference_table(analysis)
    if len(references):
        tables["references"] = references
    if len(analysis.replicates):
        tables["replicates"] = analysis.replicates
    return tables


def _write(table: pd.DataFrame, path: Path) -> Path:
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    return path
