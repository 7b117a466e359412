"""Where a participant is in the session: a pure function of the plan and of the events so far.

instructions -> practice (blocks, until one is right throughout) -> main -> questions -> done; after the last practice
block with an error the session is done at once. Condition `none` has no practice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from psychophysics.collection import side_of
from psychophysics.errors import StudyError
from psychophysics.server.store.contract import Event
from psychophysics.session_plan import PlannedTrial, SessionPlan

Stage = Literal["instructions", "practice", "main", "questions", "done"]


class OutOfTurn(StudyError):
    """An event that does not fit where the session is."""


@dataclass(frozen=True)
class Progress:
    """Where a session is.

    Attributes:
        stage: of the session.
        attempt: of the practice block, from 1; 0 elsewhere.
        position: of the current trial in its block, from 0.
        mistakes: in the practice block so far.
        begun: the instructions were shown.
        practice_failed: no practice block was right throughout.
        next_seq: of the next event.
    """

    stage: Stage = "instructions"
    attempt: int = 0
    position: int = 0
    mistakes: int = 0
    begun: bool = False
    practice_failed: bool = False
    next_seq: int = 0

    @property
    def finished(self) -> bool:
        """The last trial was answered, or practice failed for good."""
        return self.stage in ("questions", "done")


def replay(plan: SessionPlan, events: Iterable[Event]) -> Progress:
    """Where all events of a session, in order, lead."""
    progress = Progress()
    for event in events:
        progress = advance(plan, progress, event.kind, event.content)
    return progress


def advance(plan: SessionPlan, progress: Progress, kind: str, content: Mapping[str, Any]) -> Progress:
    """Where one more event leads; its content has the form that its kind asks for.

    Raises:
        OutOfTurn: it does not fit, such as an answer to a trial that is not the current one.
    """
    if kind == "instructions_shown" and progress.stage == "instructions":
        after = replace(progress, begun=True)
    elif kind == "instructions_done" and progress.stage == "instructions" and progress.begun:
        after = _practice(plan, progress, 1)
    elif kind in ("trial_shown", "answer"):
        trial = current_trial(plan, progress)
        if trial is None or content["trial"] != trial.id:
            raise OutOfTurn(f"the current trial is {trial.id if trial else 'none'}, not {content['trial']}")
        after = progress if kind == "trial_shown" else _answered(plan, progress, is_correct(trial, content["button"]))
    elif kind == "questions" and progress.stage == "questions":
        after = replace(progress, stage="done")
    elif kind == "visibility":
        after = progress
    else:
        raise OutOfTurn(f"`{kind}` does not fit the stage {progress.stage}")
    return replace(after, next_seq=progress.next_seq + 1)


def block(plan: SessionPlan, progress: Progress) -> tuple[PlannedTrial, ...]:
    """The trials of the present block; () outside practice and main."""
    if progress.stage == "practice":
        return plan.practice(progress.attempt)
    return plan.main if progress.stage == "main" else ()


def current_trial(plan: SessionPlan, progress: Progress) -> PlannedTrial | None:
    """The trial that is to be answered next; None outside practice and main."""
    trials = block(plan, progress)
    return trials[progress.position] if trials else None


def is_correct(trial: PlannedTrial, button: int) -> bool:
    """Whether a button is on the side of the query that the unit favours."""
    return side_of(button) == trial.target_side


def _practice(plan: SessionPlan, progress: Progress, attempt: int) -> Progress:
    if plan.practice(attempt):
        return replace(progress, stage="practice", attempt=attempt, position=0, mistakes=0)
    return _main(progress)


def _main(progress: Progress) -> Progress:
    return replace(progress, stage="main", attempt=0, position=0, mistakes=0)


def _answered(plan: SessionPlan, progress: Progress, correct: bool) -> Progress:
    after = replace(progress, position=progress.position + 1)
    if progress.stage == "main":
        return after if after.position < len(plan.main) else replace(after, stage="questions", position=0)
    after = replace(after, mistakes=progress.mistakes + (not correct))
    if after.position < len(plan.practice(progress.attempt)):
        return after
    if not after.mistakes:
        return _main(after)
    if progress.attempt < len(plan.blocks):
        return _practice(plan, after, progress.attempt + 1)
    return replace(after, stage="done", attempt=0, position=0, mistakes=0, practice_failed=True)
