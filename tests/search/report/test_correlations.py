"""On `fixed/`, 24 networks with ties, of which two have an undefined metric."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests

from search.report.correlations import COLUMNS, correlations
from search.report.sample import Sample, networks, points
from search.report.summaries import table_1
from search.report.tables import read_tables

WriteTables = Callable[..., Path]
FIXED = Path(__file__).parent / "fixed"
RATE = "param.learning_rate"


@pytest.fixture(scope="module")
def fixed() -> Sample:
    return networks(read_tables(FIXED))


@pytest.fixture(scope="module")
def numbers(fixed: Sample) -> pd.DataFrame:
    """The sample's columns as numbers, text of two categories coded by hand."""
    frame = fixed.frame.assign(**{"param.loss": fixed.frame["param.loss"].map({"L0": 0, "Lall": 1})})
    return frame[["hms", "mse", "accuracy", "epochs_trained", *frame.filter(like="param.").columns]].astype(float)


@pytest.fixture(scope="module")
def table(fixed: Sample) -> pd.DataFrame:
    return correlations(fixed, random_sample=True)


def test_columns_are_the_promised_ones(table: pd.DataFrame) -> None:
    promised = "x y n rho ci_low ci_high p p_bonferroni family_size method controls epoch_rule excluded reason"
    assert list(table.columns) == promised.split() == COLUMNS


def test_every_plain_coefficient_equals_scipy(numbers: pd.DataFrame, table: pd.DataFrame) -> None:
    plain = table[table["controls"] == "none"]
    assert len(plain) == 3 + 3 * 8
    for row in plain.itertuples():
        result = stats.spearmanr(numbers[row.x], numbers[row.y])
        assert row.rho == pytest.approx(result.statistic, abs=1e-12)
        assert row.p == pytest.approx(result.pvalue, rel=1e-9)
        assert row.ci_low <= row.rho <= row.ci_high
        assert (row.n, row.excluded, row.epoch_rule) == (22, "0 1", "last")


def test_partials_equal_residual_correlations(numbers: pd.DataFrame, table: pd.DataFrame) -> None:
    partials = table[table["controls"] != "none"]
    assert {RATE} < set(partials["controls"])
    for row in partials.itertuples():
        controls = row.controls.split()
        ranks = numbers[[row.x, row.y, *controls]].rank()
        fit = sm.OLS(ranks[row.x], sm.add_constant(ranks[[row.y, *controls]])).fit()
        design = sm.add_constant(ranks[controls])
        left = [sm.OLS(ranks[name], design).fit().resid for name in (row.x, row.y)]
        assert row.rho == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-9)
        assert row.p == pytest.approx(fit.pvalues[row.y], rel=1e-6)


def test_bonferroni_is_over_the_family(table: pd.DataFrame) -> None:
    for controls in ("none", RATE):
        family = table[table["controls"] == controls]
        assert set(family["family_size"]) == {len(family)}
        expected = multipletests(family["p"], method="bonferroni")[1]
        np.testing.assert_allclose(family["p_bonferroni"], expected)


