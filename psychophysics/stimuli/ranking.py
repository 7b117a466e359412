"""From the activations of a pool to image sets: one query and its reference images each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from psychophysics.errors import StimuliError

_FORBIDDEN, _REPEATED = 1e6, 10.0  # costs beside random ones in 0..1
_CHOICE = 2  # images to rank for each one that is used


@dataclass(frozen=True)
class ImageSet:
    """Numbers of pool images: the query, and references from the second most activating bin to the least."""

    query: int
    references: tuple[int, ...]


def form_sets(
    activations: NDArray[np.float32],
    photo_of: NDArray[np.intp],
    *,
    sets: int,
    references: int,
    rng: np.random.Generator,
) -> list[ImageSet]:
    """Rank the images; the best `sets` are queries, each further `sets` give one reference to each query.

    With 20 sets of 9 references: the top 200 in 10 bins of 20 (Zimmermann et al. 2021). No image is used twice, and no
    reference is a crop of its query's photograph. To that end at most c images of one photograph enter the ranking: as
    few as leave twice as many images as are needed, and never more than `sets`. Where each image has a photograph of
    its own this changes nothing.
    Within a bin references go to queries at random, but away from sets that already hold their photograph.

    Args:
        activations: (n,) of one unit.
        photo_of: (n,) photograph of each image.
        sets: how many to form.
        references: images beside each query.
        rng: of the assignment.

    Raises:
        StimuliError: the pool is too small.
    """
    needed = sets * (references + 1)
    counts = np.bincount(photo_of)
    # With at most `sets` images a photograph, Hall's condition holds: each bin can be given out without a clash.
    most = next((c for c in range(1, sets) if np.minimum(counts, c).sum() >= _CHOICE * needed), sets)
    usable = int(np.minimum(counts, most).sum())
    if usable < needed:
        raise StimuliError(
            f"the pool has {len(photo_of)} images of {len(counts)} photographs, of which {usable} can be used (at most "
            f"{sets} of one photograph), but {sets} sets of 1 query and {references} references need {needed}: add "
            "photographs, raise images.crops_per_photo, or lower design.ranked_sets and design.sets"
        )
    chosen = _best(activations, photo_of, needed, most)
    bins = chosen.reshape(references + 1, sets)
    queries = rng.permutation(bins[0])
    members = [[int(query)] for query in queries]
    for images in bins[1:]:
        photos = photo_of[images]
        cost = rng.random((sets, sets))
        for row, held in enumerate(members):
            for earlier in held[1:]:
                cost[row, photos == photo_of[earlier]] += _REPEATED
            cost[row, photos == photo_of[held[0]]] += _FORBIDDEN
        rows, columns = linear_sum_assignment(cost)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            members[row].append(int(images[column]))
    return [ImageSet(held[0], tuple(held[1:])) for held in members]


def _best(activations: NDArray[np.float32], photo_of: NDArray[np.intp], needed: int, most: int) -> NDArray[np.intp]:
    """The `needed` most activating images, from the highest down, at most `most` of a photograph."""
    order = np.argsort(-activations, kind="stable")
    taken = np.zeros(photo_of.max() + 1, int)
    chosen = []
    for image in order:
        if taken[photo_of[image]] < most:
            taken[photo_of[image]] += 1
            chosen.append(image)
            if len(chosen) == needed:
                break
    return np.asarray(chosen, np.intp)
