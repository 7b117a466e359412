"""Which place the next participant gets: a pure function of who has a place, and of the clock."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from psychophysics.config import StudyConfig
from psychophysics.server.store.contract import Participant
from psychophysics.session_plan import Place, places

Standing = Literal["live", "left", "accepted", "excluded", "withdrawn"]
Accepted = Callable[[Participant], bool]


def standing(participant: Participant, accepted: Accepted, now: float, reservation: float) -> Standing:
    """What a participant means for the place.

    Args:
        participant: whose.
        accepted: of somebody who has finished, whether no exclusion rule is broken.
        now: seconds since 1970.
        reservation: how long a place is kept without a sign of life, seconds.
    """
    if participant.withdrawn:
        return "withdrawn"
    if participant.ended_at is not None:
        return "accepted" if accepted(participant) else "excluded"
    return "live" if now - (participant.last_seen_at or 0.0) <= reservation else "left"


def choose_place(
    config: StudyConfig, participants: Sequence[Participant], accepted: Accepted, now: float, reservation: float
) -> Place | None:
    """The first free place of the least filled cell (condition, image set); None: all are taken.

    A place is taken by somebody accepted or live. It is free again after a drop-out, a withdrawal, and after an
    exclusion, but not after more than `recruitment.refills` exclusions. Of equally filled cells, those of the least
    filled condition come first, then the study's seed decides.
    """
    taken: Counter[Place] = Counter()
    excluded: Counter[Place] = Counter()
    for participant in participants:
        stands = standing(participant, accepted, now, reservation)
        taken[participant.place] += stands in ("live", "accepted")
        excluded[participant.place] += stands == "excluded"
    free: defaultdict[tuple[str, int], list[Place]] = defaultdict(list)
    in_cell: Counter[tuple[str, int]] = Counter()
    in_condition: Counter[str] = Counter()
    for place in places(config):
        in_cell[place[:2]] += taken[place] > 0
        in_condition[place.condition] += taken[place] > 0
        if not taken[place] and excluded[place] <= config.recruitment.refills:
            free[place[:2]].append(place)
    ranks = _ranks(config)
    cells = sorted(free, key=lambda cell: (in_cell[cell], in_condition[cell[0]], ranks[cell][in_cell[cell]]))
    return free[cells[0]][0] if cells else None


def _ranks(config: StudyConfig) -> dict[tuple[str, int], list[int]]:
    """For each cell and number of people in it, the cell's rank among equals, drawn with the seed."""
    design = config.design
    cells = [(condition, image_set) for condition in design.conditions for image_set in range(design.sets)]
    rng = np.random.default_rng([config.study.seed, len(cells)])
    drawn = [rng.permutation(len(cells)) for _ in range(design.participants_per_cell + 1)]
    return {cell: [int(ranks[index]) for ranks in drawn] for index, cell in enumerate(cells)}
