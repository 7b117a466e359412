"""The trials of the object-matching task: a probe, and a gallery that holds the same object once.

Task: Tenenbaum et al. 2011 and Blanchard et al. 2019; drawn so that nothing but the object's identity tells the
target from the distractors (mode `clean`): the probe is never its target's image, every distractor is another
object, seen under the same kind of change as the target, and a fixed number of them share the target's family.
"""

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import PREPARE, ObjectSet, ObjectView
from metrics.gazoobian.views import CANONICAL, MIXED, PURE

Mode = Literal["clean", "legacy"]
ANY = "any"  # the kind of views whose names are not ours

T = TypeVar("T")


class TooFewObjects(MetricError):
    """The set cannot fill the galleries that were asked; the message gives the numbers."""


@dataclass(frozen=True)
class MatchingTrials:
    """Trials as rows of an object set of N images.

    probe (n,) int64; gallery (n, g) int64; target (n,) int64, the target's place in its gallery; kind (n,) str;
    same_family: distractors that share the target's family, None where families are unknown; digest: of the set.
    mode: how they were drawn and how answers are counted; `legacy`: see `metrics.matching_legacy`.
    """

    probe: NDArray[np.int64]
    gallery: NDArray[np.int64]
    target: NDArray[np.int64]
    kind: NDArray[np.str_]
    seed: int
    same_family: int | None
    digest: str
    mode: Mode = "clean"

    @property
    def chance(self) -> float:
        """Expected accuracy of guessing."""
        return 1.0 / self.gallery.shape[1]


def draw_trials(
    manifest: ObjectSet, *, n_trials: int = 500, gallery: int = 50, seed: int, same_family: int = 7
) -> MatchingTrials:
    """Draw trials, the same for the same set and seed on every machine.

    Kinds come in equal shares, objects in turn. Pure kinds: the probe is the canonical image, the target one of the
    kind's images of the same object; mixed (and `any` in folders with other view names): both are of that kind.
    Raises `TooFewObjects` with the numbers when the set cannot give such galleries.
    """
    split = same_family if all(row.family for row in manifest.rows) else None
    if n_trials < 1 or gallery < 2 or not 0 <= (split or 0) < gallery:
        raise MetricError(
            f"trials {n_trials}, gallery {gallery}, same_family {same_family}: need at least one trial, a gallery of "
            "at least 2, and fewer distractors of the target's family than gallery images."
        )
    rng = random.Random(seed)
    pools = {kind: pool for kind in _kinds(manifest) if (pool := _Pool.of(manifest, kind)).pairs}
    if not pools:
        raise TooFewObjects(
            f"None of {manifest.object_count} objects has two different images to match (a canonical and a changed "
            f"one, or two mixed). Make a set with more views: {PREPARE}"
        )
    turns = {kind: _Turns(rng, pool.eligible(gallery, split)) for kind, pool in pools.items()}
    kinds = [list(pools)[k % len(pools)] for k in range(n_trials)]
    probes, galleries, targets = [], [], []
    for kind in kinds:
        pool, name = pools[kind], turns[kind].next()
        probe, target = _pick(rng, pool.pairs[name])
        others = [_pick(rng, pool.images[other]) for other in pool.distractors(rng, name, gallery, split)]
        place = int(rng.random() * gallery)
        probes.append(probe)
        galleries.append([*others[:place], target, *others[place:]])
        targets.append(place)
    return MatchingTrials(
        probe=np.array(probes, dtype=np.int64),
        gallery=np.array(galleries, dtype=np.int64),
        target=np.array(targets, dtype=np.int64),
        kind=np.array(kinds),
        seed=seed,
        same_family=split,
        digest=manifest.digest,
    )


def write_trials(file: Path, trials: MatchingTrials) -> None:
    """Write trials as JSON: image numbers are rows of manifest.csv, from 0. Written beside the file, then renamed."""
    record = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in asdict(trials).items()}
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")
    temporary.replace(file)


