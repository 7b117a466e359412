"""Representational dissimilarity matrices (RDMs): 1 - Pearson correlation, from a streamed float64 Gram matrix.

A feature vector may have millions of units over all layers and time steps. `StreamedGram` takes them piece by piece and
keeps n means and one (n, n) matrix. Kriegeskorte, Mur & Bandettini (2008), "Representational similarity analysis".
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metrics.errors import MetricError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# Values of one block: 92 stimuli x 22,795 units in float64 are 16 MiB, which stays near the cache.
_BLOCK_VALUES = 2**21
# A spread below this many rounding steps (root mean square) of the features' own type is rounding noise, not a pattern.
_NOISE_STEPS = 4.0


class StreamedGram:
    """Centred Gram matrix of n feature vectors that arrive piece by piece, in float64.

    Each stimulus is shifted by its first block's mean; blocks are then centred on their own means and merged exactly
    (Chan, Golub & LeVeque 1983), so that large means, as in nearly identical patterns, do not cancel the digits of
    the covariance. Order and size of pieces do not matter.
    """

    def __init__(self, n: int) -> None:
        """Start empty for `n` >= 2 stimuli; MetricError for fewer."""
        if n < 2:
            raise MetricError(f"An RDM needs at least 2 stimuli, got n = {n}. Pass the number of stimuli.")
        self.n = n
        self.n_features = 0
        self.finite = True
        self._origin: FloatArray = np.zeros(n)
        self._mean: FloatArray = np.zeros(n)  # relative to the origin
        self._gram: FloatArray = np.zeros((n, n))
        self._noise: FloatArray = np.zeros(n)

    def update(self, features: npt.ArrayLike) -> None:
        """Add features (n, d) of a real type, one row a stimulus; they are read, never modified.

        A NaN or infinite value clears `finite` for good. MetricError when the shape or type does not fit.
        """
        array = np.asarray(features)
        if array.ndim != 2 or array.shape[0] != self.n:
            raise MetricError(
                f"Features have shape {array.shape}; expected ({self.n}, d), one row a stimulus. "
                f"Reshape them with features.reshape({self.n}, -1)."
            )
        if array.dtype.kind not in "fiub":
            raise MetricError(f"Features have type {array.dtype}; expected real numbers such as float32.")
        precision = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else float(np.finfo(float).eps)
        step = max(1, _BLOCK_VALUES // self.n)
        for start in range(0, array.shape[1], step):
            if not self.finite:
                return
            self._merge(array[:, start : start + step].astype(np.float64), precision)

    def _merge(self, block: FloatArray, precision: float) -> None:
        """Centre a private float64 block in place and merge its moments with those so far."""
        size = block.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.n_features == 0:
                self._origin = block.mean(axis=1)
            block -= self._origin[:, None]
            mean = block.mean(axis=1)
            block -= mean[:, None]
            gram = block @ block.T
            energy = np.diagonal(gram) + size * (self._origin + mean) ** 2
        if not (np.isfinite(mean).all() and np.isfinite(gram).all() and np.isfinite(energy).all()):
            self.finite = False
            return
        self._add(size, mean, gram, precision**2 * energy)

    def merge(self, other: "StreamedGram") -> None:
        """Add all features of `other`, which stays as it is: as if they had come here. MetricError for another n."""
        if other.n != self.n:
            raise MetricError(f"Features of {other.n} stimuli cannot be merged with features of {self.n}.")
        self.finite = self.finite and other.finite
        if other.n_features:
            if self.n_features == 0:
                self._origin = other._origin.copy()
            self._add(other.n_features, (other._origin - self._origin) + other._mean, other._gram, other._noise)

    def _add(self, size: int, mean: FloatArray, gram: FloatArray, noise: FloatArray) -> None:
        """Merge centred moments of `size` features, their means relative to the origin (Chan, Golub & LeVeque)."""
        total = self.n_features + size
        shift = mean - self._mean
        self._gram += gram
        self._gram += np.outer(shift, shift) * (self.n_features * size / total)
        self._mean += shift * (size / total)
        self._noise += noise
        self.n_features = total

    @property
    def constant(self) -> BoolArray:
        """(n,) bool: stimuli whose units all have one value, up to rounding; their correlations are undefined."""
        return np.diagonal(self._gram) <= _NOISE_STEPS**2 * self._noise

    @property
    def collapsed(self) -> bool:
        """Whether all stimuli have one and the same pattern, up to rounding in the features' own type."""
        own = np.diagonal(self._gram)
        apart = own[:, None] + own[None, :] - 2 * self._gram
        origin, mean = self._origin, self._mean
        apart += self.n_features * ((origin[:, None] - origin[None, :]) + (mean[:, None] - mean[None, :])) ** 2
        # The three terms cancel in float64, hence the floor.
        floor = 8 * float(np.finfo(float).eps) * (own[:, None] + own[None, :])
        noise = _NOISE_STEPS**2 * np.maximum(self._noise[:, None], self._noise[None, :])
        return bool((apart <= np.maximum(noise, floor)).all())

    def rdm(self) -> FloatArray:
        """(n, n) float64 in [0, 2], 1 - Pearson correlation, higher = more different, diagonal exactly 0.

        Rows and columns of `constant` stimuli are NaN, all of it when not `finite`. MetricError before any feature.
        """
        if not self.finite:
            return np.full((self.n, self.n), np.nan)
        if self.n_features == 0:
            raise MetricError("An RDM needs features, got none. Call update() first.")
        constant = self.constant
        scale = np.sqrt(np.where(constant, np.nan, np.diagonal(self._gram)))
        rdm = np.clip(1.0 - self._gram / scale[:, None] / scale[None, :], 0.0, 2.0)
        # BLAS may sum (i, j) and (j, i) in another order; the mean makes the matrix exactly symmetric.
        rdm = (rdm + rdm.T) / 2
        np.fill_diagonal(rdm, np.where(constant, np.nan, 0.0))
        return rdm


