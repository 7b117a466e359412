"""From the variables of a file to a stack of RDMs: which variable holds them, how it is laid out, its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.errors import StimuliError
from metrics.rdm import FloatArray, square

LABEL_NAMES = ("labels", "label", "stimulus_labels", "stimulus", "stimuli", "conditions", "condition_labels", "conds")
SUBJECT_NAMES = ("subjects", "subject", "participants", "participant")
MEASURE_NAMES = ("dissimilarity_measure", "measure", "units", "unit")
_RDM_NAMES = ("rdm", "rdms", "dissimilarities")


@dataclass(frozen=True)
class RawRdms:
    """What a file says, unchecked: `rdms` (k, n, n) float64; None for what it does not say."""

    rdms: FloatArray
    labels: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None
    measure: str | None = None

    def require_labels(self, given: Sequence[str] | None, source: str, advice: str) -> tuple[str, ...]:
        """The file's labels, or those `given`; StimuliError when there are none, only positions, or two sorts."""
        if given is not None:
            if self.labels is not None and not _positions(self.labels) and tuple(given) != self.labels:
                other = next((pair for pair in zip(self.labels, given, strict=False) if pair[0] != pair[1]), None)
                detail = f"{other[0]!r} in the file, {other[1]!r} given" if other else "their numbers differ"
                raise StimuliError(f"{source}: the file has labels of its own: {detail}. Leave out --labels.")
            return tuple(given)
        if self.labels is None:
            raise StimuliError(f"{source}: {self.rdms.shape[1]} stimuli without labels. {advice}.")
        if _positions(self.labels):
            raise StimuliError(
                f"{source}: its labels {self.labels[0]!r}, {self.labels[1]!r}, ... are positions only. {advice}."
            )
        return self.labels


def _positions(labels: tuple[str, ...]) -> bool:
    return any(labels == tuple(str(first + index) for index in range(len(labels))) for first in (0, 1))


def from_variables(variables: Mapping[str, Any], variable: str | None, source: str, *, rdms_last: bool) -> RawRdms:
    """RDMs, labels, subjects and measure among the named arrays of a file.

    MATLAB structs come as object arrays of dicts. `rdms_last`: a cube is (n, n, k), as is usual in MATLAB, where both
    ways are possible. StimuliError when no variable, or more than one, could be meant.
    """
    name, _, entry = (variable or _choose(variables, source)).partition("/")
    if name not in variables:
        raise StimuliError(f"{source}: there is no variable {name!r}; it holds: {_listed(variables)}.")
    value = variables[name]
    structs = _structs(value)
    if structs is not None:
        rdms, subjects = _from_structs(structs, entry, f"{source}, {name}", rdms_last)
    else:
        rdms, subjects = as_stack(value, f"{source}, {name}", rdms_last=rdms_last), None
    labels = _texts(variables, LABEL_NAMES, name)
    measure = _texts(variables, MEASURE_NAMES, name)
    return RawRdms(rdms, labels, _texts(variables, SUBJECT_NAMES, name) or subjects, measure[0] if measure else None)


def as_stack(array: Any, where: str, *, rdms_last: bool = False) -> FloatArray:
    """(k, n, n) float64 of (n, n), (k, n, n), (n, n, k), or pairs (m,), (k, m), (m, 1); StimuliError for other shapes.

    Pairs are those above the diagonal, row by row, which MATLAB's `squareform` writes too.
    """
    values = np.asarray(array)
    if values.dtype.kind not in "fiub":
        raise StimuliError(f"{where}: values of type {values.dtype}; an RDM holds real numbers.")
    values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and values.shape[0] == values.shape[1]:
        return values[None]
    if values.ndim == 3:
        first, middle, last = values.shape
        if first == middle and (middle != last or rdms_last):
            return np.moveaxis(values, -1, 0)
        if middle == last:
            return values
    if values.ndim in (1, 2) and _is_pairs(values.shape[-1]):
        return np.stack([square(pairs) for pairs in np.atleast_2d(values)])
    raise StimuliError(
        f"{where}: shape {values.shape}; expected (n, n), (subjects, n, n), or all n*(n-1)/2 pairs of each RDM."
    )


def texts(value: Any) -> tuple[str, ...] | None:
    """Strings, from any array, list or MATLAB cell of strings or whole numbers; None when it holds anything else."""
    items = [value] if isinstance(value, str | bytes) else np.asarray(value, dtype=object).ravel().tolist()
    found: list[str] = []
    for item in items:
        if isinstance(item, bytes):
            found.append(item.decode("utf-8", errors="replace").strip())
        elif isinstance(item, str):
            found.append(item.strip())
        elif isinstance(item, int | np.integer) or (isinstance(item, float) and item.is_integer()):
            found.append(str(int(item)))
        else:
            return None
    return tuple(found)


