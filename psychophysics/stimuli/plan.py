"""Which units and image sets a study shows: chosen before anything is searched or synthesised."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychophysics.config import StudyConfig
from psychophysics.errors import StimuliError
from psychophysics.networks import StudyNetwork
from psychophysics.stimuli.pool import ImagePool
from psychophysics.stimuli.pool_activations import pool_activations
from psychophysics.stimuli.ranking import ImageSet, form_sets
from psychophysics.stimuli.unit_stimuli import UnitStimuli
from psychophysics.study_folder import StudyFolder
from psychophysics.units import Unit, choose_units, refuse_silent

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PlannedUnit:
    """A unit and its image sets.

    Attributes:
        stimuli: makes them.
        sets: in order.
        complete: numbers of the sets that get the references of all conditions.
        candidate: for curated trials, not under study.
    """

    stimuli: UnitStimuli
    sets: tuple[ImageSet, ...]
    complete: frozenset[int]
    candidate: bool

    def set_id(self, number: int) -> str:
        """`network/layer/channel/number`."""
        return f"{self.stimuli.network.name}/{self.stimuli.unit}/{number}"


def plan_units(
    config: StudyConfig,
    folder: StudyFolder,
    networks: Mapping[str, StudyNetwork],
    pool: ImagePool,
    accepted: frozenset[str],
    progress: Progress,
) -> list[PlannedUnit]:
    """Choose the units, rank the pool for each, and form the image sets.

    Args:
        config: of the study.
        folder: of the study.
        networks: all of the configuration, by name.
        pool: of natural images.
        accepted: ids of the sets of candidates that get the references of all conditions.
        progress: called with (what, done, total).

    Raises:
        StimuliError: unknown, silent or constant units, a pool that is too small, or units that don't fit the trials.
    """
    main = {
        section.name: choose_units(
            section.units, networks[section.name].layers, seed=config.study.seed, network=section.name
        )
        for section in config.networks
    }
    _check_trials(config, main)
    curation = config.curation
    candidates = choose_units(
        curation.units,
        networks[curation.network].layers,
        seed=config.study.seed + 1,
        network=curation.network,
        taken=main.get(curation.network, []),
    )
    planned: list[PlannedUnit] = []
    for name, network in networks.items():
        others = candidates if name == curation.network else []
        units = [*main.get(name, []), *others]
        if units:
            activations = _activations(network, units, pool, folder, progress)
            planned += [
                _plan_unit(config, folder, network, pool, unit, activations[:, column], unit in others, accepted)
                for column, unit in enumerate(units)
            ]
    return planned


def _activations(
    network: StudyNetwork, units: Sequence[Unit], pool: ImagePool, folder: StudyFolder, progress: Progress
) -> NDArray[np.float32]:
    activations = pool_activations(
        network,
        units,
        pool,
        folder.activations(network.name),
        lambda done, total: progress(f"pool images, {network.name}", done, total),
    )
    refuse_silent(units, activations, network.name)
    return activations


def _plan_unit(
    config: StudyConfig,
    folder: StudyFolder,
    network: StudyNetwork,
    pool: ImagePool,
    unit: Unit,
    activations: NDArray[np.float32],
    candidate: bool,
    accepted: frozenset[str],
) -> PlannedUnit:
    design = config.design
    rng = np.random.default_rng([config.study.seed, *f"{network.name}/{unit}".encode()])
    formed = form_sets(activations, pool.photo_of, sets=design.ranked_sets, references=design.references, rng=rng)
    used = tuple(formed[: config.curation.sets if candidate else design.sets])
    complete = frozenset(
        number for number in range(len(used)) if not candidate or f"{network.name}/{unit}/{number}" in accepted
    )
    span = float(activations.min()), float(activations.max())
    return PlannedUnit(UnitStimuli(config, folder, network, pool, unit, span), used, complete, candidate)


def _check_trials(config: StudyConfig, main: Mapping[str, Sequence[Unit]]) -> None:
    units = sum(len(found) for found in main.values())
    if units != config.trials.main:
        each = ", ".join(f"{name} {len(found)}" for name, found in main.items())
        raise StimuliError(
            f"trials.main is {config.trials.main}, but the networks give {units} units under study ({each}): each main "
            "trial shows another unit. Next: change trials.main or the units"
        )
