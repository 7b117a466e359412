"""What one participant sees, in which order: a pure function of the frozen study and of the participant's place.

All that is random comes from the study's seed, the image set and the slot, never from the condition: participants of
the same image set and slot see the same trials in the same order with the same correct sides in every condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from psychophysics.catch_distractor import catch_distractors
from psychophysics.config import Condition, StudyConfig
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest, Picture, SetRecord, UnitRecord

Kind = Literal["instruction", "practice", "catch", "main"]
Side = Literal["left", "right"]
T = TypeVar("T")
_SIDES: tuple[Side, Side] = ("left", "right")
_SHOWN: tuple[Kind, Kind] = ("main", "catch")
_MAIN, _INSTRUCTION, _PRACTICE = range(3)  # separate random streams: none shifts another


class Place(NamedTuple):
    """One participant's place in the design; `slot` counts from 0 within (condition, image_set)."""

    condition: Condition
    image_set: int
    slot: int


@dataclass(frozen=True)
class PlannedTrial:
    """One trial as it is shown.

    Attributes:
        id: `instruction`, `practice-ATTEMPT-POSITION` or `main-POSITION`; a catch trial's id tells nothing.
        kind: of the trial.
        attempt: of the practice block, from 1; 0 elsewhere.
        position: in its block, from 0; catch trials count among the main ones.
        network, layer, channel, image_set: the query pair.
        references: files, first to last; () in condition `none`.
        base: file of the query image without a patch.
        left, right: files of the two queries.
        target_side: side of `query_max`, the correct answer.
        query_max, query_min: files of the query with the higher and the lower activation.
    """

    id: str
    kind: Kind
    attempt: int
    position: int
    network: str
    layer: str
    channel: int
    image_set: int
    references: tuple[str, ...]
    base: str
    left: str
    right: str
    target_side: Side
    query_max: str
    query_min: str


@dataclass(frozen=True)
class SessionPlan:
    """All trials of a place. `main` holds main and catch trials; `blocks` the practice blocks of each attempt."""

    place: Place
    instruction: PlannedTrial
    blocks: tuple[tuple[PlannedTrial, ...], ...]
    main: tuple[PlannedTrial, ...]

    def practice(self, attempt: int) -> tuple[PlannedTrial, ...]:
        """The practice block of attempt 1, 2, ...; () where condition `none` has none."""
        return self.blocks[attempt - 1] if self.blocks else ()


def places(config: StudyConfig) -> list[Place]:
    """All places of the design, by condition, image set and slot."""
    design = config.design
    return [
        Place(condition, image_set, slot)
        for condition in design.conditions
        for image_set in range(design.sets)
        for slot in range(design.participants_per_cell)
    ]


def session_plan(frozen: Frozen, manifest: Manifest, place: Place) -> SessionPlan:
    """The trials of a place: the same for the same arguments, always.

    Raises:
        StimuliError: condition `none` has no picture that could be the distractor of a catch trial.
    """
    planner = _Planner(frozen.study_config, frozen.curated, manifest, place)
    return SessionPlan(place, planner.instruction(), planner.blocks(), planner.main())


class _Planner:
    def __init__(
        self, config: StudyConfig, curated: dict[str, tuple[str, ...]], manifest: Manifest, place: Place
    ) -> None:
        self.config, self.curated, self.manifest, self.place = config, curated, manifest, place
        units = (*manifest.units, *manifest.candidates)
        self.sets = {record.id: (unit, record) for unit in units for record in unit.sets}

    def instruction(self) -> PlannedTrial:
        """The worked example: the first that was curated for it."""
        unit, record = self.sets[self.curated["instruction"][0]]
        (side,) = _sides(1, self._rng(_INSTRUCTION))
        return self._trial("instruction", "instruction", 0, 0, unit, record, side)

    def blocks(self) -> tuple[tuple[PlannedTrial, ...], ...]:
        """A practice block for each attempt: the trials drawn anew from the curated ones, shuffled."""
        if self.place.condition == "none":
            return ()
        return tuple(self._block(attempt) for attempt in range(1, self.config.trials.practice_attempts + 1))

    def main(self) -> tuple[PlannedTrial, ...]:
        """Main and catch trials, shuffled; correct sides are balanced over the main and over the catch trials."""
        rng = self._rng(_MAIN)
        main = [(unit, unit.sets[self.place.image_set]) for unit in self.manifest.units]
        catch = [self.sets[identifier] for identifier in self.curated["catch"]]
        kinds = [kind for kind, sets in zip(_SHOWN, (main, catch), strict=True) for _ in sets]
        sides = _sides(len(main), rng) + _sides(len(catch), rng)
        order = _shuffled(list(zip(kinds, [*main, *catch], sides, strict=True)), rng)
        width = len(str(len(order) - 1))
        return tuple(
            self._trial(f"main-{position:0{width}}", kind, 0, position, unit, record, side)
            for position, (kind, (unit, record), side) in enumerate(order)
        )

    def _block(self, attempt: int) -> tuple[PlannedTrial, ...]:
        rng, trials = self._rng(_PRACTICE, attempt), self.config.trials
        drawn: list[str] = []
        for role, count in (("very_easy", trials.practice_very_easy), ("easy", trials.practice_easy)):
            drawn += _shuffled(self.curated[role], rng)[:count]
        order = _shuffled(list(zip(drawn, _sides(len(drawn), rng), strict=True)), rng)
        return tuple(
            self._trial(f"practice-{attempt}-{position}", "practice", attempt, position, *self.sets[identifier], side)
            for position, (identifier, side) in enumerate(order)
        )

    def _trial(
        self, identifier: str, kind: Kind, attempt: int, position: int, unit: UnitRecord, record: SetRecord, side: Side
    ) -> PlannedTrial:
        minimum = self._distractor(record) if kind == "catch" else record.pair.minimum
        query_max, query_min = record.pair.maximum.file, minimum.file
        left, right = (query_max, query_min) if side == "left" else (query_min, query_max)
        references = tuple(picture.file for picture in record.references[self.place.condition])
        return PlannedTrial(
            identifier, kind, attempt, position, unit.network, unit.layer, unit.channel, record.number, references,
            record.pair.base.file, left, right, side, query_max, query_min,
        )  # fmt: skip

    def _distractor(self, record: SetRecord) -> Picture:
        """Without references only a query of another unit is clearly wrong."""
        if self.place.condition != "none":
            return record.pair.minimum
        return catch_distractors(self.curated, self.manifest, self.config.study.seed)[record.id]

    def _rng(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.config.study.seed, self.place.image_set, self.place.slot, *stream])


def _sides(count: int, rng: np.random.Generator) -> list[Side]:
    """Left and right equally often; of an odd number the one more often is drawn."""
    first, second = _shuffled(_SIDES, rng)
    return _shuffled([first, second] * (count // 2) + [first] * (count % 2), rng)


def _shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[index] for index in rng.permutation(len(items))]
