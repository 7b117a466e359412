"""HMS against each reference: the best networks and the image baselines, one column a reference."""

import math

import pandas as pd

from search.report.analysis import Analysis
from search.report.artifacts import best_networks

BEST = 3


def reference_table(analysis: Analysis) -> pd.DataFrame:
    """Columns model, tid, hms and each further `hms_NAME`, NaN where undefined; empty without further references.

    Rows: the `BEST` networks by each reference, in the order of HMS, by their last evaluation; then the models made of
    the images alone, best first.
    """
    tables, record = analysis.tables, analysis.tables.record
    further = [name for name in tables.metrics if name in analysis.compared.beside]
    columns = ["hms", *further]
    if not further:
        return pd.DataFrame(columns=["model", "tid", *columns])
    chosen = {tid for column in columns for tid in best_networks(tables, column, BEST)}
    networks = tables.finished[tables.finished["tid"].isin(chosen)].sort_values(["hms", "tid"], ascending=[False, True])
    rows = [
        {"model": f"trial {int(row['tid'])}", "tid": int(row["tid"])} | {column: row[column] for column in columns}
        for row in networks.to_dict("records")
    ]
    beside = {f"hms_{name}": facts.get("baselines") or {} for name, facts in record.references.items()}
    for name, value in analysis.trivial_baselines.items():
        scores = {column: beside.get(column, {}).get(name, math.nan) for column in further}
        rows.append({"model": name, "tid": None, "hms": value} | scores)
    table = pd.DataFrame(rows, columns=["model", "tid", *columns])
    return table.astype({"tid": "Int64"} | dict.fromkeys(columns, float))
