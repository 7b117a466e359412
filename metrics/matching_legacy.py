"""Object matching as the code of Blanchard et al. (2019) does it (mode `legacy`), to reproduce its numbers.

1. An object has 30 places but 12 images. How often each occurs is inferred, not published: ten images once and two ten
   times each give the reported share of identical pictures (2.).
2. Probe and target are drawn independently from the object's 30 places. They are the same picture with probability
   (10 * 1 + 2 * 100) / 900 = 7 / 30 = 0.233 (`FLOOR`); in the 500 trials of the paper's code it was 0.236. Whatever
   tells pictures apart at all is right then.
3. The gallery is drawn from all places of other objects: pictures and objects come more than once, of any kind.
4. An answer is counted as right where a signed cosine is not negative, wrong answers with their sign turned: a wrong
   answer with a cosine of 0 or less is right, a right one with a negative cosine is wrong. The first of equal cosines
   is the answer. A network whose features are all zero (their cosine counts as 0) scores 1.00.
"""

import random

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.objects import PREPARE, ObjectSet
from metrics.matching_trials import MatchingTrials, TooFewObjects, rows_by_object

IMAGES = 12
MANY = 10  # places of each of the last two images
PLACES = (*range(IMAGES - 2), *([IMAGES - 2] * MANY), *([IMAGES - 1] * MANY))  # 30 places -> number of the image
FLOOR = 7 / 30  # probability that probe and target are the same picture
SAME, OTHER = "identical", "distinct"  # kinds of trials: is the probe's picture the target's


def draw_legacy_trials(objects: ObjectSet, *, n_trials: int = 500, gallery: int = 50, seed: int) -> MatchingTrials:
    """Trials with the published code's multiplicities; an object's last two images in the set's order have ten places.

    The kind of a trial is `identical` or `distinct`. Raises `TooFewObjects` for objects with another number of images
    than 12, and for fewer places than a gallery needs.
    """
    rows = rows_by_object(objects, lambda row: True)
    for name, found in rows.items():
        if len(found) != IMAGES:
            raise TooFewObjects(
                f"Mode legacy shows {IMAGES} images of each object; {name} has {len(found)}. Make them with {PREPARE} "
                f"--views {IMAGES}, or use mode clean."
            )
    others = len(PLACES) * (len(rows) - 1)
    if n_trials < 1 or gallery < 2 or others < gallery:
        raise TooFewObjects(
            f"trials {n_trials}, gallery {gallery}, {len(rows)} objects: mode legacy needs a trial, a gallery of 2 or "
            f"more and {gallery} places of other objects; there are {max(others, 0)}."
        )
    rng = random.Random(seed)
    places = {name: [found[image] for image in PLACES] for name, found in rows.items()}
    names = list(places)
    probe, target, galleries, position = [], [], [], []
    for _ in range(n_trials):
        own = names[int(rng.random() * len(names))]
        probe.append(places[own][int(rng.random() * len(PLACES))])
        target.append(places[own][int(rng.random() * len(PLACES))])
        shown = _distinct_places(rng, [name for name in names if name != own], places, gallery)
        position.append(int(rng.random() * gallery))
        shown[position[-1]] = target[-1]
        galleries.append(shown)
    pixels = np.array([row.sha256 for row in objects.rows])
    same = pixels[np.array(probe)] == pixels[np.array(target)]
    return MatchingTrials(
        probe=np.array(probe, dtype=np.int64),
        gallery=np.array(galleries, dtype=np.int64),
        target=np.array(position, dtype=np.int64),
        kind=np.where(same, SAME, OTHER),
        seed=seed,
        same_family=None,
        digest=objects.digest,
        mode="legacy",
    )


def identical_share(trials: MatchingTrials) -> float:
    """Share of legacy trials whose probe and target are the same picture: the floor of these very trials."""
    return float(np.mean(trials.kind == SAME))


def legacy_correct(cosines: NDArray[np.float64], target: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Answers (n,) that the published code counts as right, from cosines (n, gallery) and the targets' places (n,)."""
    answer = cosines.argmax(axis=1)
    signed = np.where(answer == target, 1.0, -1.0) * cosines[np.arange(len(cosines)), answer]
    return signed >= 0.0


def _distinct_places(rng: random.Random, others: list[str], places: dict[str, list[int]], count: int) -> list[int]:
    """Rows at `count` different places of other objects; the same picture may stand at several."""
    chosen: dict[int, int] = {}
    total = len(others) * len(PLACES)
    while len(chosen) < count:
        number = int(rng.random() * total)
        chosen.setdefault(number, places[others[number // len(PLACES)]][number % len(PLACES)])
    return list(chosen.values())
