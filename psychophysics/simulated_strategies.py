"""How simulated participants decide: by chance, by a baseline's rule, or rightly."""

import io
from collections import defaultdict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Picture

from psychophysics.baselines import STRATEGIES, Patch, Strategy
from psychophysics.errors import StudyError
from psychophysics.stimuli.manifest import Manifest
from search.config_section import nearest

NAMES = ("random", "perfect", *STRATEGIES)
CHANGED_BY_A_PATCH = 0.5  # a query that differs from the base image in more shows another photograph

Fetch = Callable[[str], bytes]
Preference = Callable[[Mapping[str, Any], Fetch], float]
"""(trial as a browser gets it, address -> PNG) -> above 0: right, below 0: left, 0: undecided."""


def preference(name: str, manifest: Manifest) -> Preference:
    """The strategy of this name; StudyError names those that there are.

    `perfect` knows the pictures of the right answers by their hashes, from the manifest: no page tells them.
    """
    if name == "random":
        return lambda trial, fetch: 0.0
    if name == "perfect":
        return _perfect(manifest)
    if name in STRATEGIES:
        return _by_baseline(STRATEGIES[name])
    raise StudyError(f"there is no strategy `{name}`{nearest(name, list(NAMES))}; they are {', '.join(NAMES)}")


def _perfect(manifest: Manifest) -> Preference:
    pairs = [record.pair for unit in (*manifest.units, *manifest.candidates) for record in unit.sets]
    wrong_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pair in pairs:  # units may share a base image, and one's maximum may be another's minimum
        wrong_of[pair.base.sha256, pair.maximum.sha256].add(pair.minimum.sha256)

    def prefer(trial: Mapping[str, Any], fetch: Fetch) -> float:
        base, left, right = (sha256(fetch(trial[name])).hexdigest() for name in ("base", "left", "right"))
        of_left, of_right = wrong_of.get((base, left)), wrong_of.get((base, right))
        if of_left is not None and of_right is not None:
            return float(left in of_right) - float(right in of_left)
        return float(of_right is not None) - float(of_left is not None)

    return prefer


def _by_baseline(strategy: Strategy) -> Preference:
    decided: dict[tuple[str, str, str], float] = {}

    def prefer(trial: Mapping[str, Any], fetch: Fetch) -> float:
        addresses = (trial["base"], trial["left"], trial["right"])
        if addresses not in decided:
            base, *queries = (_pixels(fetch(address)) for address in addresses)
            left, right = (_hidden(strategy, base, query) for query in queries)
            decided[addresses] = 0.0 if np.isclose(left, right, rtol=1e-9, atol=1e-12) else float(np.sign(left - right))
        return decided[addresses]

    return prefer


def _hidden(strategy: Strategy, base: NDArray[np.uint8], query: NDArray[np.uint8]) -> float:
    """What the patch covers, found where the query differs from the base image; infinite for another photograph."""
    changed = (base != query).any(axis=2)
    if changed.mean() > CHANGED_BY_A_PATCH:
        return float("inf")
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    side = int(max(np.ptp(rows), np.ptp(columns))) + 1
    top, left = (int(min(at[0], length - side)) for at, length in zip((rows, columns), changed.shape, strict=True))
    return strategy(base / 255.0, Patch(top, left, side))


def _pixels(content: bytes) -> NDArray[np.uint8]:
    with Picture.open(io.BytesIO(content)) as image:
        return np.array(image.convert("RGB"))
