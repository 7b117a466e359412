"""Files of single trials and of the brain data: RDMs and predicted frames, read when they are there."""

import contextlib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from search.report.tables import SearchTables

LOG = "log.txt"
LINE_BYTES = 400  # of a long line


@dataclass(frozen=True)
class Brain:
    """What HMS compares with: `rdm` (n, n), categories and labels (n,), `subjects` (k, n, n) or None when not exported.

    `images`: RDMs (n, n) of the image baselines by name; empty when not exported. `title`: whose brain it is.
    `beside`: RDMs (n, n) of further references by name.
    """

    rdm: NDArray[np.float64]
    categories: NDArray[np.str_]
    labels: NDArray[np.str_]
    subjects: NDArray[np.float64] | None
    images: dict[str, NDArray[np.float64]]
    title: str = "Human IT"
    beside: dict[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class Predictions:
    """Windows of `true` and `predicted` frames (W, T, H, W, 3) uint8 with the name of each window's clip."""

    true: NDArray[np.uint8]
    predicted: NDArray[np.uint8]
    clips: list[str]


def read_brain(tables: SearchTables) -> Brain | None:
    """The reference RDM, or None when it was not exported or cannot be read."""
    arrays = _arrays(tables.directory / "brain.npz", ("human_rdm", "categories", "labels"))
    if arrays is None:
        return None
    subjects = arrays.get("subject_rdms")
    return Brain(
        rdm=arrays["human_rdm"].astype(np.float64),
        categories=arrays["categories"].astype(str),
        labels=arrays["labels"].astype(str),
        subjects=None if subjects is None else subjects.astype(np.float64),
        images=_named(arrays, "image"),
        title=str(arrays.get("reference", "Human IT")),
        beside=_named(arrays, "beside"),
    )


def _named(arrays: dict[str, np.ndarray], what: str) -> dict[str, NDArray[np.float64]]:
    names, rdms = arrays.get(f"{what}_names", np.array([])), arrays.get(f"{what}_rdms", np.array([]))
    return {str(name): rdm.astype(np.float64) for name, rdm in zip(names, rdms, strict=False)}


def read_rdm(tables: SearchTables, tid: int, labels: NDArray[np.str_] | None = None) -> NDArray[np.float64] | None:
    """The model RDM (n, n) of a trial; None when it is not there, or of other stimuli than `labels`."""
    arrays = _arrays(_folder(tables, tid) / "rdm.npz", ("rdm",))
    if arrays is None:
        return None
    own = arrays.get("labels")
    if labels is not None and own is not None and not np.array_equal(own.astype(str), labels):
        return None
    return arrays["rdm"].astype(np.float64)


def read_hms_parts(tables: SearchTables, tid: int) -> pd.DataFrame:
    """HMS of a trial's layers and steps: columns layer (empty: all), step (NA: all), hms (NaN: undefined).

    Empty where the trial has none, as those of older versions.
    """
    arrays = _arrays(_folder(tables, tid) / "rdm.npz", ("part_layer", "part_step", "part_hms")) or {}
    table = pd.DataFrame(
        {
            "layer": arrays.get("part_layer", np.array([], dtype=np.str_)).astype(str),
            "step": pd.array(arrays.get("part_step", np.array([], dtype=np.int64)), dtype="Int64"),
            "hms": arrays.get("part_hms", np.array([])).astype(np.float64),
        }
    )
    return table.assign(step=table["step"].mask(table["step"] < 0))


def read_predictions(tables: SearchTables, tid: int) -> Predictions | None:
    """Predicted frames of a trial, or None."""
    arrays = _arrays(predictions_file(tables, tid), ("true", "predicted"))
    if arrays is None or arrays["true"].shape != arrays["predicted"].shape or arrays["true"].ndim != 5:
        return None
    clips = arrays.get("clip")
    names = [""] * len(arrays["true"]) if clips is None else [str(clip) for clip in np.atleast_1d(clips)]
    return Predictions(arrays["true"], arrays["predicted"], names)


def predictions_file(tables: SearchTables, tid: int) -> Path:
    """Where the predicted frames of a trial are, if they are."""
    return _folder(tables, tid) / "predictions.npz"


def log_tail(tables: SearchTables, tid: int, lines: int) -> list[str]:
    """The last lines of a trial's log, beside its exported files or in the search's own folder; [] without one."""
    for path in (_folder(tables, tid) / LOG, tables.directory.parent / "trials" / f"{tid:06d}" / LOG):
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - lines * LINE_BYTES))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    return []


def best_networks(tables: SearchTables, metric: str, count: int, *, ascending: bool = False) -> list[int]:
    """Tids of the finished trials with the best defined values of a metric, best first; ties in order of tid."""
    done = tables.finished[tables.finished[metric].notna()]
    ordered = done.sort_values([metric, "tid"], ascending=[ascending, True])
    return [int(tid) for tid in ordered["tid"].head(count)]


def _folder(tables: SearchTables, tid: int) -> Path:
    return tables.directory / "trials" / f"{tid:06d}"


def _arrays(path: Path, required: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return arrays if all(name in arrays for name in required) else None
