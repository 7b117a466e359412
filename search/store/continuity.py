"""How long the connection to the server has held without a gap: nobody is judged by a lease they could not renew."""

import math
import threading
import time


class Continuity:
    """Seconds since the server was last out of reach, by this process's own steady clock.

    A gap is a failed operation, or silence (this process was stopped or the machine slept) of more than
    `longest_silence` seconds. Failed heartbeats of the driver do not count: a replica set may miss a member for long.
    """

    def __init__(self) -> None:
        self.longest_silence = math.inf
        self._lock = threading.Lock()
        self._since: float | None = None
        self._heard = 0.0

    def heard(self) -> None:
        """An operation succeeded now."""
        with self._lock:
            now = _steady_seconds()
            if self._since is None or now - self._heard > self.longest_silence:
                self._since = now
            self._heard = now

    def lost(self) -> None:
        """The server did not answer."""
        with self._lock:
            self._since = None

    def seconds(self) -> float:
        """The length of the unbroken connection; 0 after a gap."""
        with self._lock:
            now = _steady_seconds()
            if self._since is None or now - self._heard > self.longest_silence:
                return 0.0
            return now - self._since


def _steady_seconds() -> float:
    # CLOCK_BOOTTIME goes on while a laptop sleeps; CLOCK_MONOTONIC does not.
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
