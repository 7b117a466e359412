import time
from typing import Any

import numpy as np
import pytest
import scipy.stats

from metrics.baselines import pixel_rdm
from metrics.bootstrap import draw, interval, resampled_hms, resampled_similarity
from metrics.comparators import COMPARATORS
from metrics.errors import MetricError
from metrics.rdm import FloatArray, square, upper
from metrics.stimuli92 import Stimuli92

N = 12
PAIRS = N * (N - 1) // 2


def explicit(model: FloatArray, reference: FloatArray, counts: np.ndarray, name: str) -> float:
    """One resample written out: repeat the stimuli, then drop pairs of a stimulus with itself."""
    drawn = np.repeat(np.arange(len(counts)), counts)
    i, j = np.triu_indices(len(drawn), 1)
    apart = drawn[i] != drawn[j]
    i, j = drawn[i][apart], drawn[j][apart]
    return COMPARATORS[name].similarity(square(model)[i, j], square(reference)[i, j]) or 0.0


@pytest.mark.parametrize("name", COMPARATORS)
@pytest.mark.parametrize("decimals", [9, 1])
def test_weights_give_what_resamples_written_out_give(name: str, decimals: int, deviations: Any) -> None:
    rng = np.random.default_rng(3)
    model, reference = rng.uniform(0.1, 1.9, (2, PAIRS)).round(decimals)
    counts = draw(N, 70, seed=5)
    found = resampled_similarity(model, reference, counts, name)[:, 0, 0]
    expected = [explicit(model, reference, row, name) for row in counts]
    deviations(f"{name}, 70 resamples written out, {decimals} decimals", np.abs(found - expected).max(), 1e-12)


def test_pixels_keep_their_mean_only_without_pairs_of_a_stimulus_with_itself(stimuli92: Stimuli92) -> None:
    model, reference = pixel_rdm(stimuli92), stimuli92.human_rdm
    counts = draw(92, 1000, seed=0)
    started = time.perf_counter()
    samples = resampled_similarity(upper(model), upper(reference), counts)[:, 0, 0]
    seconds = time.perf_counter() - started
    print(f"1,000 resamples of 92 stimuli: {seconds:.2f} s")
    assert samples.mean() == pytest.approx(0.106, abs=0.005)
    assert seconds < 5
    naive = []
    for row in counts:
        drawn = np.repeat(np.arange(92), row)
        i, j = np.triu_indices(92, 1)
        i, j = drawn[i], drawn[j]
        ranked = [scipy.stats.rankdata(rdm[i, j]) for rdm in (model, reference)]
        naive.append(np.corrcoef(ranked)[0, 1])
    assert np.mean(naive) == pytest.approx(0.135, abs=0.005)
    assert np.mean(naive) - samples.mean() == pytest.approx(0.029, abs=0.002)


def test_people_are_resampled_not_sessions() -> None:
    rng = np.random.default_rng(4)
    model, people = rng.uniform(0, 2, PAIRS), rng.uniform(0, 2, (4, PAIRS))
    subjects = draw(4, 300, seed=1)
    samples = resampled_hms(model, people, subjects=subjects)[:, 0]
    rows = [scipy.stats.spearmanr(model, np.repeat(people, row, axis=0).mean(axis=0)).statistic for row in subjects]
    assert samples == pytest.approx(np.array(rows), abs=1e-12)
    assert len(np.unique(subjects, axis=0)) <= 35
    stimuli = draw(N, 300, seed=2)
    both = resampled_hms(model, people, stimuli=stimuli, subjects=subjects)[:, 0]
    for index in (0, 7, 299):
        reference = np.repeat(people, subjects[index], axis=0).mean(axis=0)
        assert both[index] == pytest.approx(explicit(model, reference, stimuli[index], "spearman"), abs=1e-12)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    # Stimuli drawn from a large world whose HMS is known: 95 % of intervals over stimuli should hold it.
    rng = np.random.default_rng(9)
    world = rng.normal(size=(1500, 6))
    noise = rng.normal(size=(1500, 6))

    def distances(points: np.ndarray) -> FloatArray:
        i, j = np.triu_indices(len(points), 1)
        return np.linalg.norm(points[i] - points[j], axis=1)

    seen = world + noise
    truth = scipy.stats.spearmanr(distances(world), distances(seen)).statistic
    inside = 0
    for seed in range(60):
        chosen = rng.choice(1500, 40, replace=False)
        samples = resampled_similarity(distances(world[chosen]), distances(seen[chosen]), draw(40, 200, seed))
        low, high = np.percentile(samples, (2.5, 97.5))
        inside += low <= truth <= high
    assert 50 <= inside <= 60


def test_seeds_repeat_and_undefined_resamples_are_counted() -> None:
    np.testing.assert_array_equal(draw(N, 5, 7), draw(N, 5, 7))
    assert (draw(N, 5, 7).sum(axis=1) == N).all() and (draw(N, 5, 7) != draw(N, 5, 8)).any()
    model = np.full(PAIRS, 0.5)
    model[0] = 1.0
    samples = resampled_similarity(model, np.arange(PAIRS) / 50, draw(N, 200, 0))[:, 0, 0]
    found = interval(0.1, samples)
    assert 0 < found.undefined < 200 and found.resamples == 200
    assert found.low is not None and found.high is not None and found.low <= found.high
    nothing = interval(0.1, np.full(3, np.nan))
    assert (nothing.low, nothing.high, nothing.undefined) == (None, None, 3)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MetricError, match="66 and 66 pairs do not fit 11 stimuli, which have 55"):
        resampled_similarity(np.zeros(66), np.zeros(66), draw(11, 2, 0))
    with pytest.raises(MetricError, match="Nothing to resample"):
        resampled_hms(np.zeros(66), np.zeros((2, 66)))
    with pytest.raises(MetricError, match="0 resamples of 3"):
        draw(3, 0, 0)
