"""A file of any network's features: labels and one array a layer, as `numpy.savez` writes them."""

import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.rdm import order_of
from search.errors import UsageError

HOW = "write it with numpy.savez('features.npz', labels=labels, features=features), one label and one row a stimulus"


@dataclass(frozen=True)
class Features:
    """Features of n stimuli by layer, each (n, d) of a real type, with the label of every row."""

    labels: tuple[str, ...]
    layers: dict[str, NDArray[np.generic]]

    def ordered(self, reference_labels: Sequence[str], source: str) -> "Features":
        """The same in the order of the reference; UsageError when the labels are not the same set."""
        try:
            order = order_of(self.labels, reference_labels)
        except MetricError as error:
            raise UsageError(
                f"{source}: {error} The reference has {len(reference_labels)} stimuli, "
                f"{reference_labels[0]!r} to {reference_labels[-1]!r}, the file {len(self.labels)}."
            ) from None
        return Features(tuple(reference_labels), {name: values[order] for name, values in self.layers.items()})


def read_features(path: Path) -> Features:
    """Read `labels` (n,) and every other array (n, ...), flattened to (n, d), as a layer of its name.

    Raises:
        UsageError: what is wrong with the file, with names and shapes, and how to write it.
    """
    arrays = _arrays(path)
    if "labels" not in arrays:
        raise UsageError(f"{path} has no array `labels`, but {', '.join(arrays) or 'nothing'}: {HOW}")
    labels = arrays.pop("labels")
    if labels.ndim != 1 or labels.dtype.kind not in "US":
        raise UsageError(f"{path}: `labels` is {labels.dtype} of shape {labels.shape}; give (n,) text: {HOW}")
    try:
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in labels.tolist()]
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: `labels` are bytes that are no UTF-8 ({error}); give text: {HOW}") from None
    names = tuple(unicodedata.normalize("NFC", text) for text in texts)  # as those of a reference
    if not arrays:
        raise UsageError(f"{path} has labels and nothing else: {HOW}")
    return Features(names, {layer: _flat(path, layer, values, len(names)) for layer, values in arrays.items()})


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    if not path.is_file():
        raise UsageError(f"{path} does not exist: give a file that numpy.savez wrote")
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise UsageError(f"{path} is one array without labels: {HOW}")
        with loaded as file:
            return {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise UsageError(f"{path} cannot be read ({error}): {HOW}") from None


def _flat(path: Path, layer: str, values: NDArray[np.generic], n: int) -> NDArray[np.generic]:
    if values.ndim < 2 or len(values) != n:
        raise UsageError(f"{path}: `{layer}` has shape {values.shape} beside {n} labels; give ({n}, d): {HOW}")
    if values.dtype.kind not in "fiub":
        raise UsageError(f"{path}: `{layer}` is of type {values.dtype}; give real numbers, such as float32")
    if values[0].size < 2:
        raise UsageError(f"{path}: `{layer}` has 1 value a stimulus; a correlation needs 2 or more")
    return values.reshape(n, -1)
