from typing import Any

import numpy as np
import pytest
import scipy.stats

from metrics.baselines import pixel_rdm, silhouette_rdm
from metrics.partial import partial_spearman
from metrics.rdm import upper
from metrics.stimuli92 import Stimuli92


def recursion(x: np.ndarray, y: np.ndarray, *controls: np.ndarray) -> float:
    """The textbook's formula, one control at a time."""
    if not controls:
        return float(scipy.stats.spearmanr(x, y).statistic)
    *rest, z = controls
    xy, xz, yz = recursion(x, y, *rest), recursion(x, z, *rest), recursion(y, z, *rest)
    return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def test_one_and_two_controls_follow_the_recursion(deviations: Any) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 300)).round(1)
    x, y = z[0] + rng.normal(size=300), z[0] - z[1] + rng.normal(size=300)
    deviations(
        "partial Spearman, one control", abs((partial_spearman(x, y, z[:1]) or 0) - recursion(x, y, z[0])), 1e-12
    )
    deviations("partial Spearman, two controls", abs((partial_spearman(x, y, z) or 0) - recursion(x, y, *z)), 1e-12)


def test_the_human_rdm_with_monkey_it(stimuli92: Stimuli92, deviations: Any) -> None:
    model, human = upper(stimuli92.monkey_rdm), upper(stimuli92.human_rdm)
    controls = [upper(pixel_rdm(stimuli92)), upper(silhouette_rdm(stimuli92))]
    # From the inverse of the correlation matrix of all four.
    inverse = np.linalg.inv(scipy.stats.spearmanr(np.stack([model, human, *controls]), axis=1).statistic)
    expected = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    found = partial_spearman(model, human, controls)
    assert found is not None
    deviations("partial Spearman of monkey IT", abs(found - expected), 1e-12)


def test_a_model_that_is_a_control_has_nothing_left() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 50))
    assert partial_spearman(x, y, [x]) is None
    assert partial_spearman(x, y, [np.exp(x)]) is None  # the same ranks
    assert partial_spearman(np.ones(50), y, [x]) is None
    assert partial_spearman(x, y, [np.ones(50)]) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
