from collections import Counter

import numpy as np
import pytest
from hyperopt.pyll import as_apply
from hyperopt.pyll.stochastic import sample
from scipy.stats import chisquare

from search.space import Choice, LogUniform, Stepped, Uniform, concrete, expression

SPACE = {
    "epochs": Stepped(low=10, high=390, step=10),
    "batch_size": Choice(values=(2, 4, 6, 8)),
    "learning_rate": LogUniform(low=1e-5, high=1e-1),
    "x": Uniform(low=-1.0, high=1.0),
}


def test_stepped_range_draws_its_end_points_as_often_as_the_rest():
    rng = np.random.default_rng(0)
    node = as_apply(expression({"epochs": SPACE["epochs"]}))
    counts = Counter(int(sample(node, rng)["epochs"]) for _ in range(7800))
    assert sorted(counts) == list(range(10, 391, 10))
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_concrete_gives_plain_types_and_the_chosen_values():
    vals = {"epochs": [np.float64(7)], "batch_size": [np.int64(2)], "learning_rate": [np.float64(1e-3)], "x": [0.5]}
    params = concrete(SPACE, vals)
    assert params == {"epochs": 80, "batch_size": 6, "learning_rate": 1e-3, "x": 0.5}
    assert [type(params[key]) for key in SPACE] == [int, int, float, float]


@pytest.mark.parametrize(("low", "high", "step"), [(10, 395, 10), (5, 5, 1), (9, 3, 1)])
def test_stepped_refuses_what_is_no_whole_number_of_steps(low, high, step):
    with pytest.raises(ValueError, match="no whole number of steps"):
        Stepped(low=low, high=high, step=step)
