from datetime import UTC, datetime, timedelta

import pytest

from search.pace import ended_per_hour, seconds_left, span
from search.store import State

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def job(state, *attempts, began=None):
    """Attempts and `began` in minutes before noon."""
    history = [{"began": NOON - timedelta(minutes=a), "ended": NOON - timedelta(minutes=b)} for a, b in attempts]
    return {"state": state, "history": history, "book_time": None if began is None else NOON - timedelta(minutes=began)}


def test_the_rate_counts_the_last_hour():
    old = [job(State.DONE, (300, 200)), job(State.ERROR, (120, 61))]
    assert ended_per_hour([*old, job(State.DONE, (61, 30)), job(State.ERROR, (20, 1))], NOON) == 2
    assert ended_per_hour(old, NOON) == 0
    assert ended_per_hour([job(State.RUNNING, began=5), job(State.NEW)], NOON) is None


def test_a_young_search_is_scaled_up():
    assert ended_per_hour([job(State.DONE, (30, 20)), job(State.DONE, (20, 10))], NOON) == pytest.approx(4)


def test_time_left_shares_the_rest_among_the_workers():
    done = [job(State.DONE, (60, 50)), job(State.DONE, (60, 50), (40, 20))]  # 10 and 30 minutes: 20 on average
    running, late = job(State.RUNNING, (30, 25), began=5), job(State.RUNNING, began=90)
    jobs = [*done, job(State.ERROR), running, late, job(State.NEW)]
    # Five more to come of ten, ten minutes of the one that runs; the late one is expected to end at once.
    assert seconds_left(jobs, 10, 2, NOON) == pytest.approx((5 * 20 + 10) * 60 / 2)
    assert seconds_left(jobs, 10, 0, NOON) is None
    assert seconds_left([job(State.NEW)], 10, 2, NOON) is None
    assert seconds_left(done, 2, 2, NOON) == 0


def test_spans():
    assert [span(s) for s in (-3, 0.4, 119, 120, 3599, 3660, 86_399, 187_200)] == [
        *("0 s", "0 s", "119 s", "2 min", "59 min", "1 h 1 min", "23 h 59 min", "2 d 4 h")
    ]
