"""References to and from rsatoolbox (the extra `rsa`), whose inference and models then work on the same data."""

import importlib
from collections.abc import Sequence
from typing import Any

from metrics.errors import StimuliError
from metrics.reference_arrays import RawRdms
from metrics.reference_hdf5 import label_descriptor, subject_descriptor
from metrics.references import GIVE_LABELS, Reference, make_reference


def to_rsatoolbox(reference: Reference) -> Any:
    """`rsatoolbox.rdm.RDMs` with the pattern descriptor `stimulus` and the RDM descriptors `subject` and `session`.

    `session` counts from 1 within each subject. StimuliError, with the command, when rsatoolbox is not installed.
    """
    seen: dict[str, int] = {}
    sessions = []
    for subject in reference.subjects:
        seen[subject] = seen.get(subject, 0) + 1
        sessions.append(seen[subject])
    return _rsatoolbox().RDMs(
        reference.rdms.copy(),
        dissimilarity_measure=reference.measure,
        descriptors={"name": reference.name},
        rdm_descriptors={"subject": list(reference.subjects), "session": sessions},
        pattern_descriptors={"stimulus": list(reference.labels)},
    )


def from_rsatoolbox(rdms: Any, *, labels: Sequence[str] | None = None, name: str | None = None) -> Reference:
    """A checked `Reference` of `rsatoolbox.rdm.RDMs`; see `load_reference` for labels and errors."""
    source = "rsatoolbox RDMs"
    if not isinstance(rdms, _rsatoolbox().RDMs):
        raise StimuliError(f"{source}: got {type(rdms).__name__}; expected rsatoolbox.rdm.RDMs.")
    found = label_descriptor(rdms.pattern_descriptors, source)
    raw = RawRdms(rdms.get_matrices(), found, subject_descriptor(rdms.rdm_descriptors), rdms.dissimilarity_measure)
    return make_reference(
        name or str(rdms.descriptors.get("name", "rsatoolbox")),
        raw.require_labels(labels, source, GIVE_LABELS),
        raw.rdms,
        subjects=raw.subjects,
        measure=raw.measure,
        source=source,
    )


def _rsatoolbox() -> Any:
    try:
        return importlib.import_module("rsatoolbox.rdm")
    except ModuleNotFoundError as error:
        raise StimuliError(
            f"rsatoolbox is not installed ({error}). Install it with: pip install 'hms-search[rsa]'"
        ) from None
