"""HMS by layer and step: what a trial left, as the page and the exported table show it."""

import math

import numpy as np
import pandas as pd

from search.report import analyse, read_tables, write_report
from search.report.hms_parts import part_rows, part_steps


def test_the_rows_of_the_best_network(write_tables) -> None:
    analysis = analyse(read_tables(write_tables(trials=6, artifacts=2)))
    whole = float(analysis.tables.trials.set_index("tid")["hms"][analysis.best.rdm_tid])
    rows = part_rows(analysis)
    assert part_steps(analysis) == [1, 2]
    assert list(rows) == ["R0", "R1", "all layers"]
    assert rows["R0"][0] == 0 and math.isnan(rows["R0"][1]) and rows["R0"][2] == 0.02
    np.testing.assert_allclose(rows["R1"], [0.03, 0.04, 0.05])
    np.testing.assert_allclose(rows["all layers"], [0.06, 0.07, whole])


def test_page_and_table_have_them(write_tables, tmp_path) -> None:
    folder = write_tables(trials=6, artifacts=2)
    page = write_report(folder, tmp_path / "report").read_text(encoding="utf-8")
    assert "By layer and time step" in page
    table = pd.read_csv(tmp_path / "report" / "tables" / "hms_by_layer_and_step.csv")
    assert len(table) == 8 and table["hms"].isna().sum() == 1


def test_a_trial_of_an_older_version_has_none(write_tables) -> None:
    folder = write_tables(trials=6, artifacts=2)
    for path in (folder / "trials").rglob("rdm.npz"):
        with np.load(path) as arrays:
            np.savez(path, rdm=arrays["rdm"])
    assert part_rows(analyse(read_tables(folder))) == {}
