"""RDMs saved by rsatoolbox as HDF5 (`RDMs.save(path, file_type='hdf5')`), read without rsatoolbox.

Nili et al. (2014), "A toolbox for representational similarity analysis", PLoS Comput Biol 10:e1003553.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from metrics.errors import StimuliError
from metrics.reference_arrays import LABEL_NAMES, SUBJECT_NAMES, RawRdms, as_stack, texts


def read_rsatoolbox(path: Path) -> RawRdms:
    """RDMs, labels, subjects and measure of a file by rsatoolbox; StimuliError for other HDF5 files."""
    if not h5py.is_hdf5(path):
        raise StimuliError(f"{path}: is no HDF5 file. Copy it again, or save it again with rsatoolbox.")
    with h5py.File(path, "r") as file:
        if "dissimilarities" not in file or "pattern_descriptors" not in file:
            raise StimuliError(
                f"{path}: not saved by rsatoolbox: expected dissimilarities and pattern_descriptors, it holds "
                f"{', '.join(file) or 'nothing'}. MATLAB 7.3 files must be named .mat."
            )
        rdms = as_stack(file["dissimilarities"][()], f"{path}, dissimilarities")
        labels = label_descriptor(_descriptors(file["pattern_descriptors"]), str(path))
        subjects = subject_descriptor(_descriptors(file.get("rdm_descriptors")))
        measure = file.attrs.get("dissimilarity_measure")
    return RawRdms(rdms, labels, subjects, None if measure is None else str(measure))


def label_descriptor(descriptors: Mapping[str, Any], source: str) -> tuple[str, ...] | None:
    """Labels among rsatoolbox' pattern descriptors: a usual name, or the only one beside `index`; else None.

    StimuliError when several descriptors could be the labels.
    """
    usual = next((name for name in LABEL_NAMES if name in descriptors), None)
    others = [name for name in descriptors if name != "index" and len(set(texts(descriptors[name]) or ())) > 1]
    if usual is None and len(others) > 1:
        raise StimuliError(
            f"{source}: pattern descriptors {', '.join(others)}: which are the labels? Name one of them `stimulus`."
        )
    name = usual or (others[0] if others else "index")
    return texts(descriptors[name]) if name in descriptors else None


def subject_descriptor(descriptors: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Subjects among rsatoolbox' RDM descriptors, by a usual name, or None."""
    name = next((name for name in SUBJECT_NAMES if name in descriptors), None)
    return None if name is None else texts(descriptors[name])


def _descriptors(group: Any) -> dict[str, Any]:
    if group is None:
        return {}
    datasets = {name: item[()] for name, item in group.items() if isinstance(item, h5py.Dataset) and item.shape}
    # rsatoolbox keeps tuples of strings as attributes.
    return datasets | {name: np.asarray(value) for name, value in group.attrs.items()}
