"""What a network is compared with: a reference, and the categories and trivial models of the 92 stimuli."""

from pathlib import Path

import numpy as np

from metrics.baselines import REFERENCE_MODELS, image_rdms
from metrics.comparators import SNAP
from metrics.errors import StimuliError
from metrics.hms_report import HmsTarget
from metrics.rdm import FloatArray, align, upper
from metrics.references import Reference, load_reference
from metrics.stimuli92 import LABELS92, Stimuli92, load_stimuli92, prepare_stimuli92
from metrics.stimulus_sets import NAME, REFERENCES92, StimulusSet, open_reference, open_stimuli, references92
from search.paths import brain_path, stimuli_path
from search.progress import Progress

HUMAN_IT = "human_it"
CONTROLS = ("pixels", "silhouette")


def load_target(reference: str, labels: Path | None, root: Path, progress: Progress) -> HmsTarget:
    """A reference of the 92 stimuli (`human_it`, `monkey_it`, ...; fetched when missing), a path, or a prepared brain.

    Categories are there where the reference is of the 92 stimuli, image baselines there and where a brain was prepared
    with its images. `labels`: a file with those of the rows of the RDMs at a path.

    Raises:
        StimuliError: no such reference; what is wrong with its file.
    """
    if reference in REFERENCES92:
        stimuli = prepare_stimuli92(stimuli_path(root), progress=progress)
        return target_of(references92(stimuli)[reference], stimuli)
    prepared = _is_prepared_name(reference)
    found = (
        open_reference(brain_path(root, reference))
        if prepared
        else load_reference(Path(reference).expanduser(), labels=labels)
    )
    try:
        if set(found.labels) == set(LABELS92):
            return target_of(found, load_stimuli92(stimuli_path(root)))
        images = _told_apart(open_stimuli(brain_path(root, reference))) if prepared else {}
    except StimuliError:
        images = {}
    return HmsTarget(found, None, images, {}, tuple(name for name in CONTROLS if name in images))


def shown_stimuli(reference: str, target: HmsTarget, root: Path) -> Stimuli92 | StimulusSet:
    """The images that a network is shown to be compared with `target`: those prepared with it, or the 92.

    Raises StimuliError: the reference is of other stimuli and has no images.
    """
    if _is_prepared_name(reference):
        try:
            return open_stimuli(brain_path(root, reference))
        except StimuliError:
            if set(target.reference.labels) != set(LABELS92):
                raise
    return load_stimuli92(stimuli_path(root))


def _is_prepared_name(reference: str) -> bool:
    """Whether it can only mean a brain that `hms data brain` prepared."""
    return reference not in REFERENCES92 and bool(NAME.fullmatch(reference)) and not Path(reference).exists()


def _told_apart(stimuli: StimulusSet) -> dict[str, FloatArray]:
    """Image baselines that tell the stimuli apart: images without a plain background have no silhouette."""
    rdms = image_rdms(stimuli).items()
    return {name: rdm for name, rdm in rdms if np.isfinite(rdm).all() and np.ptp(upper(rdm)) >= SNAP}


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
