"""Who of those who finished is accepted: the exclusion rules, applied once to each, for the next who wants a place."""

from collections.abc import Callable, Sequence

from psychophysics.collection import Session, broken_rules
from psychophysics.exclusions import Thresholds
from psychophysics.server.store.contract import AnswerStore, Participant
from psychophysics.session_plan import Place, SessionPlan


class Verdicts:
    """Verdicts by pseudonym: the answers of somebody who has finished never change."""

    def __init__(self, plan: Callable[[Place], SessionPlan], thresholds: Thresholds) -> None:
        self._plan, self._thresholds = plan, thresholds
        self._accepted: dict[str, bool] = {}

    def update(self, store: AnswerStore, participants: Sequence[Participant]) -> None:
        """Judge those who have finished since."""
        for who in participants:
            if who.ended_at is not None and who.id not in self._accepted:
                session = Session(self._plan(who.place), who, store.events(who.id))
                self._accepted[who.id] = not broken_rules(session, self._thresholds)

    def accepted(self, participant: Participant) -> bool:
        """Whether somebody who has finished breaks no rule; those not judged yet keep their place."""
        return self._accepted.get(participant.id, True)
