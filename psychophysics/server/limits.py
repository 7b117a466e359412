"""How often one sender may ask: a bucket that refills steadily. Kept in memory, under keys that name nobody."""

import hashlib
import math
import secrets
import threading
import time
from dataclasses import dataclass, field

from psychophysics.errors import StudyError

MOST_SENDERS = 20_000


class TooMany(StudyError):
    """A sender asks too often. `retry_after`: seconds until it may ask again, at least 1."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests; try again in {retry_after} s")
        self.retry_after = retry_after


@dataclass
class RateLimit:
    """`burst` requests at once, then `per_second` on average."""

    burst: float
    per_second: float
    _left: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    _salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, sender: str) -> None:
        """Count a request. Raises `TooMany`."""
        key = hashlib.blake2b(sender.encode("utf-8", "replace"), key=self._salt, digest_size=16).digest()
        now = time.monotonic()
        with self._lock:
            before, at = self._left.get(key, (self.burst, now))
            left = min(self.burst, before + (now - at) * self.per_second)
            if left < 1:
                raise TooMany(max(1, math.ceil((1 - left) / self.per_second)))
            if len(self._left) >= MOST_SENDERS:
                self._forget(now)
            self._left[key] = (left - 1, now)

    def _forget(self, now: float) -> None:
        """Those whose bucket is full again are as good as new."""
        full = self.burst / self.per_second
        self._left = {key: kept for key, kept in self._left.items() if now - kept[1] < full}


@dataclass(frozen=True)
class Limits:
    """How often may be joined and withdrawn from one address, and how often a participant's page may send."""

    joining: RateLimit = field(default_factory=lambda: RateLimit(100, 1))
    sending: RateLimit = field(default_factory=lambda: RateLimit(100, 10))
    withdrawing: RateLimit = field(default_factory=lambda: RateLimit(10, 0.2))

    @classmethod
    def of_rehearsal(cls) -> "Limits":
        """All simulated participants join from one address."""
        return cls(joining=RateLimit(1000, 1000))
