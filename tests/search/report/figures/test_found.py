"""The best value found against the hours spent, of tables that others wrote."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from search.report import read_tables
from search.report.figures import found

WriteTables = Callable[..., Path]


def test_tables_that_do_not_say_when_trials_ended_have_no_line(write_tables: WriteTables) -> None:
    folder = write_tables(trials=4, artifacts=0)
    trials = pd.read_csv(folder / "trials.csv").drop(columns="end_time")
    trials.to_csv(folder / "trials.csv", index=False)
    tables = read_tables(folder)
    assert found.prepare({"one": tables}, tables.metrics["hms"]) is None
