"""The small files that a finished trial leaves for reports: its RDM and a few predicted frames."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metrics.hms_report import Part
from prednet.data.sequences import Windows
from prednet.features import predict
from prednet.model import PredNet

SHOWN_WINDOWS = 3


def write_rdm(folder: Path, rdm: NDArray[np.float32], labels: Sequence[str], parts: Sequence[Part] = ()) -> None:
    """`rdm.npz`: the model's RDM over the n stimuli, (n, n) float32, and their labels in its order.

    Of the `parts` of HMS: part_layer, empty for all layers; part_step, -1 for all steps; part_hms, NaN where undefined.
    """
    _write(
        folder / "rdm.npz",
        rdm=rdm,
        labels=np.array(labels),
        part_layer=np.array([part.layer or "" for part in parts], dtype=np.str_),
        part_step=np.array([-1 if part.step is None else part.step for part in parts], dtype=np.int64),
        part_hms=np.array([np.nan if part.result.value is None else part.result.value for part in parts]),
    )


def write_predictions(folder: Path, model: PredNet, windows: Windows) -> None:
    """`predictions.npz`: true and predicted frames, (W, T, H, W, 3) uint8, of evenly spaced evaluation windows."""
    count = min(SHOWN_WINDOWS, len(windows))
    indices = np.linspace(0, len(windows) - 1, count).round().astype(np.int64)
    true = windows.take(indices)
    predicted = np.clip(predict(model, true) * 255.0, 0.0, 255.0).round().astype(np.uint8)
    clips = np.array([recording_of(windows, int(index)) for index in indices])
    _write(folder / "predictions.npz", true=true, predicted=predicted, clip=clips)


def recording_of(windows: Windows, index: int) -> str:
    """The name of the recording from which a window was cut."""
    start = windows.starts[index]
    recordings = windows.split.recordings
    return next(r.name for r in recordings if r.offset <= start < r.offset + r.length)


def _write(path: Path, **arrays: NDArray[np.generic]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part.npz")
    np.savez_compressed(temporary, **arrays)  # type: ignore[arg-type]
    temporary.replace(path)
