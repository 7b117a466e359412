"""Waiting out an outage: the store is away for minutes, and its user goes on when it is back."""

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from search.errors import StoreUnreachable

T = TypeVar("T")


def waiting(
    store_call: Callable[[], T],
    *,
    give_up: float | None = None,
    on_wait: Callable[[StoreUnreachable, float], None] | None = None,
    stop: threading.Event | None = None,
    first: float = 0.5,
    longest: float = 15.0,
) -> T:
    """Call until the store answers; every other error passes through at once.

    Waits `first` seconds, then longer, up to `longest`, with jitter, so that many workers do not return at one moment.
    `on_wait(error, seconds)` is called before each wait with the seconds lost so far. After `give_up` seconds (None:
    never), or once `stop` is set, the last `StoreUnreachable` is raised.
    """
    began = time.monotonic()
    pause = first
    stop = stop or threading.Event()
    while True:
        try:
            return store_call()
        except StoreUnreachable as error:
            lost = time.monotonic() - began
            if stop.is_set() or (give_up is not None and lost >= give_up):
                raise
            if on_wait is not None:
                on_wait(error, lost)
        remaining = pause if give_up is None else min(pause, max(0.0, give_up - lost))
        stop.wait(remaining * random.uniform(0.75, 1.0))
        pause = min(pause * 2, longest)
