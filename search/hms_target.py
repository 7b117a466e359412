"""What a network is compared with: a reference, and the categories and trivial models of the 92 stimuli."""

from pathlib import Path

import numpy as np

from metrics.baselines import REFERENCE_MODELS, image_rdms
from metrics.errors import StimuliError
from metrics.hms_report import HmsTarget
from metrics.rdm import align
from metrics.references import Reference, load_reference
from metrics.stimuli92 import Stimuli92, load_stimuli92, prepare_stimuli92
from metrics.stimulus_sets import REFERENCES92, open_reference, references92
from search.paths import brain_path, stimuli_path
from search.progress import Progress

HUMAN_IT = "human_it"
CONTROLS = ("pixels", "silhouette")


def load_target(reference: str, labels: Path | None, root: Path, progress: Progress) -> HmsTarget:
    """A reference of the 92 stimuli (`human_it`, `monkey_it`, ...; fetched when missing), a path, or a prepared brain.

    Categories and image baselines are there where the reference is of the 92 stimuli. `labels`: a file with those of
    the rows of the RDMs at a path.

    Raises:
        StimuliError: no such reference; what is wrong with its file.
    """
    if reference in REFERENCES92:
        stimuli = prepare_stimuli92(stimuli_path(root), progress=progress)
        return target_of(references92(stimuli)[reference], stimuli)
    path = Path(reference).expanduser()
    if path.exists() or "/" in reference or path.suffix:
        found = load_reference(path, labels=labels)
    else:
        found = open_reference(brain_path(root, reference))
    try:
        known = load_stimuli92(stimuli_path(root))
    except StimuliError:
        return HmsTarget(found, None, {}, {}, ())
    return target_of(found, known) if set(found.labels) == set(known.labels) else HmsTarget(found, None, {}, {}, ())


def target_of(reference: Reference, stimuli: Stimuli92) -> HmsTarget:
    """Categories, baselines and controls of the 92 stimuli, in the order of `reference`. Takes about 2 s."""
    place = {label: index for index, label in enumerate(stimuli.labels)}

    def ordered(rdm: np.ndarray) -> np.ndarray:
        return align(rdm, stimuli.labels, reference.labels)

    return HmsTarget(
        reference=reference,
        categories=tuple(stimuli.categories[place[label]] for label in reference.labels),
        images={name: ordered(rdm) for name, rdm in image_rdms(stimuli).items()},
        models={name: ordered(rdm(stimuli)) for name, rdm in REFERENCE_MODELS.items()},
        controls=CONTROLS,
    )
