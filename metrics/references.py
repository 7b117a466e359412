"""Reference RDMs that a network is compared with: any brain's, or behaviour's, with a label for every stimulus.

`load_reference` reads what laboratories have (`metrics.reference_files`), refuses what is no set of labelled RDMs, and
never guesses an order: Kriegeskorte, Mur & Bandettini (2008), "Representational similarity analysis".
"""

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from metrics.errors import StimuliError
from metrics.rdm import FloatArray, align
from metrics.reference_files import LABELS_FILE, read_rdms, subject_files, subject_of
from metrics.reference_text import read_labels

GIVE_LABELS = "Give a file with one label a line, in the order of the rows: --labels FILE (labels=... in Python)"
# Mirrored entries of one file may differ by the rounding of float32 sums, relative to the largest distance.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Reference:
    """`k` RDMs of `n` labelled stimuli, in one order; made by `load_reference` or `make_reference`, which check them.

    `rdms` (k, n, n) float64, read-only: symmetric, diagonal 0, finite; higher = more different, of any unit and sign
    (cross-validated distances may be negative). `subjects` (k,): who each RDM is of; a name that repeats is another
    session of that person. `measure`: the dissimilarity, as the file says it, or None. `source`: the path read.
    `digest`: sha256 of labels, subjects and values.
    """

    name: str
    labels: tuple[str, ...]
    rdms: FloatArray
    subjects: tuple[str, ...]
    measure: str | None
    source: str
    digest: str

    @property
    def people(self) -> tuple[str, ...]:
        """The subjects, each once, in order."""
        return tuple(dict.fromkeys(self.subjects))

    @property
    def person_rdms(self) -> FloatArray:
        """(people, n, n): each person's mean over sessions; what a noise ceiling over people takes."""
        own = np.array(self.subjects)
        return np.stack([self.rdms[own == person].mean(axis=0) for person in self.people])

    @property
    def rdm(self) -> FloatArray:
        """(n, n): the mean over people, each of whom counts once, however many sessions there are."""
        return self.person_rdms.mean(axis=0)

    def aligned(self, labels: Sequence[str]) -> "Reference":
        """The same RDMs in the order of `labels`; StimuliError, with the labels, when they are not the same set."""
        missing, additional = differing(labels, self.labels)
        if missing or additional:
            raise StimuliError(
                f"{self.source}: its labels are not those expected: {shown(missing)} missing, {shown(additional)} "
                "additional. All must name the same stimuli."
            )
        rdms = np.stack([align(rdm, self.labels, labels) for rdm in self.rdms])
        return _frozen(replace(self, labels=tuple(labels), rdms=rdms, digest=_digest(labels, self.subjects, rdms)))


def load_reference(
    path: str | Path,
    *,
    variable: str | None = None,
    labels: str | Path | Sequence[str] | None = None,
    name: str | None = None,
) -> Reference:
    """Read reference RDMs from a file, or from a folder with one file a subject; docs/brains.md lists the formats.

    `variable`: which array of a `.mat` or `.npz` file, where several might be meant (`NAME`, or `NAME/ENTRY` for one
    entry of a MATLAB struct array). `labels`: of the rows, or a text file with one a line; needed where the file has
    none. `name`: default, the file's name.
    Raises StimuliError: what is wrong, with the values, and what to do.
    """
    path = Path(path)
    given = read_labels(Path(labels)) if isinstance(labels, str | Path) else None if labels is None else tuple(labels)
    name = name or path.resolve().stem
    return _load_folder(path, variable, given, name) if path.is_dir() else _load_file(path, variable, given, name)


def _load_file(path: Path, variable: str | None, labels: tuple[str, ...] | None, name: str) -> Reference:
    raw, source = read_rdms(path, variable), str(path)
    labels = raw.require_labels(labels, source, GIVE_LABELS)
    return make_reference(name, labels, raw.rdms, subjects=raw.subjects, measure=raw.measure, source=source)


def _load_folder(folder: Path, variable: str | None, labels: tuple[str, ...] | None, name: str) -> Reference:
    """Every file is a subject, or (`_ses-N` in its name, several RDMs in it) sessions of one."""
    if labels is None and (folder / LABELS_FILE).is_file():
        labels = read_labels(folder / LABELS_FILE)
    files = subject_files(folder)
    loaded = [_load_file(path, variable, labels, path.name) for path in files]
    measures = {reference.measure: reference.name for reference in reversed(loaded)}
    if len(measures) > 1:
        listed = ", ".join(f"{measure or 'none named'} ({file})" for measure, file in reversed(measures.items()))
        raise StimuliError(f"{folder}: subjects have different measures: {listed}. Give all in one measure.")
    order = loaded[0].labels
    rdms = np.concatenate([reference.aligned(order).rdms for reference in loaded])
    subjects = [subject_of(path) for path, own in zip(files, loaded, strict=True) for _ in own.rdms]
    return make_reference(name, order, rdms, subjects=subjects, measure=loaded[0].measure, source=str(folder))