def correlation_rdm(features: npt.ArrayLike) -> FloatArray:
    """RDM (n, n) of features (n, d) that fit in memory; see `StreamedGram.rdm`."""
    array = np.asarray(features)
    gram = StreamedGram(array.shape[0] if array.ndim else 0)
    gram.update(array)
    return gram.rdm()


def check_rdm(rdm: npt.ArrayLike, name: str) -> FloatArray:
    """`rdm` as a new (n, n) float64 array; MetricError if it is not square and symmetric (NaN allowed)."""
    matrix = np.array(rdm, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise MetricError(
            f"The {name} has shape {matrix.shape}; expected (n, n) with n >= 2. "
            "Expand a vector of pairs with metrics.rdm.square()."
        )
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-6, equal_nan=True):
        worst = float(np.nanmax(np.abs(matrix - matrix.T)))
        raise MetricError(f"The {name} is not symmetric: mirrored entries differ by up to {worst:.3g}.")
    return matrix


def upper(rdm: npt.ArrayLike) -> FloatArray:
    """The n*(n-1)/2 entries above the diagonal, row by row: (0,1), (0,2), ... (the field's order)."""
    matrix = check_rdm(rdm, "RDM")
    return matrix[np.triu_indices(matrix.shape[0], 1)]


def square(pairs: npt.ArrayLike) -> FloatArray:
    """The symmetric (n, n) RDM, diagonal 0, of n*(n-1)/2 pairs in the order of `upper`."""
    values = np.asarray(pairs, dtype=np.float64).ravel()
    n = round((1 + np.sqrt(1 + 8 * values.size)) / 2)
    if values.size == 0 or n * (n - 1) // 2 != values.size:
        raise MetricError(f"{values.size} pairs are not n*(n-1)/2 for any n >= 2; pass all pairs of an RDM.")
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = values
    return matrix + matrix.T


def rescaled(distances: npt.ArrayLike) -> FloatArray:
    """Distances of any unit, divided by one number so that they span 1 where they are not those of 1 - correlation.

    What lies in [0, 2] and spans at least 1e-3 is returned as it is. Ranks and correlations do not change; differences
    that are taken for rounding (1e-10) then mean the same in any unit.
    """
    array = np.array(distances, dtype=np.float64)
    span = float(np.ptp(array))
    if span == 0 or (array.min() >= -1e-3 and array.max() <= 2 + 1e-3 and span >= 1e-3):
        return array
    return array / span


def align(rdm: npt.ArrayLike, labels: Sequence[str], reference_labels: Sequence[str]) -> FloatArray:
    """`rdm` (n, n) with rows and columns reordered from `labels` to the order of `reference_labels`.

    MetricError when a label is missing, additional or repeated, or their number is not n: comparing RDMs in
    different orders gives a wrong number without any other sign.
    """
    matrix = check_rdm(rdm, "RDM")
    if len(labels) != matrix.shape[0]:
        raise MetricError(f"{len(labels)} labels were given for an RDM of {matrix.shape[0]} stimuli.")
    order = order_of(labels, reference_labels)
    return matrix[np.ix_(order, order)]


def order_of(labels: Sequence[str], reference_labels: Sequence[str]) -> list[int]:
    """Where each of `reference_labels` stands in `labels`; MetricError as `align`."""
    place = _places(labels, "labels")
    _places(reference_labels, "reference labels")
    missing = [label for label in reference_labels if label not in place]
    additional = sorted(set(labels) - set(reference_labels))
    if missing or additional:
        raise MetricError(
            f"Labels do not match the reference: {len(missing)} missing {missing[:3]}, "
            f"{len(additional)} additional {additional[:3]}. Compute both RDMs from the same stimuli."
        )
    return [place[label] for label in reference_labels]


def _places(labels: Sequence[str], name: str) -> dict[str, int]:
    place = {label: index for index, label in enumerate(labels)}
    if len(place) != len(labels):
        repeated = sorted({label for label in place if list(labels).count(label) > 1})
        raise MetricError(f"The {name} repeat {repeated[:3]}; each stimulus needs a label of its own.")
    return place
