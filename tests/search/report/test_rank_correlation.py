import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from search.report import rank_correlation as rank


@pytest.fixture
def columns() -> np.ndarray:
    """(40, 5) with ties in two columns and dependence between the first three."""
    rng = np.random.default_rng(5)
    base = rng.normal(size=40)
    tied = np.round(base + rng.normal(size=40))
    return np.column_stack(
        [base, base + rng.normal(size=40), tied, rng.integers(0, 4, 40).astype(float), rng.normal(size=40)]
    )


def test_matrix_equals_scipy(columns: np.ndarray) -> None:
    np.testing.assert_allclose(rank.correlation_matrix(columns), stats.spearmanr(columns).statistic, atol=1e-13)


def test_a_constant_column_is_undefined_and_spoils_no_other() -> None:
    matrix = rank.correlation_matrix(np.array([[1.0, 2, 7], [2, 1, 7], [3, 3, 7], [4, 4, 7]]))
    assert matrix[0, 1] == pytest.approx(0.8)
    assert np.isnan(matrix[0, 2])
    assert np.isnan(matrix[2, 2])


def test_resamples_equal_spearman_of_the_repeated_rows(columns: np.ndarray) -> None:
    matrices = rank.bootstrap_matrices(columns, resamples=7, seed=3)
    draws = np.random.default_rng(3).multinomial(40, np.full(40, 1 / 40), size=7)
    for matrix, counts in zip(matrices, draws, strict=True):
        repeated = np.repeat(columns, counts, axis=0)
        np.testing.assert_allclose(matrix, stats.spearmanr(repeated).statistic, atol=1e-12)


def test_resampling_in_chunks_changes_nothing(columns: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rank.bootstrap_matrices(columns, resamples=20, seed=1)
    monkeypatch.setattr(rank, "_CHUNK_VALUES", 3 * columns.size)
    np.testing.assert_array_equal(whole, rank.bootstrap_matrices(columns, resamples=20, seed=1))


@pytest.mark.parametrize("controls", [[2], [2, 3], [2, 3, 4]])
def test_partial_equals_correlated_residuals_of_ranks(columns: np.ndarray, controls: list[int]) -> None:
    ranks = stats.rankdata(columns, axis=0)
    design = sm.add_constant(ranks[:, controls])
    left = [sm.OLS(ranks[:, column], design).fit().resid for column in (0, 1)]
    expected = stats.pearsonr(*left).statistic
    found = rank.partial(rank.correlation_matrix(columns), 0, 1, controls)
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_partial_p_value_equals_the_regression_coefficient(columns: np.ndarray) -> None:
    ranks = stats.rankdata(columns, axis=0)
    fit = sm.OLS(ranks[:, 0], sm.add_constant(ranks[:, [1, 2, 3]])).fit()
    rho = float(rank.partial(rank.correlation_matrix(columns), 0, 1, [2, 3]))
    assert rank.t_p_value(rho, degrees=40 - 2 - 2, n=40) == pytest.approx(fit.pvalues[1], rel=1e-9)


def test_partial_by_hand() -> None:
    matrix = np.array([[1, 0.5, 0.6], [0.5, 1, 0.4], [0.6, 0.4, 1]])
    assert float(rank.partial(matrix, 0, 1, [2])) == pytest.approx((0.5 - 0.24) / math.sqrt(0.64 * 0.84))


def test_partial_is_undefined_when_a_control_is_the_variable() -> None:
    x = np.arange(10.0)
    columns = np.column_stack([x**3, x % 3, x])
    assert np.isnan(rank.partial(rank.correlation_matrix(columns), 0, 1, [2]))


def test_doubled_controls_take_one_degree_of_freedom(columns: np.ndarray) -> None:
    doubled = np.column_stack([columns, columns[:, 3] * 2])
    matrix = rank.correlation_matrix(doubled)
    assert rank.controls_rank(matrix, [3, 5]) == 1
    alone, both = rank.partial(matrix, 0, 1, [3]), rank.partial(matrix, 0, 1, [3, 5])
    assert float(alone) == pytest.approx(float(both), abs=1e-10)


@pytest.mark.parametrize("pair", [(0, 1), (0, 3), (2, 3)])
def test_t_p_value_equals_scipy(columns: np.ndarray, pair: tuple[int, int]) -> None:
    result = stats.spearmanr(columns[:, pair[0]], columns[:, pair[1]])
    assert rank.t_p_value(result.statistic, degrees=38, n=40) == pytest.approx(result.pvalue, rel=1e-9)


def test_a_perfect_order_has_the_p_that_its_permutations_allow() -> None:
    assert rank.t_p_value(1.0, degrees=3, n=5) == pytest.approx(2 / 120)
    assert rank.exact_p_value(np.arange(4.0), np.arange(4.0)) == pytest.approx(2 / 24)
    assert rank.exact_p_value(np.arange(4.0), -np.arange(4.0)) == pytest.approx(2 / 24)


def test_exact_p_value_equals_scipys_permutation_test() -> None:
    x, y = np.array([1.0, 2, 2, 4, 5, 7]), np.array([2.0, 1, 5, 4, 4, 9])
    reference = stats.permutation_test(
        (x,), lambda order: stats.spearmanr(order, y).statistic, permutation_type="pairings", n_resamples=np.inf
    )
    assert rank.exact_p_value(x, y) == pytest.approx(reference.pvalue)


def test_interval_covers_a_known_correlation() -> None:
    """95 % intervals of 100 samples of a bivariate normal contain its Spearman correlation in 86 to 100 cases."""
    rho = 6 / math.pi * math.asin(0.6 / 2)
    rng = np.random.default_rng(11)
    hits = 0
    for seed in range(100):
        sample = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60)
        low, high = rank.interval(rank.bootstrap_matrices(sample, resamples=200, seed=seed)[:, 0, 1])
        hits += low <= rho <= high
    assert 86 <= hits <= 100


def test_interval_is_withheld_when_many_resamples_are_undefined() -> None:
    values = np.r_[np.linspace(0, 1, 80), np.full(20, np.nan)]
    assert np.isnan(rank.interval(values)).all()
    assert rank.interval(np.linspace(0, 1, 101)) == pytest.approx((0.025, 0.975))


@pytest.mark.parametrize(
    ("rho", "label"),
    [(0.5, "large"), (-0.7, "large"), (0.3, "medium"), (-0.1, "small"), (0.099, "negligible"), (math.nan, "undefined")],
)
def test_cohens_labels_at_their_bounds(rho: float, label: str) -> None:
    assert rank.cohen(rho) == label
