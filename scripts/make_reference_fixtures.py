"""Write the two small files of tests/metrics/reference_files with the programs that users write theirs with.

    pip install rsatoolbox==0.3.2 hdf5storage==0.2.2
    python scripts/make_reference_fixtures.py tests/metrics/reference_files

`rsatoolbox.h5` is by rsatoolbox, `matlab73.mat` by hdf5storage in MATLAB's 7.3 layout: a struct array and a cell.
"""

import sys
from pathlib import Path

import hdf5storage
import numpy as np
from rsatoolbox.rdm import RDMs

LABELS = ["dog", "cat", "house", "face"]
PAIRS = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1.5], [2, 4, 6, 1, 3, 5]]) / 8


def main(folder: Path) -> None:
    """Write both files into `folder`, in place of earlier ones."""
    rdms = RDMs(
        PAIRS,
        dissimilarity_measure="correlation",
        rdm_descriptors={"subject": ["ann", "ann", "bob"], "session": [1, 2, 1]},
        pattern_descriptors={"stimulus": LABELS},
    )
    rdms.save(str(folder / "rsatoolbox.h5"), file_type="hdf5", overwrite=True)
    path = folder / "matlab73.mat"
    path.unlink(missing_ok=True)
    cube = np.moveaxis(rdms.get_matrices(), 0, -1)
    structs = np.zeros((1, 3), dtype=[("RDM", object), ("name", object)])
    for index, name in enumerate(("ann", "bob", "cy")):
        structs[0, index] = (cube[:, :, index], np.str_(name))
    labels = np.array([[np.str_(label) for label in LABELS]], dtype=object)
    content = {"rdms": cube, "people": structs, "labels": labels, "measure": np.str_("crossnobis")}
    hdf5storage.savemat(str(path), content, format="7.3", oned_as="row", store_python_metadata=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
