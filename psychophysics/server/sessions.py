"""Sessions of participants: they join, go on, send events, withdraw. What the server's addresses call."""

import secrets
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psychophysics.errors import StudyError
from psychophysics.server.assignment import choose_place
from psychophysics.server.progress import OutOfTurn, Progress, advance, is_correct, replay
from psychophysics.server.requests import AnyEvent, Joining
from psychophysics.server.running import RunningStudy
from psychophysics.server.store.contract import AlreadyTookPart, Event, EventRefused, Newcomer, Participant
from psychophysics.server.views import View, session_view, state_view
from psychophysics.session_plan import SessionPlan

MOST_EVENTS = 5000


class UnknownSession(StudyError):
    """No participant has this token; perhaps the answers were withdrawn."""


class ConsentChanged(StudyError):
    """Consent was given to another text than that of the study."""


class RecruiterMissing(StudyError):
    """A study on Prolific takes nobody without an id from there."""


class Conflict(StudyError):
    """An event that does not fit what is stored. `view`: `next_seq` and `state` as they are."""

    def __init__(self, message: str, view: View) -> None:
        super().__init__(message)
        self.view = view


def recruited(identifier: str) -> str:
    """Of what the pseudonym of somebody with a recruiter's id is made."""
    return f"recruiter {identifier}"


@dataclass
class _Live:
    """A session in memory: what its stored events are and where they lead."""

    plan: SessionPlan
    events: list[Event]
    progress: Progress


@dataclass(frozen=True)
class Sessions:
    """The sessions of one study. Safe to use from several threads."""

    study: RunningStudy
    _live: dict[str, _Live] = field(default_factory=dict)
    _locks: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def join(self, joining: Joining) -> tuple[View, bool]:
        """A new session, or the unfinished one of this recruiter's id or request; with whether it is new.

        Raises:
            ConsentChanged, RecruiterMissing, AlreadyTookPart, NoPlaceFree.
        """
        study = self.study
        version = study.config.consent.version
        if joining.consent_version != version:
            raise ConsentChanged(f"the text of consent is version {version}, not {joining.consent_version}")
        recruiter = joining.recruiter.prolific_pid if joining.recruiter else None
        if recruiter is None and study.config.recruitment.kind == "prolific":
            raise RecruiterMissing("the Prolific id is missing: open the study from its page on Prolific")
        identifier = self._pseudonym(recruiter, joining.request)
        newcomer = Newcomer(
            identifier,
            version,
            (joining.viewport.width, joining.viewport.height),
            study.secrets.withdrawal_hash(study.secrets.withdrawal_code(identifier)),
            study.secrets.recruiter_hash(recruiter) if recruiter else None,
        )
        try:
            return self._view(self._join(newcomer)), True
        except AlreadyTookPart:
            before = study.store.participant(identifier)
            if before is None or before.ended_at is not None:
                raise
            return self.view(identifier), False

    def view(self, identifier: str) -> View:
        """The session of a participant.

        Raises:
            UnknownSession: there is none.
        """
        person = self._person(identifier)
        self.study.store.seen(identifier, self.study.now())
        return self._view(person)

    def send(self, identifier: str, sent: Sequence[AnyEvent]) -> View:
        """Store events; those that are stored already count as sent. Events before a refused one are stored.

        Raises:
            UnknownSession: there is no such participant.
            Conflict: an event does not fit.
        """
        with self._locks[identifier]:
            try:
                return self._send(identifier, sent)
            except EventRefused:  # another server has stored events meanwhile, or erased all
                self._live.pop(identifier, None)
                return self._send(identifier, sent)

    def withdraw(self, code: str) -> bool:
        """Erase the answers that belong to a code; False: none do."""
        known = self.study.secrets
        given = known.withdrawal_hash(code)
        for identifier in list(self._live):
            if known.withdrawal_hash(known.withdrawal_code(identifier)) == given:
                self._live.pop(identifier, None)
        return self.study.store.withdraw(given)

    def _pseudonym(self, recruiter: str | None, request: str | None) -> str:
        if recruiter is not None:
            return self.study.secrets.pseudonym(recruited(recruiter))
        return self.study.secrets.pseudonym(f"request {request}") if request else secrets.token_hex(16)

    def _join(self, newcomer: Newcomer) -> Participant:
        study = self.study
        study.verdicts.update(study.store, study.store.participants())
        now = study.now()
        return study.store.join(
            newcomer,
            lambda people: choose_place(study.config, people, study.verdicts.accepted, now, study.reservation),
            now,
        )

    def _person(self, identifier: str) -> Participant:
        person = self.study.store.participant(identifier)
        if person is None or person.withdrawn:
            self._live.pop(identifier, None)
            raise UnknownSession("this session is not known; its answers may have been withdrawn")
        return person

    def _session(self, person: Participant) -> _Live:
        if person.id not in self._live:
            plan, events = self.study.plan(person.place), self.study.store.events(person.id)
            self._live[person.id] = _Live(plan, events, replay(plan, events))
        return self._live[person.id]

    def _view(self, person: Participant) -> View:
        live, study = self._session(person), self.study
        return {
            "token": study.secrets.token(person.id),
            "withdrawal_code": study.secrets.withdrawal_code(person.id),
            **session_view(study.config, live.plan, live.progress, study.images),
        }

    def _send(self, identifier: str, sent: Sequence[AnyEvent]) -> View:
        live = self._live.get(identifier) or self._session(self._person(identifier))
        now = self.study.now()
        progress, new, refusal = _fitting(live, identifier, sent, now)
        if new:
            self.study.store.append(identifier, new, now, ended=progress.finished)
            live.events, live.progress = [*live.events, *new], progress
        else:
            self._person(identifier)  # a store that is not asked to append does not tell that all was erased
        state = state_view(self.study.config, live.plan, live.progress, self.study.images)
        view = {"next_seq": live.progress.next_seq, "state": state}
        if refusal is not None:
            raise Conflict(refusal, view)
        return {**view, "feedback": _feedback(live.plan, sent)}


def _fitting(
    live: _Live, identifier: str, sent: Sequence[AnyEvent], now: float
) -> tuple[Progress, list[Event], str | None]:
    """The events that are new, where they lead, and why the first that does not fit was refused."""
    progress = live.progress
    new: list[Event] = []
    for event in sent:
        content = event.content.model_dump()
        if event.seq < progress.next_seq:
            stored = [*live.events, *new][event.seq]
            if (stored.kind, stored.at_ms, stored.content) != (event.kind, event.at_ms, content):
                return progress, new, f"another event is stored as number {event.seq}"
            continue
        if event.seq > progress.next_seq:
            return progress, new, f"event {progress.next_seq} is missing before {event.seq}"
        if event.seq >= MOST_EVENTS:
            return progress, new, f"a session has at most {MOST_EVENTS} events"
        try:
            progress = advance(live.plan, progress, event.kind, content)
        except OutOfTurn as error:
            return progress, new, str(error)
        new.append(Event(identifier, event.seq, event.kind, event.at_ms, now, content))
    return progress, new, None


def _feedback(plan: SessionPlan, sent: Sequence[AnyEvent]) -> dict[str, Any] | None:
    """On the last practice answer among the events: the same again when it is sent again."""
    practice = {trial.id: trial for block in plan.blocks for trial in block}
    for event in reversed(sent):
        if event.kind == "answer" and (trial := practice.get(event.content.trial)):
            return {"correct": is_correct(trial, event.content.button), "target_side": trial.target_side}
    return None
