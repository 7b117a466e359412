"""`brain.npz`: what networks were compared with and the baselines made of the images, for reports without the data."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from metrics.baselines import baselines, image_rdms, similarities
from metrics.errors import StimuliError
from metrics.measured.human_similarity import distances
from metrics.noise_ceiling import noise_ceiling, self_similarity
from metrics.references import Reference
from metrics.stimuli92 import Stimuli92, load_stimuli92
from metrics.stimulus_sets import STIMULI92, StimulusSet, open_stimuli
from search.metric_sections import ReferenceSection
from search.paths import brain_path, stimuli_path
from search.stimuli import open_references


def write_brain(out: Path, data_root: Path, config: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Write `brain.npz`; what `search.json` says of it, and a warning for each reference that cannot be read here.

    Nothing is written where the stimuli are not on this machine.
    """
    section = config["metrics"].get("hms") or {}
    name = section.get("stimuli", STIMULI92)
    try:
        stimuli = (
            load_stimuli92(stimuli_path(data_root)) if name == STIMULI92 else open_stimuli(brain_path(data_root, name))
        )
    except StimuliError:
        return {}, []
    images = image_rdms(stimuli)
    references, warnings = _references(section.get("references") or {}, data_root, stimuli)
    arrays = {
        "human_rdm": stimuli.human_rdm.astype(np.float32),
        "subject_rdms": stimuli.human_rdms.mean(axis=1).astype(np.float32),
        "categories": np.array(stimuli.categories),
        "labels": np.array(stimuli.labels),
        "reference": np.array("Human IT" if name == STIMULI92 else name),
        "image_names": np.array(list(images)),
        "image_rdms": np.array(list(images.values()), dtype=np.float32),
        "beside_names": np.array(list(references), dtype=np.str_),
        "beside_rdms": np.array([reference.rdm for reference in references.values()], dtype=np.float32),
    }
    temporary = out / "brain.part.npz"
    np.savez_compressed(temporary, **arrays)
    temporary.replace(out / "brain.npz")
    facts: dict[str, Any] = {"hms_baselines": baselines(stimuli, images)}
    if references:
        facts["references"] = {
            column: {
                "subjects": len(reference.people),
                "measure": reference.measure,
                "baselines": similarities(images, distances(reference.rdm)),
            }
            for column, reference in references.items()
        }
    if len(stimuli.human_rdms) >= 2:
        facts["noise_ceiling"] = asdict(noise_ceiling(stimuli.human_rdms))
    if name == STIMULI92:
        facts["human_self_similarity"] = asdict(self_similarity(stimuli.human_rdms))
    return facts, warnings


def _references(
    given: dict[str, Any], data_root: Path, stimuli: Stimuli92 | StimulusSet
) -> tuple[dict[str, Reference], list[str]]:
    """The further references that are on this machine, each on its own: one that is missing hides no other."""
    found: dict[str, Reference] = {}
    warnings = []
    for name, section in given.items():
        try:
            found |= open_references({name: ReferenceSection.model_validate(section)}, data_root, stimuli)
        except StimuliError as error:
            warnings.append(f"The RDM of the reference {name} cannot be shown: {error}")
    return found, warnings
