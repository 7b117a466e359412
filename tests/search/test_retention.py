import random

from hypothesis import given
from hypothesis import strategies as st

from search.retention import out_of_best

LOSSES = st.dictionaries(st.integers(0, 30), st.none() | st.sampled_from([-0.3, -0.2, -0.1, 0.0, 5.0]))


def test_the_lowest_losses_stay_ties_go_to_the_lower_tid_and_failed_trials_never_stay():
    losses = {0: -0.1, 1: None, 2: -0.3, 3: -0.1, 4: 0.2}
    assert out_of_best(losses, 1) == {0, 1, 3, 4}
    assert out_of_best(losses, 2) == {1, 3, 4}
    assert out_of_best(losses, 9) == {1}
    assert out_of_best({}, 3) == set()


@given(LOSSES, st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_trial_that_is_out_stays_out_whoever_finishes_next(losses: dict, keep: int, rng: random.Random):
    """Why workers need no lock to delete weights."""
    order = list(losses)
    rng.shuffle(order)
    out: set[int] = set()
    for count in range(len(order) + 1):
        now = out_of_best({tid: losses[tid] for tid in order[:count]}, keep)
        assert out <= now
        out = now
    assert len(losses) - len(out) <= keep
