"""HMS: how alike a network and human inferior temporal cortex find 92 images (Blanchard et al., CVPR 2019).

The same features are compared with every further reference RDM of the search: each is a metric of its own, `hms_NAME`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metrics.decomposition import GramGrid
from metrics.hms import hms_from_gram
from metrics.hms_report import Part, hms_parts
from metrics.metric import Inputs, Metric, Network
from metrics.rdm import FloatArray, StreamedGram


def measure(network: Network, inputs: Inputs) -> dict[str, Any]:
    """HMS over R of all layers and time steps but the first, against the human RDM and each further reference.

    Columns: hms, rho_a and their like for the references; `rdm`, the network's RDM (n, n) float32, where it is defined.
    """
    labels = inputs.stimulus_labels
    gram = StreamedGram(len(labels))
    for _, _, features in network.features(inputs.stimulus_images, frames=inputs.stimulus_frames):
        gram.update(features)
    # The images come in the order of `labels`, and so do all RDMs.
    result = hms_from_gram(gram, inputs.human_rdm, labels=labels, reference_labels=labels)
    row: dict[str, Any] = {"hms": result.value, "hms_status": result.status, "rho_a": result.rho_a}
    for name, rdm in inputs.references.items():
        beside = hms_from_gram(gram, distances(rdm), labels=labels, reference_labels=labels)
        row |= {f"hms_{name}": beside.value, f"hms_{name}_status": beside.status, f"hms_{name}_rho_a": beside.rho_a}
    return row | ({"rdm": gram.rdm().astype(np.float32)} if result.value is not None else {})


def by_layer_and_step(network: Network, inputs: Inputs) -> list[Part]:
    """HMS of R of each layer (`R0` lowest) and each time step but the first, against the human RDM alone."""
    grid = GramGrid(len(inputs.stimulus_labels))
    for step, layer, features in network.features(inputs.stimulus_images, frames=inputs.stimulus_frames):
        grid.update(f"R{layer}", features, step)
    return hms_parts(grid, np.asarray(inputs.human_rdm, dtype=np.float64))


def distances(rdm: ArrayLike) -> FloatArray:
    """An RDM (n, n) of any unit and sign in the same rank order within [0, 2], where `metrics.hms` expects it."""
    given = np.asarray(rdm, dtype=np.float64)
    pairs = given[np.triu_indices(len(given), 1)]
    low, high = float(pairs.min()), float(pairs.max())
    if low >= 0 and high <= 2:
        return given
    scaled = 2 * (given - low) / (high - low)
    np.fill_diagonal(scaled, 0.0)
    return scaled


METRIC = Metric(
    "hms",
    "Human-model similarity",
    "Spearman ρ",
    True,
    -1.0,
    1.0,
    "Blanchard, Kinnison, RichardWebster, Bashivan & Scheirer (2019). "
    "A Neurobiological Evaluation Metric for Neural Network Model Search. CVPR.",
    measure,
    title="HMS",
    more=("rho_a", "rdm"),
)


def beside_reference(name: str) -> Metric:
    """The metric `hms_NAME`: the similarity with the reference of that name, which `measure` gives beside HMS."""
    label, title = f"Similarity with {name}", f"HMS ({name})"
    return replace(METRIC, name=f"hms_{name}", label=label, title=title, measure=None, more=(), timed_as="hms")
