"""Waiting out an outage: the store is away for minutes, and its user goes on when it is back. Other errors stay."""

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from search.errors import StoreError, StoreFull, StoreUnreachable

T = TypeVar("T")

OUTAGES = (StoreUnreachable, StoreFull)
"""What goes by without a change of what is asked."""
TRIES = 6
MANY_TRIES = 30
"""Some two minutes: for who would end a whole search."""


class Patience:
    """How long to go on with a store that fails: without end in an outage, a few tries with any other error.

    The server refuses some things however often they are asked; repeated without end, they would look like an outage.
    """

    def __init__(self, *, tries: int = TRIES, first: float = 0.5, longest: float = 5.0) -> None:
        self.tries, self.first, self.longest = tries, first, longest
        self.worked()

    def worked(self) -> None:
        """The store answered: what fails next begins anew."""
        self._pause, self._failures, self._told = self.first, 0, ""

    def is_news(self, error: StoreError) -> bool:
        """Whether this error differs from the one before: it is said once, however long it stays."""
        before, self._told = self._told, str(error)
        return before != self._told

    def pause(self, error: StoreError) -> float:
        """Seconds to wait before the next try, longer each time, with jitter.

        Raises:
            StoreError: `error`, which is no outage and came the last of `tries` times in a row.
        """
        if not isinstance(error, OUTAGES):
            self._failures += 1
            if self._failures >= self.tries:
                raise error
        pause, self._pause = self._pause, min(self._pause * 2, self.longest)
        return pause * random.uniform(0.75, 1.0)


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
