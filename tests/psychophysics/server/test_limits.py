import time

import pytest

from psychophysics.server.limits import MOST_SENDERS, RateLimit, TooMany


def test_a_burst_then_a_steady_rate_for_each_sender():
    limit = RateLimit(burst=3, per_second=20)
    for _ in range(3):
        limit.take("a")
    with pytest.raises(TooMany, match="try again in 1 s") as refused:
        limit.take("a")
    assert refused.value.retry_after == 1
    limit.take("b")
    time.sleep(0.06)
    limit.take("a")


def test_senders_who_may_ask_as_much_as_new_ones_are_forgotten():
    limit = RateLimit(burst=1, per_second=1e5)
    for number in range(MOST_SENDERS + 10):
        limit.take(str(number))
    assert len(limit._left) < MOST_SENDERS


def test_who_asks_too_often_is_told_how_long_to_wait_and_no_sender_is_kept():
    limit = RateLimit(burst=1, per_second=0.1)
    limit.take("192.0.2.7")
    with pytest.raises(TooMany) as refused:
        limit.take("192.0.2.7")
    assert refused.value.retry_after == 10
    assert "192.0.2.7" not in repr(limit)