def test_the_same_seed_gives_the_same_intervals(fixed: Sample, table: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(table, correlations(fixed, random_sample=True))
    other = correlations(fixed, random_sample=True, seed=1)
    assert not np.array_equal(table["ci_low"], other["ci_low"])
    pd.testing.assert_series_equal(table["rho"], other["rho"])


def test_an_adaptive_sample_has_no_p(fixed: Sample) -> None:
    table = correlations(fixed, random_sample=False)
    assert table["p"].isna().all()
    assert table["p_bonferroni"].isna().all()
    assert table["rho"].notna().all()
    assert table["reason"].str.contains("descriptive only").all()


@pytest.mark.parametrize(
    ("record", "random"),
    [
        ({}, True),
        ({"algorithm": "tpe"}, False),
        ({"stopping": {"rule": "threshold"}}, False),
        ({"stopping": {"rule": "none"}}, True),
    ],
)
def test_which_searches_are_random_samples(write_tables: WriteTables, record: dict, random: bool) -> None:
    assert read_tables(write_tables(trials=2, record=record)).record.random_sample is random


def test_table_1_of_the_fixed_file(fixed: Sample) -> None:
    ordered = fixed.frame.sort_values("hms", ascending=False, kind="stable")  # ties stay in order of tid
    table = table_1(fixed).set_index(["group", "metric"])
    for group, rows in (("all", ordered), ("top", ordered.head(10)), ("bottom", ordered.tail(10))):
        for metric in ("mse", "accuracy", "hms"):
            assert table.loc[(group, metric), "mean"] == pytest.approx(np.mean(rows[metric]))
            assert table.loc[(group, metric), "sd"] == pytest.approx(stats.tstd(rows[metric]))


def test_two_categories_are_coded_and_said_to_be(table: pd.DataFrame) -> None:
    rows = table[table["y"] == "param.loss"]
    assert rows["rho"].notna().all() and rows["reason"].str.startswith("loss: L0 = 0, Lall = 1").all()


def test_more_categories_have_no_coefficient_but_are_controlled_for(fixed: Sample) -> None:
    kinds = np.array(list("abc" * 8))[: fixed.n]
    sample = replace(fixed, frame=fixed.frame.assign(**{"param.kind": kinds}).drop(columns="param.loss"))
    table = correlations(sample, random_sample=True, resamples=20)
    own = table[table["y"] == "param.kind"]
    assert len(own) == 3 and own["rho"].isna().all()
    assert own["reason"].str.startswith("categories without an order: a, b, c").all()
    plain = table[table["controls"] == "none"]
    assert set(plain["family_size"]) == {len(plain) - 3}
    row = table[(table["x"] == "hms") & (table["y"] == "mse") & (table["controls"].str.len() > 30)].iloc[0]
    names = [name for name in row["controls"].split() if "=" not in name]
    assert row["controls"].endswith("param.kind=b param.kind=c")
    design = sm.add_constant(sample.frame[names].astype(float).rank())
    design = pd.concat([design, pd.get_dummies(pd.Series(kinds), drop_first=True, dtype=float)], axis=1)
    left = [sm.OLS(sample.frame[name].rank(), design).fit().resid for name in ("hms", "mse")]
    assert row["rho"] == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-9)


def test_a_value_that_some_lack_is_no_factor_and_no_control(fixed: Sample) -> None:
    values = np.where(np.arange(fixed.n) < 3, np.nan, np.arange(fixed.n) % 5)
    table = correlations(replace(fixed, frame=fixed.frame.assign(**{"param.depth": values})), random_sample=True,
                         resamples=20)  # fmt: skip
    own = table[table["y"] == "param.depth"]
    assert len(own) == 3 and own["reason"].str.startswith("not given for 3 of 22").all()
    assert not table["controls"].str.contains("depth").any()


def test_constant_columns_are_undefined_and_leave_the_family(write_tables: WriteTables) -> None:
    sample = networks(read_tables(write_tables(trials=30, constant=("batch_size",))))
    table = correlations(sample, random_sample=True)
    constant = table[table["y"] == "param.batch_size"]
    assert constant["rho"].isna().all()
    assert constant["reason"].str.startswith("constant: param.batch_size").all()
    plain = table[table["controls"] == "none"]
    assert set(plain["family_size"]) == {plain["rho"].notna().sum()} == {len(plain) - 3}


def test_a_constant_learning_rate_is_no_control(write_tables: WriteTables) -> None:
    sample = networks(read_tables(write_tables(trials=30, constant=("learning_rate",))))
    assert RATE not in set(correlations(sample, random_sample=True)["controls"])


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_fewer_than_four_networks_are_not_correlated(write_tables: WriteTables, trials: int) -> None:
    table = correlations(networks(read_tables(write_tables(trials=trials))), random_sample=True)
    assert table["rho"].isna().all()
    assert table["reason"].str.contains("fewer than 4").all()
    assert set(table["family_size"]) == {0}


def test_few_networks_get_exact_p_and_no_partials_beyond_their_number(write_tables: WriteTables) -> None:
    table = correlations(networks(read_tables(write_tables(trials=6))), random_sample=True)
    plain = table[(table["controls"] == "none") & table["rho"].notna()]
    assert set(plain["method"]) == {"spearman, exact permutation"}
    assert plain["p"].min() >= 2 / math.factorial(6)
    everything = table[table["controls"].str.count(" ") >= 4]
    assert len(everything) > 0
    assert everything["rho"].isna().all()


def test_no_networks_give_an_empty_table_with_its_header(write_tables: WriteTables) -> None:
    table = correlations(networks(read_tables(write_tables(trials=0, artifacts=0))), random_sample=True)
    assert list(table.columns) == COLUMNS
    assert table.empty


def test_points_are_correlated_by_their_means(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=30, replicates=3))
    sample = points(networks(tables), 3)
    row = correlations(sample, random_sample=True).iloc[0]
    means = tables.trials.groupby("point")[["hms", "mse"]].mean()
    assert row["rho"] == pytest.approx(stats.spearmanr(means["hms"], means["mse"]).statistic)
    assert (row["n"], row["method"]) == (10, "spearman, t of point means")
