"""The files of `hms predict`: predicted frames, a film, a strip and a table; put in place when all are written."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.clip import Clip
from prednet.film import save_film
from prednet.pictures import film_picture, save_strip
from search.progress import Progress

FILES = ("strip.png", "predictions.mp4", "mse.csv")
COLUMNS = ("step", "frame", "mse", "previous_frame_mse", "extrapolated")
STRIP_COLUMNS = 10
_SEEN_COLUMNS = 3  # ordinary predictions that the strip shows before extrapolation sets in


@dataclass(frozen=True)
class Predicted:
    """One predicted frame: `step` counts the frames of the run from 0, `frame` those of the source.

    `mse` and `previous` (the error of repeating the last frame that the network saw) are for pixels in [0, 1]; with
    `frame` they are None where the source has no such frame. `ahead` is 0 for ordinary predictions, 1, 2, ... for
    extrapolated ones.
    """

    step: int
    frame: int | None
    pixels: NDArray[np.uint8]  # (H, W, 3)
    mse: float | None
    previous: float | None
    ahead: int


def write_files(folder: Path, name: str, clip: Clip, found: Sequence[Predicted], progress: Progress) -> None:
    """Write all files into a folder that exists; `name` is the video's, to stand on the pictures.

    Raises:
        OSError, DataError: a file can't be written.
    """
    (folder / "frames").mkdir()
    with (folder / "mse.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for one in found:
            table.writerow([one.step, one.frame, one.mse, one.previous, "yes" if one.ahead else "no"])
            Image.fromarray(one.pixels).save(folder / "frames" / f"predicted_{one.step:06d}.png")
    save_film(folder / "predictions.mp4", _film(name, clip, found, progress), rate=clip.rate)
    columns = strip_columns(found)
    save_strip(
        folder / "strip.png",
        clip.frames[[one.step for one in columns if one.frame is not None]],
        np.stack([one.pixels for one in columns]),
        title=name,
        captions=_captions(columns),
    )


def publish(folder: Path, out: Path) -> None:
    """Move the files of `write_files` to `out`; pictures of a former, longer run go, other files stay."""
    (out / "frames").mkdir(exist_ok=True)
    new = sorted(file.name for file in (folder / "frames").iterdir())
    for name in (*(f"frames/{name}" for name in new), *FILES):
        (folder / name).replace(out / name)
    for old in (out / "frames").glob("predicted_*.png"):
        if old.name not in new:
            old.unlink()


def strip_columns(found: Sequence[Predicted]) -> Sequence[Predicted]:
    """Ten steps: where extrapolation sets in, or else the last ones, for which the network has seen most."""
    first = next((index for index, one in enumerate(found) if one.ahead), len(found))
    start = max(0, min(first - _SEEN_COLUMNS, len(found) - STRIP_COLUMNS))
    return found[start : start + STRIP_COLUMNS]


def _captions(columns: Sequence[Predicted]) -> dict[str, list[str]]:
    extrapolates = any(one.ahead for one in columns)
    captions = {
        "frame": [_number(one) for one in columns],
        "MSE": [_error(one.mse) for one in columns],
        f"MSE of the {'last frame seen' if extrapolates else 'previous frame'}": [_error(o.previous) for o in columns],
    }
    if extrapolates:
        captions["extrapolated"] = [f"+{one.ahead}" if one.ahead else "" for one in columns]
    return captions


def _film(name: str, clip: Clip, found: Sequence[Predicted], progress: Progress) -> Iterator[NDArray[np.uint8]]:
    for count, one in enumerate(found, 1):
        baseline = "last frame seen" if one.ahead else "previous frame"
        footer = f"frame {_number(one)}   MSE {_error(one.mse)}   ({baseline}: {_error(one.previous)})"
        footer += f"   extrapolated +{one.ahead}" if one.ahead else ""
        yield film_picture(None if one.frame is None else clip.frames[one.step], one.pixels, name, footer)
        progress("drawing", count, len(found))


def _number(one: Predicted) -> str:
    return "-" if one.frame is None else str(one.frame)


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
