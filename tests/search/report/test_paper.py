import pytest
from scipy import stats

from search.report import paper
from search.report.rank_correlation import t_p_value
from search.report.record import SearchRecord


def test_accuracy_on_distinct_pairs() -> None:
    converted = paper.clean_accuracy(0.367, 0.134)
    assert converted == pytest.approx(((0.367 - 0.236) / 0.764, 0.134 / 0.764))
    assert converted is not None
    assert round(converted[0], 2) == 0.17
    assert paper.clean_accuracy(0.13, 0.15) is None


@pytest.mark.parametrize(
    ("x", "y", "partial"), [("mse", "accuracy", -0.70), ("mse", "hms", -0.52), ("accuracy", "hms", 0.45)]
)
def test_partials_that_its_table_implies(x: str, y: str, partial: float) -> None:
    implied = paper.published_partial(x, y)
    assert implied == pytest.approx(partial, abs=0.006)
    assert implied == paper.published_partial(y, x)
    assert t_p_value(implied or 0.0, paper.NETWORKS - 3, paper.NETWORKS) < 0.001


def test_p_of_its_correlation_with_epochs() -> None:
    rho = paper.published_correlation("mse", "param.epochs")
    assert rho == -0.332
    t = rho * ((paper.NETWORKS - 2) / (1 - rho**2)) ** 0.5
    assert 2 * stats.t.sf(abs(t), paper.NETWORKS - 2) == pytest.approx(0.00101, abs=5e-6)


def test_pairs_that_it_does_not_report() -> None:
    assert paper.published_correlation("hms", "param.batch_size") is None
    assert paper.published_partial("hms", "param.learning_rate") is None


@pytest.mark.parametrize(
    ("data", "reduced", "same"),
    [
        ({"name": "kitti", "size": [128, 160]}, {}, True),
        ({"name": "kitti", "size": [64, 80]}, {}, False),
        ({"name": "demo", "size": [128, 160]}, {}, False),
        ({"name": "kitti", "size": [128, 160]}, {"channels": "3, 8"}, False),
        ({}, {}, False),
    ],
)
def test_values_compare_only_under_its_protocol(data: dict, reduced: dict, same: bool) -> None:
    assert paper.same_protocol(SearchRecord("x", data=data, reduced_sizes=reduced)) is same
