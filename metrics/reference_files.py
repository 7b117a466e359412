"""Which reader a file of RDMs gets, by its name; folders with one file a subject. Pickles stay closed."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from metrics.errors import StimuliError
from metrics.reference_arrays import RawRdms, from_variables
from metrics.reference_hdf5 import read_rsatoolbox
from metrics.reference_matlab import matlab_variables
from metrics.reference_text import read_csv

LABELS_FILE = "labels.txt"
_SESSION = re.compile(r"[_-]ses(sion)?[_-]?[A-Za-z0-9]+")


def read_rdms(path: Path, variable: str | None = None) -> RawRdms:
    """What the file `path` says; StimuliError when it is missing, of another kind, or broken."""
    if not path.is_file():
        raise StimuliError(f"{path}: no such file or folder. Check the path.")
    suffix = path.suffix.lower()
    if suffix in (".pkl", ".pickle"):
        raise StimuliError(
            f"{path}: pickles can run code and stay closed. "
            "Save it again with rsatoolbox: rdms.save('rdms.h5', file_type='hdf5')."
        )
    reader = _READERS.get(suffix)
    if reader is None:
        raise StimuliError(f"{path}: RDMs are not read from {suffix or 'such'} files; known: {', '.join(_READERS)}.")
    try:
        return reader(path, variable)
    except StimuliError:
        raise
    # The parsers of broken binary files raise whatever they stumble over.
    except Exception as error:
        raise StimuliError(f"{path}: cannot be read as {suffix}: {error}. Save it again, or copy it again.") from error


def subject_files(folder: Path) -> list[Path]:
    """The files of a folder with one file a subject, in natural order, without README*, labels.txt and hidden ones.

    StimuliError when there are none, or others than RDMs are read from.
    """
    files = sorted((path for path in folder.iterdir() if _counts(path)), key=lambda path: _natural(path.name))
    unknown = [path.name for path in files if path.suffix.lower() not in _READERS]
    if unknown or not files:
        held = f"{len(unknown)} files that hold no RDMs ({', '.join(unknown[:3])})" if unknown else "no files"
        raise StimuliError(f"{folder}: {held}; expected one a subject, of {', '.join(_READERS)}.")
    return files


def subject_of(path: Path) -> str:
    """The subject that a file's name says: its stem without `_ses-N`, since sessions are of the same person."""
    return _SESSION.sub("", path.stem)


def _counts(path: Path) -> bool:
    return path.is_file() and not path.name.startswith((".", "README")) and path.name != LABELS_FILE


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _read_npz(path: Path, variable: str | None) -> RawRdms:
    if not zipfile.is_zipfile(path):
        raise StimuliError(f"{path}: is no .npz archive. Write it with numpy.savez(path, rdms=..., labels=...).")
    variables = {}
    with np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                variables[name] = archive[name]
            except ValueError:
                raise StimuliError(
                    f"{path}: {name} is a pickled object array, which stays closed. "
                    "Save texts as numpy.array(labels, dtype=str)."
                ) from None
    return from_variables(variables, variable, str(path), rdms_last=False)


def _read_matlab(path: Path, variable: str | None) -> RawRdms:
    return from_variables(matlab_variables(path), variable, str(path), rdms_last=True)


def _alone(reader: Callable[[Path], RawRdms]) -> Callable[[Path, str | None], RawRdms]:
    def read(path: Path, variable: str | None) -> RawRdms:
        if variable is not None:
            raise StimuliError(f"{path}: {path.suffix} files have no variables. Leave out --variable {variable}.")
        return reader(path)

    return read


_READERS: dict[str, Callable[[Path, str | None], RawRdms]] = {
    ".mat": _read_matlab,
    ".npz": _read_npz,
    ".csv": _alone(read_csv),
    ".tsv": _alone(read_csv),
    ".h5": _alone(read_rsatoolbox),
    ".hdf5": _alone(read_rsatoolbox),
}
