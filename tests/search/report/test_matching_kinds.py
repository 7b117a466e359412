"""Object matching by kind, by hand."""

import pandas as pd
import pytest

from search.report import read_tables
from search.report.matching_kinds import matching_kinds


def test_the_best_and_the_mean(write_tables) -> None:
    folder = write_tables(trials=4, artifacts=0)
    trials = pd.read_csv(folder / "trials.csv")
    trials["hms"], trials["accuracy"] = [0.1, 0.3, 0.2, 0.4], [0.5, 0.2, 0.4, None]
    trials["accuracy_hue"], trials["accuracy_mixed"] = [0.9, 0.3, 0.6, None], [0.1, 0.1, 0.2, None]
    trials["state"] = "DONE"
    trials.to_csv(folder / "trials.csv", index=False)
    table = matching_kinds(read_tables(folder)).set_index("networks")
    assert list(table.columns) == ["n", "overall", "hue", "mixed"]
    assert list(table["n"]) == [3, 1, 1]
    assert table.loc["all networks", "hue"] == pytest.approx(0.6)
    assert table.loc["best by HMS with an accuracy, trial 1"].tolist() == [1, 0.2, 0.3, 0.1]
    assert table.loc["best by accuracy, trial 0", "mixed"] == 0.1


def test_nothing_where_no_kind_was_logged(write_tables) -> None:
    folder = write_tables(trials=4, artifacts=0)
    trials = pd.read_csv(folder / "trials.csv")
    kinds = [name for name in trials if name.startswith("accuracy_") and name != "accuracy_status"]
    trials.drop(columns=kinds).to_csv(folder / "trials.csv", index=False)
    assert matching_kinds(read_tables(folder)).empty
