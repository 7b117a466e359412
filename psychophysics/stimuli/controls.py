"""Controls of a query pair: do labels or whole-image changes give the answer away?"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psychophysics.networks import StudyNetwork
from psychophysics.stimuli.manifest import Controls
from psychophysics.stimuli.pool import ImagePool


def image_labels(
    network: StudyNetwork, pool: ImagePool, numbers: Sequence[int], images: NDArray[np.uint8]
) -> list[str] | None:
    """A label for each image: its folder, or the class that the network finds most likely; None without classes."""
    if pool.section.labels == "folders":
        return [pool.folder_label(number) for number in numbers]
    scores = network.class_scores(images)
    return None if scores is None else [f"class {int(best)}" for best in scores.argmax(axis=1)]


def measure_controls(
    network: StudyNetwork, layer: str, trio: NDArray[np.uint8], query_label: str | None, labels: Sequence[str] | None
) -> Controls:
    """The controls of one query pair.

    Args:
        network: under study.
        layer: of the unit.
        trio: (3, h, w, 3) uint8: base, minimum, maximum.
        query_label: of the base.
        labels: of the natural references.
    """
    overlap = None if labels is None else float(np.mean([label == query_label for label in labels]))
    scores = network.class_scores(trio)
    if scores is not None:
        best = scores[0].argmax()
        low, high = (bool(best in np.argsort(-occluded)[:5]) for occluded in scores[1:])
        return Controls(label_overlap=overlap, top5_minimum=low, top5_maximum=high)
    base, low_units, high_units = network.layer_activation(trio, layer)
    return Controls(
        label_overlap=overlap,
        correlation_minimum=_correlation(base, low_units),
        correlation_maximum=_correlation(base, high_units),
    )


def _correlation(first: NDArray[np.float32], second: NDArray[np.float32]) -> float | None:
    if first.std() == 0 or second.std() == 0:
        return None
    return float(np.corrcoef(first.astype(np.float64), second.astype(np.float64))[0, 1])
