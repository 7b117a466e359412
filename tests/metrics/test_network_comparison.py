import numpy as np
import pytest
import scipy.stats

from metrics.errors import MetricError
from metrics.network_comparison import beat_baselines, compare_networks
from metrics.rdm import square, upper

N = 30


def noisy(reference: np.ndarray, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return square(np.clip(upper(reference) + rng.normal(0, spread, upper(reference).size), 0, 2))


@pytest.fixture
def reference() -> np.ndarray:
    return square(np.random.default_rng(0).uniform(0.3, 1.7, N * (N - 1) // 2))


def test_the_difference_is_paired(reference: np.ndarray) -> None:
    first, second = noisy(reference, 0.2, 1), noisy(reference, 0.6, 2)
    found = compare_networks(first, second, reference, resamples=300)
    expected = [scipy.stats.spearmanr(upper(rdm), upper(reference)).statistic for rdm in (first, second)]
    assert found.value == pytest.approx(expected[0] - expected[1], abs=1e-12)
    assert found.low is not None and found.low > 0
    swapped = compare_networks(second, first, reference, resamples=300)
    assert (swapped.low, swapped.high) == pytest.approx((-(found.high or 0), -found.low), abs=1e-12)
    # Nearly the same network: what is common cancels, so that a tiny advantage shows.
    near = compare_networks(first, first + 1e-3 * (noisy(reference, 0.2, 3) - first), reference, resamples=300)
    assert near.low is not None and near.high is not None and near.high - near.low < 0.01


def test_only_those_beat_the_best_baseline_whose_interval_is_above_it(reference: np.ndarray) -> None:
    baselines = {"weak": noisy(reference, 2.0, 4), "best": noisy(reference, 0.7, 5)}
    networks = {
        "good": noisy(reference, 0.2, 6),
        "same": noisy(reference, 0.7, 7),
        "between": noisy(reference, 1.5, 8),
        "collapsed": square(np.full(N * (N - 1) // 2, 0.5)),
        "broken": np.full((N, N), np.nan),
    }
    found = beat_baselines(networks, baselines, reference, resamples=300)
    assert found.baseline == "best"
    assert found.baseline_hms == pytest.approx(
        scipy.stats.spearmanr(upper(baselines["best"]), upper(reference)).statistic, abs=1e-12
    )
    assert found.beating == ("good",)
    assert list(found.differences) == list(networks)
    assert found.differences["collapsed"].value is found.differences["broken"].low is None
    with pytest.raises(MetricError, match="no baseline"):
        beat_baselines(networks, {"flat": networks["collapsed"]}, reference)
