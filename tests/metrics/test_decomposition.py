from typing import Any

import numpy as np
import pytest
import scipy.stats

from metrics.baselines import animacy_rdm
from metrics.decomposition import GramGrid, hms_by_category
from metrics.errors import MetricError
from metrics.hms import hms_from_gram
from metrics.rdm import StreamedGram, correlation_rdm, square, upper
from metrics.stimuli92 import Stimuli92

N = 14
STEPS, LAYERS = (1, 2, 3), ("R0", "R1")


@pytest.fixture
def features() -> dict[tuple[int, str], np.ndarray]:
    """Layers of different sizes, offsets and scales, as float32."""
    rng = np.random.default_rng(0)
    return {
        (t, layer): (100 * t + (index + 1) * rng.normal(size=(N, 30 + 17 * index))).astype(np.float32)
        for t in STEPS
        for index, layer in enumerate(LAYERS)
    }


def test_one_pass_gives_every_part(features: dict[tuple[int, str], np.ndarray]) -> None:
    grid = GramGrid(N)
    for (t, layer), values in features.items():
        grid.update(layer, values[:, :11], t)
        grid.update(layer, values[:, 11:], t)
    assert grid.layers == list(LAYERS) and grid.steps == list(STEPS)
    for layer in (None, *LAYERS):
        for step in (None, *STEPS):
            chosen = [v for (t, name), v in features.items() if layer in (None, name) and step in (None, t)]
            # numpy's corrcoef on all features at once, in float64.
            expected = 1 - np.corrcoef(np.concatenate(chosen, axis=1).astype(np.float64))
            found = grid.gram(layer=layer, step=step)
            assert upper(found.rdm()) == pytest.approx(upper(expected), abs=1e-12)
            assert found.n_features == sum(v.shape[1] for v in chosen)
    with pytest.raises(MetricError, match="no features of layer 'R9'"):
        grid.gram(layer="R9")


def test_merging_keeps_statuses_and_leaves_the_other_as_it_is() -> None:
    rng = np.random.default_rng(1)
    reference = square(rng.uniform(0, 2, N * (N - 1) // 2))
    good, broken = rng.normal(size=(N, 20)).astype(np.float32), np.full((N, 5), np.nan, np.float32)
    flat = np.ones((N, 9), np.float32)
    grid = GramGrid(N)
    grid.update("good", good)
    grid.update("flat", flat)
    before = grid.gram(layer="good").rdm()
    assert hms_from_gram(grid.gram(), reference).status == "ok"
    assert hms_from_gram(grid.gram(layer="flat"), reference).status == "undefined_constant"
    grid.update("broken", broken)
    assert hms_from_gram(grid.gram(), reference).status == "diverged"
    np.testing.assert_array_equal(grid.gram(layer="good").rdm(), before)
    assert grid.steps == []
    with pytest.raises(MetricError, match="3 stimuli cannot be merged with features of 14"):
        StreamedGram(N).merge(StreamedGram(3))


def test_large_means_do_not_cost_digits_when_merged() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(N, 400))
    grid = GramGrid(N)
    grid.update("a", values[:, :200] + 1e6)
    grid.update("b", values[:, 200:] + 1e6)
    assert upper(grid.gram().rdm()) == pytest.approx(upper(correlation_rdm(values + 1e6)), abs=1e-11)
    assert upper(grid.gram().rdm()) == pytest.approx(upper(1 - np.corrcoef(values)), abs=1e-8)


def test_within_and_between_are_rank_correlations_of_their_pairs(stimuli92: Stimuli92, deviations: Any) -> None:
    model, human = stimuli92.monkey_rdm, stimuli92.human_rdm
    rows = hms_by_category(model, human, stimuli92.categories)
    assert len(rows) == 2 + 6 + 15
    assert sum(row.result.n_pairs for row in rows[2:]) == sum(row.result.n_pairs for row in rows[:2]) == 4186
    kinds, worst = np.array(stimuli92.categories), 0.0
    i, j = np.triu_indices(92, 1)
    for row in rows:
        if row.first == "all":
            chosen = (kinds[i] == kinds[j]) == (row.second == "within")
        else:
            chosen = [{kinds[a], kinds[b]} == {row.first, row.second} for a, b in zip(i, j, strict=True)]
        expected = scipy.stats.spearmanr(model[i, j][chosen], human[i, j][chosen]).statistic
        worst = max(worst, abs((row.result.value or 0) - expected))
    deviations("HMS within and between categories, scipy", worst, 1e-12)


def test_a_model_of_categories_says_nothing_within_them(stimuli92: Stimuli92) -> None:
    rows = {
        (row.first, row.second): row.result
        for row in hms_by_category(animacy_rdm(stimuli92), stimuli92.human_rdm, stimuli92.categories)
    }
    assert rows["human_face", "human_face"].status == "undefined_collapsed"
    assert (rows["all", "between"].value or 0) > 0.5


def test_parts_of_less_than_three_pairs_are_left_out_and_misfits_refused() -> None:
    rdm = square(np.arange(1.0, 11) / 10)
    names = [(row.first, row.second) for row in hms_by_category(rdm, rdm, ["a", "a", "b", "b", "b"])]
    assert names == [("all", "within"), ("all", "between"), ("a", "b"), ("b", "b")]
    with pytest.raises(MetricError, match="4 categories"):
        hms_by_category(rdm, rdm, ["a"] * 4)
