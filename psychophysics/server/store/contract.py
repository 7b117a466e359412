"""The contract of a store of answers, SQLite or MongoDB: what it holds, and what may change.

    participants   one document a participant; written by `join`, `append`, `seen`, `withdraw`
    events         append-only; (participant, seq) is unique; nothing but `withdraw` removes one, nothing changes one
    recruiters     salted SHA-256 of recruiters' ids, and nothing else: no link to a participant, no time, no order

Each method is one transaction: it happens whole or not at all, also with several servers on one store. `join` sees the
participants of one moment, and no other `join` happens between its look and its write: a place is given once.
A store belongs to one frozen study; another one is refused when it is opened.

All times are seconds since 1970, UTC, by the clock of the server; `at_ms` is the participant's clock, milliseconds.
Errors: `StoreFull` where the disk is full, `StoreError` and its other kinds where the store cannot be used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psychophysics.errors import StudyError
from psychophysics.session_plan import Place


@dataclass(frozen=True)
class Participant:
    """A participant, by pseudonym.

    Attributes:
        id: random to all who lack the keys of the study; after withdrawal another, random one.
        place: condition, image set and slot.
        consent_version: that was agreed to; empty after withdrawal.
        consented_at: when the session began; None after withdrawal.
        last_seen_at: the latest sign of life; None after withdrawal.
        ended_at: when the last trial was answered or practice failed for good; None before, and after withdrawal.
        withdrawn: all but the place is erased.
        viewport: width and height of the page, CSS pixels; None after withdrawal.
    """

    id: str
    place: Place
    consent_version: str
    consented_at: float | None
    last_seen_at: float | None
    ended_at: float | None = None
    withdrawn: bool = False
    viewport: tuple[int, int] | None = None

    @property
    def condition(self) -> str:
        """What the reference images are."""
        return self.place.condition

    @property
    def image_set(self) -> int:
        """Which image set of each unit is shown."""
        return self.place.image_set

    @property
    def slot(self) -> int:
        """Which participant of the cell."""
        return self.place.slot


@dataclass(frozen=True)
class Event:
    """Something a participant's page reports; kinds and contents are those of `psychophysics.server.requests`."""

    participant: str
    seq: int
    kind: str
    at_ms: float
    received_at: float
    content: dict[str, Any]


@dataclass(frozen=True)
class Newcomer:
    """Who wants to join. `withdrawal`: hash of the withdrawal code; `recruiter`: of the recruiter's id, or None."""

    id: str
    consent_version: str
    viewport: tuple[int, int]
    withdrawal: str
    recruiter: str | None = None


Choose = Callable[[Sequence[Participant]], Place | None]


class AlreadyTookPart(StudyError):
    """The recruiter's id or the pseudonym has joined before; of the id it is known also after withdrawal."""


class NoPlaceFree(StudyError):
    """All places of the design are taken."""


class EventRefused(StudyError):
    """An event of this seq is stored already, or the participant is not known: nothing of the call was stored."""


class AnswerStore(Protocol):
    """A store that is open. Safe to use from several threads."""

    def knows(self, fingerprint: str) -> bool:
        """Whether the study's secrets are those with which it began to be served; the first ones are noted."""
        ...

    def join(self, newcomer: Newcomer, choose: Choose, now: float) -> Participant:
        """Give a newcomer the place that `choose` names among the participants so far.

        Raises:
            AlreadyTookPart: the recruiter's id or the pseudonym has joined before.
            NoPlaceFree: `choose` returned None.
        """
        ...

    def participant(self, identifier: str) -> Participant | None:
        """One participant; None: there is none of this pseudonym."""
        ...

    def participants(self) -> list[Participant]:
        """All of them, in the order of their pseudonyms."""
        ...

    def events(self, participant: str | None = None) -> list[Event]:
        """Events of one participant, or of all, by participant and seq."""
        ...

    def append(self, participant: str, events: Sequence[Event], now: float, *, ended: bool = False) -> None:
        """Add events, note the sign of life, and with `ended` that the session has ended.

        Raises:
            EventRefused: a seq is taken, or the participant is unknown or has withdrawn.
        """
        ...

    def seen(self, participant: str, now: float) -> None:
        """Note a sign of life; nothing happens for an unknown participant."""
        ...

    def withdraw(self, withdrawal: str) -> bool:
        """Erase all of the participant whose code has this hash but the place; False: there is none."""
        ...

    def close(self) -> None:
        """Close it."""
        ...
