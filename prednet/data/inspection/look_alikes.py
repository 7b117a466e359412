"""Recordings that look alike: one recording under two names would lie on both sides of a split."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.inspection.findings import FoundRecording
from prednet.data.sources import Progress
from prednet.data.video_scan import CUT_FLOOR
from prednet.errors import DataError

SAMPLES = 5
MOST = 20  # pairs that are named
_SIZE = (80, 24)  # width, height
_SAME = 0.0005


def look_alikes(recordings: Sequence[FoundRecording], progress: Progress) -> list[str]:
    """A sentence for each two recordings of different names whose frames are nearer than a cut.

    Of each recording five frames, evenly spaced, first and last included, are compared as grey pictures of 80x24
    pixels: below an MSE of 0.02 (what counts as a cut, see `find_cuts`) they may be one recording.
    """
    sampled = []
    for done, recording in enumerate(recordings):
        progress("comparing recordings", done, len(recordings))
        if (pictures := _samples(recording)) is not None:
            sampled.append((recording, pictures))
    found = []
    for (one, a), (other, b) in combinations(sampled, 2):
        if one.name == other.name:
            continue
        errors = np.square(a[:, None] - b[None]).mean(axis=(2, 3))
        nearest = float(errors.min())
        if nearest < _SAME:
            found.append(f"{one.name} and {other.name} hold the same frames: one recording under two names")
        elif nearest < CUT_FLOOR:
            found.append(f"{one.name} and {other.name} may be one recording: {_how(errors)}")
    progress("comparing recordings", len(recordings), len(recordings))
    told = [f"{text}; with one in training and one held out, a score says nothing of new ones" for text in found[:MOST]]
    return told + ([f"and {len(found) - MOST} more pairs of recordings that are alike"] if len(found) > MOST else [])


def _how(errors: NDArray[np.float64]) -> str:
    where = np.unravel_index(errors.argmin(), errors.shape)
    ends = {
        (SAMPLES - 1, 0): "the first ends as the second begins",
        (0, SAMPLES - 1): "the second ends as the first begins",
    }
    place = ends.get((int(where[0]), int(where[1])), "frames of both are alike")
    return f"{place} (MSE {errors.min():.3f} at 80x24 pixels, less than a cut)"


def _samples(recording: FoundRecording) -> NDArray[np.float64] | None:
    """(SAMPLES, 24, 80) grey in [0, 1]; None when a frame cannot be read."""
    if recording.read is None or not recording.frames:
        return None
    try:
        frames = [recording.read(index) for index in sample_indices(recording.frames, SAMPLES)]
    except DataError:
        return None
    small = [Image.fromarray(frame).convert("L").resize(_SIZE, Image.Resampling.BILINEAR) for frame in frames]
    return np.stack([np.asarray(image, np.float64) / 255 for image in small])


def sample_indices(frames: int, count: int) -> list[int]:
    """`count` frames evenly spaced over a recording, first and last included."""
    return [round(index * (frames - 1) / (count - 1)) for index in range(count)]
