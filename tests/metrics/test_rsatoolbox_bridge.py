"""RDMs go to rsatoolbox and come back; the oracle is rsatoolbox itself."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.errors import StimuliError
from metrics.references import Reference, load_reference, make_reference
from metrics.rsatoolbox_bridge import from_rsatoolbox, to_rsatoolbox

LABELS = ("zebra", "Äpfel", "stim10", "stim2")
PAIRS = np.array([[1.0, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [2, 9, -1, 5, 4, 3]])


@pytest.fixture
def rsatoolbox() -> Any:
    return pytest.importorskip("rsatoolbox.rdm", reason="rsatoolbox is not installed: pip install 'hms-search[rsa]'")


def reference() -> Reference:
    stack = np.zeros((3, 4, 4))
    stack[:, *np.triu_indices(4, 1)] = PAIRS
    subjects = ("ann", "ann", "bob")
    return make_reference("v1", LABELS, stack + stack.transpose(0, 2, 1), subjects=subjects, measure="crossnobis")


def test_there_and_back(rsatoolbox: Any) -> None:
    ours = reference()
    theirs = to_rsatoolbox(ours)
    np.testing.assert_array_equal(theirs.dissimilarities, PAIRS)
    assert theirs.dissimilarity_measure == "crossnobis"
    assert theirs.pattern_descriptors["stimulus"] == list(LABELS)
    assert theirs.rdm_descriptors["subject"] == ["ann", "ann", "bob"] and theirs.rdm_descriptors["session"] == [1, 2, 1]
    assert [len(theirs.subset("subject", name).dissimilarities) for name in ("ann", "bob")] == [2, 1]
    again = from_rsatoolbox(theirs)
    assert (again.name, again.digest, again.measure) == (ours.name, ours.digest, ours.measure)
    theirs.dissimilarities[:] = 0
    assert ours.rdms.any()


def test_the_same_comparison_as_rsatoolbox(rsatoolbox: Any) -> None:
    from metrics.hms import hms

    model = make_reference("model", LABELS, reference().rdms[1:2] / 4)
    theirs = rsatoolbox.compare(to_rsatoolbox(model), to_rsatoolbox(reference()), method="spearman")[0]
    ours = [hms(model.rdm, rdm).value for rdm in reference().rdms]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["stimulus", "conds", "picture"])
def test_files_that_rsatoolbox_wrote(rsatoolbox: Any, tmp_path: Path, name: str) -> None:
    labels = ["zebra", "apfel", "stim10", "stim2"]  # its HDF5 files hold ASCII only
    rdms = rsatoolbox.RDMs(
        PAIRS, "euclidean", rdm_descriptors={"subject": ["a", "b", "b"]}, pattern_descriptors={name: labels}
    )
    rdms.save(str(tmp_path / "x.hdf5"), file_type="hdf5")
    found = load_reference(tmp_path / "x.hdf5")
    assert found.labels == tuple(labels) and found.subjects == ("a", "b", "b") and found.measure == "euclidean"
    np.testing.assert_array_equal(found.rdms, rdms.get_matrices())


def test_positions_and_other_objects_are_refused(rsatoolbox: Any) -> None:
    rdms = rsatoolbox.RDMs(PAIRS)
    with pytest.raises(StimuliError, match="positions only"):
        from_rsatoolbox(rdms)
    assert from_rsatoolbox(rdms, labels=LABELS, name="x").labels == LABELS
    with pytest.raises(StimuliError, match=r"got ndarray; expected rsatoolbox\.rdm\.RDMs"):
        from_rsatoolbox(PAIRS)


def test_without_rsatoolbox_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rsatoolbox.rdm", None)
    monkeypatch.setitem(sys.modules, "rsatoolbox", None)
    with pytest.raises(StimuliError, match=r"pip install 'hms-search\[rsa\]'"):
        to_rsatoolbox(reference())
