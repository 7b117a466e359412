import numpy as np
import pytest
from scipy.spatial.distance import pdist

from metrics.errors import MetricError
from metrics.mds import classical_mds
from metrics.rdm import square


def test_points_in_a_plane_are_found_again() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    found, share = classical_mds(square(pdist(points)))
    assert pdist(found) == pytest.approx(pdist(points), abs=1e-12)
    assert share == pytest.approx(1, abs=1e-12)
    line, share = classical_mds(square(pdist(points)), dimensions=1)
    variances = np.linalg.eigvalsh(np.cov(points.T))
    assert line.shape == (20, 1)
    assert share == pytest.approx(variances.max() / variances.sum(), abs=1e-12)


def test_equal_rdms_give_equal_pictures_and_nan_none() -> None:
    rdm = square(np.random.default_rng(1).uniform(0, 2, 45))
    first, second = classical_mds(rdm)[0], classical_mds(rdm.copy())[0]
    np.testing.assert_array_equal(first, second)
    assert (first.max(axis=0) >= -first.min(axis=0)).all()
    rdm[0, 1] = rdm[1, 0] = np.nan
    with pytest.raises(MetricError, match="NaN"):
        classical_mds(rdm)
    assert classical_mds(np.zeros((4, 4)))[1] == 0