def make_reference(
    name: str,
    labels: Sequence[str],
    rdms: FloatArray,
    *,
    subjects: Sequence[str] | None = None,
    measure: str | None = None,
    source: str = "memory",
) -> Reference:
    """A checked `Reference` of `rdms` (k, n, n), n >= 3. `subjects`: (k,), default one person each.

    Mirrored entries that differ by rounding are averaged. StimuliError, beginning with `source`, names each fault.
    """
    stack = np.array(rdms, dtype=np.float64)
    # One spelling of accents: file systems and editors differ.
    labels = tuple(unicodedata.normalize("NFC", label) for label in labels)
    people = tuple(subjects) if subjects is not None else _numbered(len(stack))
    if len(people) != len(stack):
        raise StimuliError(f"{source}: {len(people)} subjects are named for {len(stack)} RDMs; name one for each.")
    _check_labels(labels, stack.shape[1], source)
    for person, rdm in zip(people, stack, strict=True):
        _check_rdm(rdm, labels, f"{source}, {person}" if len(stack) > 1 else source)
    stack = (stack + stack.transpose(0, 2, 1)) / 2
    stack[:, range(len(labels)), range(len(labels))] = 0.0
    digest = _digest(labels, people, stack)
    return _frozen(Reference(name, labels, stack, people, measure, source, digest))


def differing(wanted: Sequence[str], found: Sequence[str]) -> tuple[list[str], list[str]]:
    """Labels of `wanted` that `found` lacks, and labels that only `found` has, each in its own order."""
    return [label for label in wanted if label not in set(found)], [x for x in found if x not in set(wanted)]


def shown(labels: Sequence[str]) -> str:
    """How many, and the first three of them."""
    listed = ", ".join(repr(label) for label in labels[:3])
    return f"{len(labels)} ({listed}{', ...' if len(labels) > 3 else ''})" if labels else "0"


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"subject{number}" for number in range(1, count + 1))


def _frozen(reference: Reference) -> Reference:
    reference.rdms.setflags(write=False)
    return reference


def _digest(labels: Sequence[str], subjects: Sequence[str], rdms: FloatArray) -> str:
    head = json.dumps([list(labels), list(subjects)], ensure_ascii=False).encode()
    return hashlib.sha256(head + np.ascontiguousarray(rdms, dtype="<f8").tobytes()).hexdigest()


def _check_labels(labels: tuple[str, ...], n: int, source: str) -> None:
    if n < 3:
        raise StimuliError(f"{source}: {n} stimuli make {n * (n - 1) // 2} pairs; a rank correlation needs 3 stimuli.")
    if len(labels) != n:
        raise StimuliError(f"{source}: {len(labels)} labels for RDMs of {n} stimuli. {GIVE_LABELS}.")
    empty = [number for number, label in enumerate(labels, start=1) if not label.strip()]
    if empty:
        raise StimuliError(f"{source}: the label of row {empty[0]} is empty. {GIVE_LABELS}.")
    repeated = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
    if repeated:
        raise StimuliError(f"{source}: labels repeat: {shown(repeated)}. Each stimulus needs a label of its own.")


def _check_rdm(rdm: FloatArray, labels: Sequence[str], where: str) -> None:
    bad = np.argwhere(~np.isfinite(rdm))
    if len(bad):
        i, j = bad[0]
        raise StimuliError(
            f"{where}: {len(bad)} values are not finite, the first is {rdm[i, j]} between {labels[i]!r} and "
            f"{labels[j]!r}. Leave out stimuli or subjects without data."
        )
    apart = np.abs(rdm - rdm.T)
    i, j = divmod(int(apart.argmax()), len(rdm))
    scale = float(np.abs(rdm).max())
    if apart[i, j] > _ROUNDING * scale:
        raise StimuliError(
            f"{where}: not symmetric: {labels[i]!r}, {labels[j]!r} is {rdm[i, j]:.6g}, mirrored {rdm[j, i]:.6g}. "
            "Average both halves if the measure is directed."
        )
    diagonal = np.diagonal(rdm)
    if np.allclose(diagonal, 1.0, rtol=0, atol=1e-3):
        raise StimuliError(
            f"{where}: the diagonal is 1, so these are similarities. Give dissimilarities, such as 1 - correlation."
        )
    worst = int(np.abs(diagonal).argmax())
    if abs(diagonal[worst]) > _ROUNDING * scale:
        raise StimuliError(
            f"{where}: the distance of {labels[worst]!r} to itself is {diagonal[worst]:.6g}, expected 0. "
            "Set the diagonal to 0."
        )
    pairs = rdm[np.triu_indices(len(rdm), 1)]
    if np.ptp(pairs) <= _ROUNDING * scale:
        raise StimuliError(f"{where}: all {pairs.size} distances are {pairs[0]:.6g}; a rank needs different values.")
