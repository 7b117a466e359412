"""Object matching by kind of change: the networks best by HMS and by accuracy, and the mean over all."""

import pandas as pd

from search.report.tables import SearchTables

KINDS = ("rotation", "light", "hue", "mixed", "any", "identical", "distinct")


def matching_kinds(tables: SearchTables) -> pd.DataFrame:
    """Columns networks, n, overall and each logged kind: accuracy, 0 to 1; empty where no kind was logged.

    By the last evaluation of each finished network; NaN where no network has a value.
    """
    columns = {kind: f"accuracy_{kind}" for kind in KINDS if f"accuracy_{kind}" in tables.trials}
    done = tables.finished[tables.finished["accuracy"].notna()]
    if not columns or done.empty:
        return pd.DataFrame(columns=["networks", "n", "overall"])
    chosen = {"all networks": done}
    for metric, name in (("hms", "best by HMS with an accuracy"), ("accuracy", "best by accuracy")):
        best = done.sort_values([metric, "tid"], ascending=[False, True]).head(1)
        chosen[f"{name}, trial {int(best['tid'].iloc[0])}"] = best
    names = {"overall": "accuracy", **columns}
    rows = [
        {"networks": name, "n": len(rows)}
        | {kind: pd.to_numeric(rows[column], errors="coerce").mean() for kind, column in names.items()}
        for name, rows in chosen.items()
    ]
    return pd.DataFrame(rows)
