"""The variables of a MATLAB file, versions 4 to 7 (scipy) and 7.3 (HDF5), as plain arrays, strings and dicts."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io


def matlab_variables(path: Path) -> dict[str, Any]:
    """Name -> numeric array as in MATLAB; str; object array of strings (cell) or of dicts (struct array)."""
    if h5py.is_hdf5(path):
        with h5py.File(path, "r") as file:
            return {name: _from_hdf5(item, file) for name, item in file.items() if not name.startswith("#")}
    loaded = scipy.io.loadmat(path, chars_as_strings=True)
    return {name: _from_scipy(value) for name, value in loaded.items() if not name.startswith("__")}


def _from_scipy(value: Any) -> Any:
    """Struct arrays become object arrays of dicts; single strings become str."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names is not None:
        structs = np.empty(value.shape, dtype=object)
        for index in np.ndindex(value.shape):
            structs[index] = {field: _from_scipy(value[index][field]) for field in value.dtype.names}
        return structs
    if value.dtype == object:
        cells = np.empty(value.shape, dtype=object)
        for index in np.ndindex(value.shape):
            cells[index] = _from_scipy(value[index])
        return cells
    if value.dtype.kind == "U":
        return str(value.ravel()[0]) if value.size == 1 else value.astype(object)
    return value


def _from_hdf5(item: Any, file: h5py.File) -> Any:
    """MATLAB 7.3 keeps arrays in the order of their memory, thus transposed; cells and struct arrays as references."""
    if isinstance(item, h5py.Group):
        return _struct(item, file)
    kind = item.attrs.get("MATLAB_class", b"").decode()
    if kind == "string" or "MATLAB_object_decode" in item.attrs:
        return np.array([None], dtype=object)  # an object of MATLAB's own, in a layout that is not published
    if "MATLAB_empty" in item.attrs or item.shape is None:
        return "" if kind == "char" else np.zeros(0)
    values = item[()]
    if kind == "char":
        # One row a string: a char matrix is a list of them, padded with blanks.
        rows = ["".join(map(chr, row)).rstrip() for row in np.atleast_2d(np.asarray(values).T)]
        return rows[0] if len(rows) == 1 else np.array(rows, dtype=object)
    if item.dtype == h5py.ref_dtype:
        return _dereferenced(values, file)
    return np.asarray(values).T


def _dereferenced(references: Any, file: h5py.File) -> Any:
    cells = np.empty(np.shape(references)[::-1], dtype=object)
    for index in np.ndindex(np.shape(references)):
        cells[index[::-1]] = _from_hdf5(file[references[index]], file)
    return cells


def _struct(group: h5py.Group, file: h5py.File) -> Any:
    fields = {name: _from_hdf5(item, file) for name, item in group.items()}
    arrays = [item for item in group.values() if _is_field_of_an_array(item)]
    if not fields or len(arrays) < len(fields):
        return fields
    shape = next(iter(fields.values())).shape
    structs = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        structs[index] = {name: value[index] for name, value in fields.items()}
    return structs


def _is_field_of_an_array(item: Any) -> bool:
    """References without a class of their own are the entries of a struct array; a cell says that it is one."""
    return isinstance(item, h5py.Dataset) and item.dtype == h5py.ref_dtype and "MATLAB_class" not in item.attrs
