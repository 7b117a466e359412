from itertools import permutations

import numpy as np
import pytest
import scipy.stats

from metrics.comparators import COMPARATORS
from metrics.errors import MetricError
from metrics.permutation import mantel
from metrics.rdm import square, upper


@pytest.mark.parametrize("name", COMPARATORS)
def test_p_approaches_that_of_all_permutations(name: str) -> None:
    rng = np.random.default_rng(1)
    model = square(rng.uniform(0.2, 1.8, 15))
    reference = square(np.clip(upper(model) + rng.normal(0, 0.5, 15), 0, 2))
    similarity = COMPARATORS[name].similarity
    orders = [np.array(order) for order in permutations(range(6))]
    null = np.array([similarity(upper(model[np.ix_(order, order)]), upper(reference)) or 0.0 for order in orders])
    value = similarity(upper(model), upper(reference)) or 0.0
    exact = float((null >= value - 1e-12).mean())
    found = mantel(model, reference, permutations=3000, seed=2, name=name)
    assert found.value == pytest.approx(value, abs=1e-14)
    assert found.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 3000) + 1 / 3000)
    assert found.null_mean == pytest.approx(null.mean(), abs=0.05)
    assert found.null_sd == pytest.approx(null.std(), rel=0.1)


def test_p_is_never_zero_and_uniform_when_nothing_is_common() -> None:
    rng = np.random.default_rng(3)
    same = square(rng.uniform(0, 2, 190))
    assert mantel(same, same, permutations=99).p == 0.01
    values = [
        mantel(square(rng.uniform(0, 2, 66)), square(rng.uniform(0, 2, 66)), permutations=99, seed=seed).p or 0.0
        for seed in range(200)
    ]
    assert scipy.stats.kstest(values, "uniform").pvalue > 0.001


def test_pairs_are_not_independent() -> None:
    # One odd stimulus in each RDM: 19 of 190 pairs agree, which scipy's p takes for 19 observations.
    rng = np.random.default_rng(4)
    model, reference = (square(rng.uniform(0.4, 0.6, 190)) for _ in range(2))
    for rdm in (model, reference):
        rdm[0, 1:] = rdm[1:, 0] = 1.5 + rng.uniform(0, 0.1, 19)
    scipys = scipy.stats.spearmanr(upper(model), upper(reference)).pvalue
    found = mantel(model, reference, permutations=2000)
    assert found.null_sd is not None and found.null_sd > 1.2 / np.sqrt(189)
    assert found.p is not None and found.p > 100 * scipys


def test_seeds_repeat_and_undefined_models_have_no_p() -> None:
    rng = np.random.default_rng(5)
    model, reference = (square(rng.uniform(0, 2, 45)) for _ in range(2))
    assert mantel(model, reference, permutations=50, seed=1) == mantel(model, reference, permutations=50, seed=1)
    assert mantel(square(np.full(45, 0.3)), reference, permutations=50).p is None
    model[0, 1] = model[1, 0] = np.nan
    assert mantel(model, reference, permutations=50).value is None
    with pytest.raises(MetricError, match="cannot be tested"):
        mantel(reference, square(np.arange(6.0)))
