"""A study while it is served: what all parts of the server share."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from psychophysics.collection import fixed_study
from psychophysics.config import StudyConfig
from psychophysics.server.images import Images
from psychophysics.server.keys import Secrets
from psychophysics.server.store.contract import AnswerStore
from psychophysics.server.verdicts import Verdicts
from psychophysics.session_plan import Place, SessionPlan, session_plan
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest
from psychophysics.study_folder import StudyFolder

RESERVED_SECONDS = 3600.0


@dataclass(frozen=True)
class RunningStudy:
    """A frozen study with its store. `reservation`: how long a place is kept without a sign of life, seconds.

    `clock`: seconds since 1970.
    """

    folder: StudyFolder
    frozen: Frozen
    manifest: Manifest
    store: AnswerStore
    secrets: Secrets
    reservation: float = RESERVED_SECONDS
    clock: Callable[[], float] = time.time
    _plans: dict[Place, SessionPlan] = field(default_factory=dict)

    @cached_property
    def config(self) -> StudyConfig:
        """The frozen configuration."""
        return self.frozen.study_config

    @cached_property
    def images(self) -> Images:
        """The pictures, by names that tell nothing."""
        return Images(self.folder, self.manifest, self.secrets)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Who of the finished is accepted."""
        return Verdicts(self.plan, fixed_study(self.frozen, self.config).thresholds)

    def plan(self, place: Place) -> SessionPlan:
        """The trials of a place."""
        if place not in self._plans:
            self._plans[place] = session_plan(self.frozen, self.manifest, place)
        return self._plans[place]

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return round(self.clock(), 3)
