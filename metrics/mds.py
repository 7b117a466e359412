"""Classical multidimensional scaling: stimuli as points whose distances resemble an RDM.

Torgerson (1952), Psychometrika 17:401-419.
"""

import numpy as np
import numpy.typing as npt

from metrics.errors import MetricError
from metrics.rdm import FloatArray, check_rdm


def classical_mds(rdm: npt.ArrayLike, dimensions: int = 2) -> tuple[FloatArray, float]:
    """Points (n, dimensions) for an RDM (n, n), and their share of its variance, in [0, 1].

    The share is that of the positive eigenvalues, so that 1 means: distances of the points are those of the RDM, up to
    its non-Euclidean part. The largest coordinate of each axis is positive, so that equal RDMs give equal pictures.
    MetricError for an RDM with NaN.
    """
    distances = check_rdm(rdm, "RDM")
    if not np.isfinite(distances).all():
        raise MetricError("The RDM holds NaN or infinity; it has no arrangement.")
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    largest = np.argsort(values)[::-1][:dimensions]
    positive = np.maximum(values, 0.0)
    points = vectors[:, largest] * np.sqrt(positive[largest])
    points *= np.sign(points[np.abs(points).argmax(axis=0), range(points.shape[1])])
    total = float(positive.sum())
    return points, float(positive[largest].sum()) / total if total > 0 else 0.0
