"""Stimuli and brains of one's own: a reference, and the images it was measured with, prepared once into one file.

The 92 stimuli of Kriegeskorte et al. (2008) are `metrics.stimuli92`; a set here takes their place in a search, or its
reference stands beside theirs when it has the same labels.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.baselines import animacy_rdm, category_rdm
from metrics.errors import StimuliError
from metrics.rdm import FloatArray
from metrics.references import Reference, load_reference, make_reference
from metrics.stimuli92 import LABELS92, Stimuli92
from metrics.stimulus_images import load_images

# Without dots and slashes, so that a configuration can tell a name from a path.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
STIMULI92 = "stimuli92"
BRAIN_FILE = "brain.npz"
_VERSION = 1
REFERENCES92 = (
    "human_it",
    "human_it_1",
    "human_it_2",
    "human_it_3",
    "human_it_4",
    "monkey_it",
    "animacy",
    "four_categories",
)
"""Names of the references that come with the 92 stimuli; see `references92`."""


@dataclass(frozen=True, eq=False)
class StimulusSet:
    """Stimuli that a network is shown, and what it is compared with, in one order.

    `images` (n, H, W, 3) uint8; `labels` (n,); `digest`: sha256 of reference and images. `human_rdm` and `human_rdms`
    are named as those of the 92 stimuli, whosever brain it was.
    """

    name: str
    images: npt.NDArray[np.uint8]
    reference: Reference
    digest: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the images and of the reference."""
        return self.reference.labels

    @property
    def categories(self) -> tuple[str, ...]:
        """Empty: the categories of other stimuli are not known."""
        return ("",) * len(self.labels)

    @property
    def human_rdm(self) -> FloatArray:
        """(n, n): the mean over people, what HMS compares with."""
        return self.reference.rdm

    @property
    def human_rdms(self) -> FloatArray:
        """(people, 1, n, n): each person's mean over sessions."""
        return self.reference.person_rdms[:, None]


def prepare_brain(
    root: Path,
    source: Path,
    *,
    name: str,
    images: Path | None = None,
    labels: Path | None = None,
    variable: str | None = None,
) -> Path:
    """Read reference RDMs, and the folder of their images, into `root/NAME/`; return that folder.

    `labels`: a file, or the word `stimuli92` for RDMs in the order of those 92 stimuli. Nothing is written when the
    same is there; something else of that name is replaced. StimuliError for a bad name, and as `load_reference`.
    """
    taken = (STIMULI92, *REFERENCES92)
    if not NAME.fullmatch(name) or name in taken:
        raise StimuliError(
            f"--name {name}: expected at most 64 letters, digits, `_` and `-`, and none of {', '.join(taken)}."
        )
    given: Path | Sequence[str] | None = labels
    if labels is not None and str(labels) == STIMULI92 and not labels.is_file():
        given = LABELS92
    reference = load_reference(source, variable=variable, labels=given, name=name)
    pictures = None if images is None else load_images(images, reference.labels)
    folder, digest = root / name, _digest(reference, pictures)
    try:
        if _read(folder)[2] == digest:
            return folder
    except StimuliError:
        pass  # nothing there, or nothing whole
    _write(folder, reference, pictures, digest)
    return folder


def open_reference(folder: Path) -> Reference:
    """The reference of a prepared brain, verified by its digest; StimuliError when it is missing or altered."""
    return _read(folder)[0]


def brain_problems(folder: Path) -> list[str]:
    """What is wrong with a prepared brain, in words; empty when it is whole."""
    try:
        _read(folder)
    except StimuliError as error:
        return [str(error)]
    return []


def open_stimuli(folder: Path) -> StimulusSet:
    """The stimuli of a prepared brain; StimuliError when it is missing, altered, or has no images."""
    reference, images, digest = _read(folder)
    if images is None:
        raise StimuliError(
            f"{folder} has no images, which a network must be shown. Prepare it again: "
            f"hms data brain PATH --name {folder.name} --images FOLDER"
        )
    return StimulusSet(folder.name, images, reference, digest)


def references92(stimuli: Stimuli92) -> dict[str, Reference]:
    """What the data of the 92 stimuli hold beside the mean human RDM, by name (`REFERENCES92`).

    `human_it`: the mean of eight. `human_it_1` ... `human_it_4`: each person, two sessions. `monkey_it`: 674 neurons.
    `animacy`, `four_categories`: models that only know the categories.
    """
    people = {f"human_it_{number}": rdms for number, rdms in enumerate(stimuli.human_rdms, start=1)}
    found: dict[str, tuple[FloatArray, Sequence[str], str | None]] = {
        "human_it": (
            stimuli.human_rdms.reshape(-1, *stimuli.human_rdm.shape),
            [name for name in people for _ in range(stimuli.human_rdms.shape[1])],
            "correlation",
        ),
        **{name: (rdms, [name] * len(rdms), "correlation") for name, rdms in people.items()},
        "monkey_it": (stimuli.monkey_rdm[None], ["mean of two monkeys"], "correlation"),
        "animacy": (animacy_rdm(stimuli)[None], ["model"], None),
        "four_categories": (category_rdm(stimuli)[None], ["model"], None),
    }
    return {
        name: make_reference(name, stimuli.labels, rdms, subjects=who, measure=measure, source=f"92 stimuli, {name}")
        for name, (rdms, who, measure) in found.items()
    }


def _digest(reference: Reference, images: npt.NDArray[np.uint8] | None) -> str:
    whole = hashlib.sha256(f"{_VERSION} {reference.digest} {reference.measure}".encode())
    if images is not None:
        whole.update(f" {images.shape} ".encode())
        whole.update(np.ascontiguousarray(images).data)
    return whole.hexdigest()


def _write(folder: Path, reference: Reference, images: npt.NDArray[np.uint8] | None, digest: str) -> None:
    arrays: dict[str, Any] = {
        "labels": np.array(reference.labels),
        "rdms": reference.rdms,
        "subjects": np.array(reference.subjects),
        "measure": np.array(reference.measure or ""),
        "source": np.array(reference.source),
        "digest": np.array(digest),
    }
    if images is not None:
        arrays["images"] = images
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as part:
            path = Path(part.name)
            try:
                np.savez(part, **arrays)
                part.flush()
                os.fsync(part.fileno())
                path.chmod(0o644)
                path.replace(folder / BRAIN_FILE)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StimuliError(f"{folder} cannot be written: {error}. Set HMS_DATA to a folder with room.") from None


def _read(folder: Path) -> tuple[Reference, npt.NDArray[np.uint8] | None, str]:
    path, again = folder / BRAIN_FILE, f"hms data brain PATH --name {folder.name}"
    if not path.is_file():
        raise StimuliError(
            f"the brain `{folder.name}` is not prepared: {path} does not exist. Prepare it with: {again}"
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        reference = make_reference(
            folder.name,
            arrays["labels"].tolist(),
            arrays["rdms"],
            subjects=arrays["subjects"].tolist(),
            measure=str(arrays["measure"]) or None,
            source=str(arrays["source"]),
        )
        digest, images = str(arrays["digest"]), arrays.get("images")
    # A torn archive raises whatever numpy and zipfile stumble over.
    except Exception as error:
        raise StimuliError(f"{path} is damaged ({error}). Prepare it again: {again}") from error
    if digest != _digest(reference, images):
        raise StimuliError(f"{path} was altered: its digest is not that of its content. Prepare it again: {again}")
    return reference, images, digest
