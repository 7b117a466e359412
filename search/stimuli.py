"""The stimuli of a search and what its networks are compared with: the 92, or a set of the user's own; references."""

from collections.abc import Mapping
from pathlib import Path

from metrics.references import Reference, load_reference
from metrics.stimuli92 import Stimuli92, prepare_stimuli92
from metrics.stimulus_sets import REFERENCES92, STIMULI92, StimulusSet, open_reference, open_stimuli, references92
from search.config import SearchConfig
from search.metric_sections import ReferenceSection
from search.paths import brain_path, stimuli_path
from search.progress import Progress


def stimuli_of(config: SearchConfig, root: Path, progress: Progress | None = None) -> Stimuli92 | StimulusSet:
    """The stimuli that `metrics.hms.stimuli` names; the 92 are fetched where they are missing.

    Raises:
        StimuliError: they cannot be fetched; or a set was never prepared, has no images, or was altered.
    """
    name = config.metrics.hms.stimuli
    if name == STIMULI92:
        return prepare_stimuli92(stimuli_path(root), progress=progress)
    return open_stimuli(brain_path(root, name))


def references_of(config: SearchConfig, root: Path, stimuli: Stimuli92 | StimulusSet) -> dict[str, Reference]:
    """The further references of `metrics.hms.references`, by column, in the order of the stimuli.

    Each is a file or folder, the name of a prepared brain, or, beside the 92 stimuli, one of their own (`monkey_it`).

    Raises:
        StimuliError: one is missing or broken, or its labels are not those of the stimuli.
    """
    return open_references(config.metrics.hms.references, root, stimuli)


def open_references(
    given: Mapping[str, ReferenceSection], root: Path, stimuli: Stimuli92 | StimulusSet
) -> dict[str, Reference]:
    """The references that are given by column, in the order of the stimuli; raises as `references_of` does."""
    with_own = any(section.path in REFERENCES92 for section in given.values())
    own = references92(stimuli) if isinstance(stimuli, Stimuli92) and with_own else {}
    found = {}
    for name, section in given.items():
        if Path(section.path).is_absolute():
            path = Path(section.path)
            reference = load_reference(path, variable=section.variable, labels=section.labels, name=name)
        elif section.path in own:
            reference = own[section.path]
        else:
            reference = open_reference(brain_path(root, section.path))
        found[name] = reference.aligned(stimuli.labels)
    return found
