import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from search.report.importance import COLUMNS, METHOD, METHOD_TEXT, importance
from search.report.rank_correlation import correlation_matrix
from search.report.sample import Sample


def sample_of(**columns: object) -> Sample:
    frame = pd.DataFrame(columns)
    frame = frame.rename(columns={name: f"param.{name}" for name in frame.columns if name not in ("hms", "mse")})
    frame["epochs_trained"] = 10.0
    measured = tuple(name for name in ("hms", "mse") if name in frame.columns)
    return Sample(frame, "network", measured, (), "", False)


def shares(sample: Sample, metric: str = "hms") -> dict[str, float]:
    table = importance(sample, resamples=20)
    rows = table[table["metric"] == metric]
    return dict(zip(rows["hyperparameter"].str.removeprefix("param."), rows["share"], strict=True))


def adjusted(y: object, *terms: object) -> float:
    return float(sm.OLS(y, sm.add_constant(np.column_stack(terms))).fit().rsquared_adj)


def grid() -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(np.arange(10.0), np.arange(10.0))
    return a.ravel(), b.ravel()


def test_a_digit_of_a_two_digit_number_has_its_share() -> None:
    """Over all numbers 10 a + b the ranks are the numbers: var(10 a) / var(10 a + b) = 100 / 101, and 1 / 101 for b."""
    a, b = grid()
    found = shares(sample_of(hms=10 * a + b, tens=a, ones=b))
    for name, exact in (("tens", 100 / 101), ("ones", 1 / 101)):
        assert found[name] == pytest.approx(1 - (1 - exact) * 99 / 97, abs=1e-12)


def test_an_optimum_within_the_range_counts_though_spearman_misses_it() -> None:
    a, b = grid()
    sample = sample_of(hms=-np.abs(a - 4.5), rate=a, other=b)
    assert correlation_matrix(np.column_stack([a, sample.frame["hms"]]))[0, 1] == pytest.approx(0, abs=1e-12)
    found = shares(sample)
    assert found["rate"] > 0.9 and found["other"] < 0.01


def test_every_share_equals_the_regression_of_ranks() -> None:
    rng = np.random.default_rng(4)
    n = 37
    rate, size = 10.0 ** -rng.integers(1, 6, n), rng.integers(1, 9, n)
    loss, kind = rng.choice(["L0", "Lall"], n), rng.choice(["a", "b", "c"], n)
    hms = np.round(-np.abs(np.log10(rate) + 3) + 0.2 * size + rng.normal(size=n), 1)
    sample = sample_of(hms=hms, mse=rng.normal(size=n), rate=rate, size=size, loss=loss, kind=kind)
    ranks = {name: stats.rankdata(values) for name, values in (("rate", rate), ("size", size), ("hms", hms))}
    found = shares(sample)
    for name in ("rate", "size"):
        assert found[name] == pytest.approx(adjusted(ranks["hms"], ranks[name], ranks[name] ** 2), abs=1e-9)
    assert found["loss"] == pytest.approx(adjusted(ranks["hms"], (loss == "L0") * 1.0), abs=1e-9)
    assert found["kind"] == pytest.approx(adjusted(ranks["hms"], (kind == "a") * 1.0, (kind == "b") * 1.0), abs=1e-9)
    table = importance(sample, resamples=20)
    assert list(table.columns) == COLUMNS and len(table) == 2 * 4
    assert set(table["n"]) == {n} and set(table["epoch_rule"]) == {"last"}
    text = table["hyperparameter"].isin(["param.loss", "param.kind"])
    assert set(table.loc[text, "method"]) == {METHOD_TEXT} and set(table.loc[~text, "method"]) == {METHOD}
    assert list(table["terms"].head(4)) == [2, 2, 1, 2]


def test_resamples_are_regressions_of_the_repeated_rows() -> None:
    rng = np.random.default_rng(8)
    n, resamples = 25, 40
    rate, hms = rng.integers(0, 5, n).astype(float), rng.normal(size=n)
    draws = np.random.default_rng(3).multinomial(n, np.full(n, 1 / n), size=resamples)
    expected = []
    for counts in draws:
        x, y = stats.rankdata(np.repeat(rate, counts)), stats.rankdata(np.repeat(hms, counts))
        expected.append(adjusted(y, x, x**2))
    row = importance(sample_of(hms=hms, rate=rate), resamples=resamples, seed=3).iloc[0]
    low, high = np.quantile(expected, [0.025, 0.975])
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_what_does_not_matter_has_no_share_on_average() -> None:
    rng = np.random.default_rng(11)
    found = [shares(sample_of(hms=rng.normal(size=30), rate=rng.integers(0, 5, 30)))["rate"] for _ in range(200)]
    assert abs(np.mean(found)) < 3 * np.std(found) / len(found) ** 0.5


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"hms": [1.0, 2, 3, 4, 5, 6], "rate": [1.0] * 6}, "constant: param.rate"),
        ({"hms": [1.0] * 6, "rate": [1.0, 2, 3, 4, 5, 6]}, "constant: hms"),
        ({"hms": [1.0, 2, 3, 4], "rate": [1.0, 2, 3, 4]}, "fewer values than the regression needs"),
        ({"hms": [1.0, 2, 3, 4, 5], "rate": [1.0, 2, 3, None, 5]}, "not given for 1 of 5"),
        ({"hms": [1.0, 2, 3, 4, 5], "loss": ["L0"] * 5}, "constant: param.loss"),
    ],
)
def test_what_is_undefined_says_why(columns: dict, reason: str) -> None:
    row = importance(sample_of(**columns), resamples=10).iloc[0]
    assert np.isnan(row[["share", "ci_low", "ci_high"]].astype(float)).all() and row["reason"] == reason


def test_without_networks_there_is_a_header() -> None:
    assert list(importance(sample_of(hms=[], rate=[])).columns) == COLUMNS
