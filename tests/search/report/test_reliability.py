import math

import numpy as np
import pytest

from search.report.reliability import intraclass

# Shrout & Fleiss (1979), table 2: six targets, four judges; their ICC(1,1) is .17.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def grouped(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return table.ravel(), np.repeat(np.arange(len(table)), table.shape[1])


def test_equals_shrout_and_fleiss() -> None:
    result = intraclass(*grouped(SHROUT_FLEISS))
    # Mean squares between 11.24 and within 6.26 of their table: (11.24 - 6.26) / (11.24 + 3 * 6.26).
    assert result.icc == pytest.approx(0.1657, abs=1e-4)
    assert (result.ci_low, result.ci_high) == pytest.approx((-0.1329, 0.7226), abs=1e-4)
    assert (result.points, result.networks, result.replicates) == (6, 24, 4)


def test_seeds_that_do_not_matter_give_one() -> None:
    result = intraclass(*grouped(np.array([[1.0, 1], [2, 2], [3, 3]])))
    assert (result.icc, result.ci_low, result.ci_high) == (1.0, 1.0, 1.0)


def test_seeds_that_are_all_there_is_give_minus_one_for_pairs() -> None:
    assert intraclass(*grouped(np.array([[1.0, 3], [3, 1], [2, 2]]))).icc == pytest.approx(-1.0)


def test_unequal_replicates_by_hand() -> None:
    values, points = np.array([1.0, 2, 3, 5, 7]), np.array([0, 0, 1, 1, 1])
    # Means 1.5 and 5, grand mean 3.6: between 2 * 2.1**2 + 3 * 1.4**2 = 14.7, within (0.5 + 8) / 3, k0 = 5 - 13 / 5.
    within, k = 8.5 / 3, 2.4
    assert intraclass(values, points).icc == pytest.approx((14.7 - within) / (14.7 + (k - 1) * within))


def test_undefined_values_and_single_replicates_are_dropped() -> None:
    values, points = grouped(SHROUT_FLEISS)
    more = intraclass(np.r_[values, math.nan, 5.0], np.r_[points, 0, 99])
    assert more == intraclass(values, points)


@pytest.mark.parametrize(
    ("values", "points", "reason"),
    [
        ([], [], "fewer than two points"),
        ([1.0, 2], [0, 0], "fewer than two points"),
        ([1.0] * 4, [0, 0, 1, 1], "equal"),
    ],
)
def test_says_why_it_is_undefined(values: list[float], points: list[int], reason: str) -> None:
    result = intraclass(np.array(values, dtype=float), np.array(points, dtype=int))
    assert math.isnan(result.icc)
    assert reason in result.reason
