"""Find the trial that a person means among a participant's events."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from psychophysics.errors import ResponsesError
from psychophysics.server.store.contract import Event, Participant
from psychophysics.session_plan import PlannedTrial, SessionPlan, session_plan
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest
from search.config_section import nearest


@dataclass(frozen=True)
class Moment:
    """A trial as one participant met it.

    Attributes:
        participant: who.
        trial: what was planned.
        of: how many trials its part of the session has.
        shown: events `trial_shown`, more than one after a reload; none for the worked example.
        answer: the stored answer; None: there is none.
        hidden: how often the page was out of sight between the first showing and the answer.
    """

    participant: Participant
    trial: PlannedTrial
    of: int
    shown: tuple[Event, ...]
    answer: Event | None
    hidden: int

    @property
    def button(self) -> int | None:
        """-3..-1: left, 1..3: right; the absolute value is the confidence."""
        return None if self.answer is None else int(self.answer.content["button"])

    @property
    def correct(self) -> bool | None:
        """Whether the chosen side is the target side."""
        if self.button is None:
            return None
        return ("left" if self.button < 0 else "right") == self.trial.target_side


def find_participant(participants: Sequence[Participant], text: str) -> Participant:
    """The participant whose pseudonym is `text`, or the only one whose begins so.

    Raises ResponsesError for none, several, and somebody who withdrew.
    """
    found = [person for person in participants if person.id == text]
    found = found or [person for person in participants if text and person.id.startswith(text)]
    if len(found) != 1:
        names = [person.id for person in participants if not person.withdrawn]
        if found:
            raise ResponsesError(f"{len(found)} participants begin with `{text}`: {found[0].id}, {found[1].id}, ...")
        raise ResponsesError(f"`{text}` is no participant{nearest(text, names) if names else ': there are none yet'}")
    if found[0].withdrawn:
        raise ResponsesError(f"{found[0].id} withdrew consent: the answers are erased")
    return found[0]


def find_moment(
    frozen: Frozen, manifest: Manifest, participant: Participant, events: Sequence[Event], trial: str
) -> Moment:
    """The trial with the id `trial`, such as `main-07`, `practice-1-0` or `instruction`.

    Args:
        frozen: the study.
        manifest: its stimuli.
        participant: whose trial.
        events: of this participant.
        trial: id of the trial.

    Raises:
        ResponsesError: the plan of this participant has no such trial, or it was not shown.
    """
    plan = session_plan(frozen, manifest, participant.place)
    planned = {one.id: (one, of) for one, of in _planned(plan)}
    shown_ids = list(dict.fromkeys(str(e.content["trial"]) for e in events if e.kind == "trial_shown"))
    known = ["instruction", *shown_ids]
    if trial not in planned:
        raise ResponsesError(f"`{trial}` is no trial of {participant.id}{nearest(trial, known)}")
    if trial not in known:
        told = ", ".join(shown_ids) if shown_ids else "none"
        raise ResponsesError(f"{trial} was not shown to {participant.id}; shown: {told}")
    one, of = planned[trial]
    shown = tuple(e for e in events if e.kind == "trial_shown" and e.content["trial"] == trial)
    answer = next((e for e in events if e.kind == "answer" and e.content["trial"] == trial), None)
    first, last = (shown[0].seq, answer.seq) if shown and answer else (0, -1)
    hidden = [e for e in events if e.kind == "visibility" and first < e.seq < last and not e.content["visible"]]
    return Moment(participant, one, of, shown, answer, len(hidden))


def listed(frozen: Frozen, manifest: Manifest, participant: Participant, events: Sequence[Event]) -> list[str]:
    """One line a trial that was shown, in order: id, kind, unit, answer."""
    ids = list(dict.fromkeys(str(e.content["trial"]) for e in events if e.kind == "trial_shown"))
    lines = []
    for identifier in ids:
        moment = find_moment(frozen, manifest, participant, events, identifier)
        trial = moment.trial
        told = {None: "not answered", True: "correct", False: "wrong"}[moment.correct]
        lines.append(f"{identifier:<14} {trial.kind:<9} {trial.network}/{trial.layer}/{trial.channel}  {told}")
    return lines


def clock(at_ms: float) -> str:
    """A participant's clock in words, UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"


def _planned(plan: SessionPlan) -> list[tuple[PlannedTrial, int]]:
    parts = ((plan.instruction,), *plan.blocks, plan.main)
    return [(trial, len(part)) for part in parts for trial in part]
