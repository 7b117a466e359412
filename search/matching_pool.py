"""The object images of a search at its frames' size, and its matching trials: Gazoobian objects, or a folder's own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from metrics.gazoobian.dataset import prepare_gazoobian
from metrics.gazoobian.objects import ObjectSet, load_objects
from metrics.gazoobian.views import PRESETS, turned
from metrics.matching import MatchingTrials, TooFewObjects, draw_trials
from metrics.matching_legacy import draw_legacy_trials
from metrics.stimuli92 import resize_stimuli
from search.errors import UsageError
from search.metric_sections import MatchingSection
from search.paths import gazoobian_path
from search.progress import Progress


def open_pool(
    matching: MatchingSection, root: Path, height: int, width: int, progress: Progress | None = None
) -> ObjectSet:
    """The pool of a configuration: rendered under `root` where it is missing, or read from `metrics.matching.folder`.

    A folder's images of another size are fitted into the frame, on grey, with their proportions kept.
    Raises `StimuliError`: the folder, an image or the pool on disk is missing or broken.
    """
    if matching.folder is None:
        return prepare_gazoobian(
            gazoobian_path(root, matching, height, width),
            preset=matching.preset,
            objects=matching.objects,
            views=matching.views,
            height=height,
            width=width,
            seed=matching.seed,
            dials=matching.dials,
            progress=progress,
        )
    own = load_objects(matching.folder)
    if own.images.shape[1:3] == (height, width):
        return own
    return replace(own, images=resize_stimuli(own.images, height, width, "pad"))


def pool_trials(pool: ObjectSet, matching: MatchingSection) -> MatchingTrials:
    """The trials of a configuration over its pool. Raises `TooFewObjects` with the numbers."""
    if matching.mode == "legacy":
        return draw_legacy_trials(pool, n_trials=matching.trials, gallery=matching.gallery, seed=matching.seed)
    return draw_trials(
        pool,
        n_trials=matching.trials,
        gallery=matching.gallery,
        seed=matching.seed,
        same_family=matching.same_family,
    )


def parsed_dials(given: Sequence[str]) -> dict[str, float]:
    """`["yaw=40", "mixed.hue=0.2"]` as numbers by name. Raises `UsageError`, `StimuliError` for what is no dial."""
    dials = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            dials[name.strip()] = float(value)
        except ValueError:
            raise UsageError(f"--dial {text}: expected a name and a width, such as --dial yaw=40") from None
    turned(PRESETS["mix_l"], dials)
    return dials


def folder_summary(folder: Path) -> tuple[ObjectSet, str]:
    """A folder of own images, and what can be made of it in words. Raises `StimuliError` as `open_pool`."""
    objects = load_objects(folder)
    counts = Counter(row.object for row in objects.rows)
    height, width = objects.images.shape[1:3]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(row.kind for row in objects.rows).items()))
    lines = [f"{folder}: {len(objects.rows)} images of {len(counts)} objects, {height}x{width} pixels ({kinds})"]
    single = sorted(name for name, count in counts.items() if count == 1)
    if single:
        shown = ", ".join(single[:3]) + (", ..." if len(single) > 3 else "")
        lines.append(f"note: one image only of {shown}: distractors, never targets")
    most = _largest_gallery(objects)
    if most is None:
        lines.append("warning: no object has two different images to match: give each two or more views")
    else:
        lines.append(f"use: --set metrics.matching.folder={folder} --set metrics.matching.gallery={most} (at most)")
    return objects, "\n".join(lines)


def _largest_gallery(objects: ObjectSet) -> int | None:
    """The largest gallery, with as many of the target's family as there are, up to 7; None where there is none."""
    for gallery in range(min(objects.object_count, 50), 1, -1):
        try:
            draw_trials(objects, n_trials=4, gallery=gallery, seed=0, same_family=min(7, gallery - 1))
        except TooFewObjects:
            continue
        return gallery
    return None