def _texts(variables: Mapping[str, Any], names: tuple[str, ...], taken: str) -> tuple[str, ...] | None:
    for wanted in names:
        for name, value in variables.items():
            if name.lower() == wanted and name != taken and _structs(value) is None:
                return texts(value)
    return None


def _is_pairs(count: int) -> bool:
    n = round((1 + np.sqrt(1 + 8 * count)) / 2)
    return count >= 3 and n * (n - 1) // 2 == count


def _structs(value: Any) -> npt.NDArray[np.object_] | None:
    """An array of MATLAB structs with a field RDM, or None."""
    items = np.asarray(value, dtype=object) if isinstance(value, dict) else value
    if not isinstance(items, np.ndarray) or items.dtype != object or not items.size:
        return None
    whole = all(isinstance(item, dict) and _field(item, _RDM_NAMES) is not None for item in items.ravel())
    return items if whole else None


def _field(struct: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value for key, value in struct.items() if key.lower() in names), None)


def _from_structs(
    structs: npt.NDArray[np.object_], entry: str, where: str, rdms_last: bool
) -> tuple[FloatArray, tuple[str, ...]]:
    """RDMs of a struct array as the MATLAB RSA toolbox writes it: (subjects,), or (subjects, sessions)."""
    names = [" ".join(texts(_field(item, ("name",)) or "") or ("",)) for item in structs.ravel()]
    chosen = [item for item, name in zip(structs.ravel(), names, strict=True) if entry in ("", name)]
    if not chosen:
        raise StimuliError(f"{where}: there is no entry named {entry!r}; it holds: {', '.join(names)}.")
    grid = np.squeeze(structs)
    if entry == "" and grid.ndim > 2:
        raise StimuliError(
            f"{where}: a struct array of shape {structs.shape}; expected subjects, or subjects x sessions. "
            "Save one region: RDMs = RDMs(1, :, :)."
        )
    stacks = [as_stack(_field(item, _RDM_NAMES), where, rdms_last=rdms_last) for item in chosen]
    shapes = sorted({stack.shape for stack in stacks})
    if len(shapes) > 1 or shapes[0][0] != 1:
        raise StimuliError(f"{where}: entries of shapes {shapes}; each must hold one RDM of the same stimuli.")
    rdms = np.concatenate(stacks)
    if entry:
        return rdms, tuple(f"{entry} {number}" if len(rdms) > 1 else entry for number in range(1, len(rdms) + 1))
    if grid.ndim == 2:
        return rdms, tuple(f"subject{row + 1}" for row in range(grid.shape[0]) for _ in range(grid.shape[1]))
    named = len(set(names)) == len(names) and "" not in names
    return rdms, tuple(names) if named else tuple(f"subject{row + 1}" for row in range(len(rdms)))


def _choose(variables: Mapping[str, Any], source: str) -> str:
    """The one variable that looks most like RDMs: by its name, as matrices or structs, or as a vector of pairs."""
    matrices = [name for name, value in variables.items() if _structs(value) is not None or _rank(value) == 2]
    vectors = [name for name, value in variables.items() if _rank(value) == 1]
    named = [name for name in matrices + vectors if name.lower() in _RDM_NAMES]
    for found in (named, matrices, vectors):
        if len(found) == 1:
            return found[0]
        if found:
            raise StimuliError(
                f"{source}: several variables could be the RDMs: {_listed({k: variables[k] for k in found})}. "
                f"Say which one: --variable {found[0]}."
            )
    raise StimuliError(f"{source}: no variable has the shape of RDMs; it holds: {_listed(variables)}.")


def _rank(value: Any) -> int:
    """2 for (stacks of) square matrices of numbers, 1 for pairs of at least 3 stimuli, else 0."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        return 0
    shape = value.shape
    if (value.ndim == 2 and shape[0] == shape[1] >= 3) or (value.ndim == 3 and shape[1] in (shape[0], shape[2])):
        return 2
    long = value.ndim in (1, 2) and (_is_pairs(shape[-1]) or (shape[-1] == 1 and _is_pairs(shape[0])))
    return int(long)


def _listed(variables: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {np.shape(value)}" for name, value in variables.items()) or "nothing"
