from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.report.sample import networks, points, undefined_networks
from search.report.tables import read_tables

WriteTables = Callable[..., Path]


def test_only_finished_networks_count(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=20, unfinished=4, failed=2))
    assert networks(tables).n == 14
    assert set(networks(tables).frame["state"]) == {"DONE"}


def test_networks_with_an_undefined_metric_are_named(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=12, diverged=1, collapsed=2))
    sample = networks(tables)
    assert (sample.n, sample.excluded) == (9, (0, 1, 2))
    assert "hms diverged (1)" in sample.reason
    assert "hms undefined_collapsed (2)" in sample.reason
    named = undefined_networks(tables)
    assert list(named[named["tid"] == 1]["status"]) == ["undefined_constant", "undefined_collapsed"]
    assert list(named[named["tid"] == 0]["metric"]) == ["accuracy", "hms", "mse"]


def test_scored_networks_get_zero_and_chance(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=12, diverged=1, collapsed=2))
    sample = networks(tables, undefined_scored=True)
    assert (sample.n, sample.excluded) == (11, (0,))  # the diverged one has no MSE that it could be given
    scored = sample.frame.set_index("tid").loc[[1, 2]]
    assert list(scored["hms"]) == [0, 0]
    assert list(scored["accuracy"]) == [0.02, 0.02]


def test_a_metric_that_was_not_evaluated_is_not_scored(write_tables: WriteTables) -> None:
    folder = write_tables(trials=6)
    trials = pd.read_csv(folder / "trials.csv")
    trials.loc[2, ["accuracy", "accuracy_status"]] = [np.nan, ""]
    trials.to_csv(folder / "trials.csv", index=False)
    tables = read_tables(folder)
    assert networks(tables, undefined_scored=True).excluded == (2,)
    assert networks(tables, undefined_scored=True).reason == "accuracy not evaluated (1)"


def test_a_metric_that_nobody_measured_excludes_nobody(write_tables: WriteTables) -> None:
    sample = networks(read_tables(write_tables(trials=6, without=("accuracy",))))
    assert (sample.n, sample.measured) == (6, ("hms", "mse"))


def test_all_diverged_is_an_empty_sample_that_names_everyone(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=4, diverged=4, artifacts=0))
    assert networks(tables).n == 0
    assert networks(tables).excluded == (0, 1, 2, 3)
    assert undefined_networks(tables)["tid"].nunique() == 4


def test_points_are_means_over_replicates(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=12, replicates=3, collapsed=1))
    sample = networks(tables)
    averaged = points(sample, 3)
    assert (averaged.n, averaged.unit) == (4, "point")
    first = tables.trials.loc[[1, 2], "hms"].mean()  # trial 0 collapsed
    assert averaged.frame.loc[0, "hms"] == pytest.approx(first)
    assert points(sample, 1) is sample
