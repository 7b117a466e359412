"""The wrong answer of a catch trial in condition `none`: the minimal query of another unit.

Participants without references cannot know what a unit favours. There a catch trial only asks which of the two queries
belongs to the base image; so the distractor shows another photograph.
"""

from collections.abc import Mapping

import numpy as np

from psychophysics.errors import StimuliError
from psychophysics.stimuli.manifest import Manifest, Picture, SetRecord


def catch_distractors(curated: Mapping[str, tuple[str, ...]], manifest: Manifest, seed: int) -> dict[str, Picture]:
    """For each catch set its distractor, the same for all participants.

    Practice sets come first, which nobody in condition `none` sees, then the worked example, then other catch trials.

    Args:
        curated: role -> ids of sets.
        manifest: of the study.
        seed: of the study.

    Raises:
        StimuliError: all curated sets of other units show the photograph of the catch trial.
    """
    found = {}
    for number, identifier in enumerate(curated["catch"]):
        catch = manifest.set(identifier)
        rng = np.random.default_rng([seed, number])
        for roles in (("very_easy", "easy"), ("instruction",), ("catch",)):
            others = [manifest.set(other) for role in roles for other in curated[role]]
            fitting = [other for other in others if _unit(other) != _unit(catch) and _photo(other) != _photo(catch)]
            if fitting:
                found[identifier] = fitting[rng.integers(len(fitting))].pair.minimum
                break
        else:
            raise StimuliError(
                f"catch trial {identifier} has no distractor for condition none: every curated set of another unit "
                f"shows the same photograph, {_photo(catch)}. Next: give other candidates roles in curation.yaml"
            )
    return found


def _unit(record: SetRecord) -> str:
    return record.id.rpartition("/")[0]


def _photo(record: SetRecord) -> str:
    return record.pair.base.source.partition("#")[0]
