"""`hms predict VIDEO`: run a network over a video and write what it says the next frames will be."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metrics.next_frame import next_frame_mse, previous_frame_mse
from prednet.checkpoint import load_checkpoint
from prednet.config import Convention
from prednet.cost import count_parameters
from prednet.data.clip import Clip, read_clip
from prednet.data.images import shown
from prednet.data.video_scan import find_cuts
from prednet.model import PredNet
from prednet.pictures import to_pixels
from prednet.rollout import rollout
from search.errors import UsageError
from search.prediction_files import FILES, Predicted, publish, write_files
from search.progress import Progress
from search.score import KERAS_SUFFIXES, read_network

USUAL_SIZE = (128, 160)  # Lotter et al.


@dataclass(frozen=True)
class PredictOptions:
    """What `hms predict` is asked for.

    Attributes:
        out: folder of the results.
        start: first frame that the network sees, counted from 0.
        frames: how many frames it sees, at most.
        extrapolate: how many more frames it makes from its own predictions.
        nt: forget everything each `nt` frames, as in training and in the MSE of a search; None: never.
        fps: frames a second to take from a video; None: all.
        size: `HEIGHTxWIDTH`; None: what the network was trained on, else the nearest to 128x160 that fits.
        convention: of Keras weights; None: as the file says.
    """

    out: Path
    start: int = 0
    frames: int = 100
    extrapolate: int = 0
    nt: int | None = None
    fps: float | None = None
    size: str | None = None
    convention: Convention | None = None


def predict_video(video: Path, weights: Path, options: PredictOptions, progress: Progress) -> str:
    """Write `frames/predicted_NNNNNN.png`, `predictions.mp4`, `strip.png` and `mse.csv`; give the text to print.

    Raises:
        UsageError, PredNetError: a file is missing or unfit, the network is broken, the folder can't be written.
    """
    if not weights.is_file():
        raise UsageError(
            f"{shown(weights)} is no file: give the network.pt of a trial (results/NAME/trials/NNNNNN/) or .hdf5"
        )
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"--out {shown(options.out)} is a file: name a folder; it is made when missing")
    model = read_network(weights, options.convention)
    height, width = frame_size(options.size, weights, model)
    clip = read_clip(
        video,
        height,
        width,
        start=options.start,
        count=options.frames + options.extrapolate,
        fps=options.fps,
        progress=progress,
    )
    seen = min(options.frames, len(clip.frames))
    if seen + options.extrapolate < 2:
        raise UsageError(
            f"{seen} frame of {shown(video)} from frame {options.start} on: the first one can't be predicted, give 2 "
            "or more (--frames, an earlier --from), or --extrapolate"
        )
    part = options.out / f".predict-{os.getpid()}"
    try:
        part.mkdir(parents=True)  # before the work, so that a folder that can't be written is known at once
        found = list(run(model, clip, seen, options.extrapolate, options.nt, progress))
        write_files(part, shown(video.name), clip, found, progress)
        publish(part, options.out)
    except OSError as error:
        raise UsageError(
            f"can't write to {shown(options.out)} ({error.strerror or error}): free some space, or choose another --out"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    facts = f"network {'/'.join(map(str, model.config.stack_sizes))}, {count_parameters(model.config)} parameters"
    return "\n".join([f"{shown(weights)}: {facts}", *_summary(clip, found, seen), *_places(options.out, len(found))])


def frame_size(asked: str | None, weights: Path, model: PredNet) -> tuple[int, int]:
    """(height, width) to run at: as asked, as trained, or near 128x160; always one that fits the network.

    Raises:
        UsageError, ModelError: what was asked for is no size, or doesn't fit the network.
    """
    if asked is not None:
        height, width = read_size(asked)
        model.config.check_frames(height, width)
        return height, width
    if weights.suffix not in KERAS_SUFFIXES and (trained := load_checkpoint(weights).get("frame_size")):
        return int(trained[0]), int(trained[1])
    divisor = 2 ** (model.config.n_layers - 1)
    height, width = (max(divisor, round(side / divisor) * divisor) for side in USUAL_SIZE)
    return height, width


def read_size(asked: str) -> tuple[int, int]:
    """(height, width) of `HEIGHTxWIDTH` as typed; UsageError when it is no size."""
    parts = asked.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise UsageError(f"--size {asked} is no size: give HEIGHTxWIDTH in pixels, such as 128x160")
    return int(parts[0]), int(parts[1])


def run(
    model: PredNet, clip: Clip, seen: int, extrapolate: int, nt: int | None, progress: Progress
) -> Iterator[Predicted]:
    """Predictions of the first `seen` frames of a clip and of `extrapolate` more, but of none before which nothing
    was seen: the first frame, or with `nt` the first of each window of `nt`.

    Raises:
        UsageError: a prediction is NaN or infinite.
    """
    nt = nt or seen
    for begin in range(0, seen, nt):
        window = clip.frames[begin : min(begin + nt, seen)]
        last = begin + nt >= seen
        for step, (prediction, _) in enumerate(rollout(model, window[None], steps=extrapolate if last else 0), begin):
            progress("predicting", step + 1, seen + extrapolate)
            if not np.isfinite(prediction).all():
                raise UsageError(
                    f"the network predicts NaN at step {step}: its weights are broken, give other --weights"
                )
            if step > begin:
                yield _compare(clip, step, seen, prediction[0])


def _compare(clip: Clip, step: int, seen: int, prediction: NDArray[np.float32]) -> Predicted:
    ahead, pixels = max(0, step - seen + 1), to_pixels(prediction)
    if step >= len(clip.frames):
        return Predicted(step, None, pixels, None, None, ahead)
    last_seen = clip.frames[min(step, seen) - 1]
    pair = np.stack([last_seen, clip.frames[step]])[None].astype(np.float32) / 255.0  # as the search's MSE has it
    error = float(next_frame_mse(np.stack([pair[0, 0], prediction])[None], pair)[0])
    return Predicted(step, clip.numbers[step], pixels, error, float(previous_frame_mse(pair)[0]), ahead)


def _summary(clip: Clip, found: list[Predicted], seen: int) -> Iterator[str]:
    size = "x".join(map(str, clip.frames.shape[1:3]))
    yield f"{shown(clip.source)}: {seen} frames from frame {clip.numbers[0]} on, {size}, {clip.rate:.4g} a second"
    yield from (f"note: {note}" for note in clip.notes)
    ordinary, ahead = [one for one in found if not one.ahead], [one for one in found if one.ahead]
    if cuts := find_cuts([one.previous for one in ordinary if one.previous is not None]):
        yield f"note: a new shot begins at frame {', '.join(str(ordinary[cut - 1].frame) for cut in cuts)}"
    if ordinary:
        yield f"MSE {_errors(ordinary, 'previous frame')}"
    known = [one for one in ahead if one.frame is not None]
    if known:
        yield f"extrapolated: MSE {_errors(known, 'last frame seen')}"
    if len(known) < len(ahead):
        yield f"{len(ahead) - len(known)} extrapolated frames lie beyond the end of the source and have no error"


def _errors(found: list[Predicted], baseline: str) -> str:
    mse, previous = (float(np.mean([getattr(one, name) for one in found])) for name in ("mse", "previous"))
    return f"{mse:.5f} over {len(found)} frames (repeating the {baseline}: {previous:.5f}; lower is better)"


def _places(out: Path, count: int) -> Iterator[str]:
    yield f"{shown(out / 'frames')}: {count} pictures"
    yield from (shown(out / name) for name in FILES)