@dataclass(frozen=True)
class _Pool:
    """What one kind of trial draws from."""

    kind: str
    images: dict[str, list[int]]  # object -> rows of this kind
    pairs: dict[str, list[tuple[int, int]]]  # object -> (probe, target) of different pixels
    family: dict[str, str]

    @classmethod
    def of(cls, manifest: ObjectSet, kind: str) -> "_Pool":
        images = rows_by_object(manifest, lambda row: row.kind == kind)
        probes = images if kind not in PURE else rows_by_object(manifest, lambda row: row.kind == CANONICAL)
        pixels = [row.sha256 for row in manifest.rows]
        pairs = {
            name: found
            for name, targets in images.items()
            if (found := [(p, t) for p in probes.get(name, []) for t in targets if pixels[p] != pixels[t]])
        }
        return cls(kind, images, pairs, {row.object: row.family for row in manifest.rows})

    def eligible(self, gallery: int, same_family: int | None) -> list[str]:
        """Objects that can be a target: enough others inside and outside of their family."""
        needs = (gallery - 1, 0) if same_family is None else (gallery - 1 - same_family, same_family)
        names = []
        for name in self.pairs:
            kin = sum(self._kin(name, other, same_family) for other in self.images)
            if len(self.images) - 1 - kin >= needs[0] and kin >= needs[1]:
                names.append(name)
        if not names:
            raise TooFewObjects(
                f"A gallery of {gallery} needs {gallery - 1} other objects with {self.kind} images"
                f"{self._needed_kin(same_family)}. The set has {len(self.images)} such objects, "
                f"{len(self.pairs)} of them with a pair to match. "
                f"Set a smaller gallery or same_family, or give more objects ({PREPARE} --objects N)."
            )
        return names

    def distractors(self, rng: random.Random, target: str, gallery: int, same_family: int | None) -> list[str]:
        """Names of `gallery` - 1 distinct other objects in random order."""
        others = [name for name in self.images if name != target]
        if same_family is None:
            return _sample(rng, others, gallery - 1)
        kin = [name for name in others if self._kin(target, name, same_family)]
        strangers = [name for name in others if not self._kin(target, name, same_family)]
        chosen = _sample(rng, kin, same_family) + _sample(rng, strangers, gallery - 1 - same_family)
        return _sample(rng, chosen, len(chosen))

    def _needed_kin(self, same_family: int | None) -> str:
        if same_family is None:
            return ""
        sizes = Counter(self.family[name] for name in self.images).values()
        return (
            f", {same_family} of them from the target's family; "
            f"the set's families have {min(sizes)} to {max(sizes)} objects"
        )

    def _kin(self, name: str, other: str, same_family: int | None) -> bool:
        return same_family is not None and other != name and self.family[other] == self.family[name]


class _Turns:
    """Names in random order, all of them before any comes again."""

    def __init__(self, rng: random.Random, names: Sequence[str]) -> None:
        self._rng, self._names, self._left = rng, names, list[str]()

    def next(self) -> str:
        if not self._left:
            self._left = _sample(self._rng, self._names, len(self._names))
        return self._left.pop()


def _kinds(manifest: ObjectSet) -> list[str]:
    present = {row.kind for row in manifest.rows}
    return [kind for kind in (*PURE, MIXED, ANY) if kind in present]


def rows_by_object(manifest: ObjectSet, wanted: Callable[[ObjectView], bool]) -> dict[str, list[int]]:
    """Rows of the wanted images of each object, in order."""
    rows: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(manifest.rows):
        if wanted(row):
            rows[row.object].append(number)
    return dict(rows)


def _pick(rng: random.Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def _sample(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    """`count` distinct items in random order. Of `random`, only the stream of random() is promised for ever."""
    left = list(items)
    return [left.pop(int(rng.random() * len(left))) for _ in range(count)]
