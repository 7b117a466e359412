"""What a trained network says about images and videos: features for the metrics, and predicted frames.

Images are shown as static clips: the same frame at every step (Blanchard et al. 2019). Features are the R units;
those of the first step are dropped, since they come before anything was seen.

Since nothing was seen, the first R and C are computed for a batch of 1 and serve all images of a call.
Beyond them two sets of images share nothing: the stimuli of HMS, which need all layers at once, and the objects of
matching, which need the top one, run one after the other, in less memory than one common pass would take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from prednet.errors import DataError, ModelError
from prednet.inference import Inference
from prednet.model import PredNet, State, check_shape
from prednet.rollout import frame_of, rollout


def static_clip_features(
    model: PredNet,
    images: NDArray[np.uint8],
    *,
    nt: int = 5,
    batch_size: int | None = None,
    layers: Sequence[int] | None = None,
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """R units of all images, step by step and layer by layer, so that features are never all in memory.

    All batches advance in lockstep: between two steps only R and C of each image are kept, of which R is the features.

    Args:
        model: on any device; its weights are read when the first features are asked for.
        images: (n, H, W, C) uint8, of a size that fits the network.
        nt: steps of the clip, at least 2.
        batch_size: images in a pass; changes memory and speed, not the features. None: see `fitting_batch`.
        layers: those to yield; None: all.

    Yields:
        (t, layer, features) for t = 1..nt-1: float32 (n, R_l * h * w), flattened (channel, row, column).

    Raises:
        DataError, ModelError: images of another type or size, nt below 2.
    """
    wanted = range(model.config.n_layers) if layers is None else sorted(set(layers))
    clips = _Clips(model, images, nt, batch_size)
    units = [clips.first] * len(clips.batches)
    for t in range(1, nt):
        lowest = min(wanted) if t == nt - 1 else 0
        for index, batch in enumerate(clips.batches):
            units[index] = clips.advance(units[index], batch, lowest)
        for layer in wanted:
            yield t, layer, _gather([r[layer] for r, _ in units])


def top_layer_features(
    model: PredNet, images: NDArray[np.uint8], nt: int = 5, batch_size: int | None = None
) -> NDArray[np.float32]:
    """R units of the top layer of static clips: (nt - 1, n, d) float32; arguments as `static_clip_features`.

    Each batch runs through the whole clip before the next one starts, so that memory is that of one batch and
    of the result.
    """
    clips = _Clips(model, images, nt, batch_size)
    top = model.config.n_layers - 1
    features = []
    for batch in clips.batches:
        units, steps = clips.first, []
        for t in range(1, nt):
            units = clips.advance(units, batch, top if t == nt - 1 else 0)
            steps.append(_gather([units[0][top]]))
        features.append(np.stack(steps))
    return np.concatenate(features, axis=1)


def predict(model: PredNet, windows: NDArray[np.uint8], *, batch_size: int | None = None) -> NDArray[np.float32]:
    """The prediction of every frame, made before it was seen.

    Args:
        model: on any device.
        windows: (B, T, H, W, C) uint8.
        batch_size: windows in a pass; None: see `fitting_batch`.

    Returns:
        (B, T, H, W, C) float32 in [0, 1]; at t = 0 nothing was seen, leave it out of every score.

    Raises:
        DataError, ModelError: windows of another type or size.
    """
    _check_pixels(windows, 5)
    size = batch_size or fitting_batch(model, *windows.shape[2:4])
    predictions = np.empty(windows.shape, np.float32)
    for start in range(0, len(windows), size):
        part = slice(start, start + size)
        for t, step in enumerate(rollout(model, windows[part])):
            predictions[part, t] = step.prediction
    return predictions


def fitting_batch(model: PredNet, height: int, width: int) -> int:
    """Images in a pass: what fits into a CPU's caches, 4 frames of 128x160 or as many pixels; 16 times that on a GPU.

    On 2 cores and 3/48/96/192 channels: 196 GFLOP/s at batches of 1 to 4, 180 at 8, 173 at 16.
    """
    on_cpu = next(model.parameters()).device.type == "cpu"
    pixels = 4 * 128 * 160 * (1 if on_cpu else 16)
    return min(max(pixels // (height * width), 1), 256)


class _Clips:
    """Batches of images, and the step that a static clip repeats."""

    def __init__(self, model: PredNet, images: NDArray[np.uint8], nt: int, batch_size: int | None) -> None:
        _check_pixels(images, 4)
        if nt < 2:
            raise ModelError(
                f"clips of {nt} frame(s) have no features, since the first step is dropped: give 2 or more"
            )
        check_shape(frame_of(model, images[:1])[:, None], model.config)
        size = batch_size or fitting_batch(model, *images.shape[1:3])
        self.model, self.net = model, Inference(model)
        self.batches = [images[start : start + size] for start in range(0, len(images), size)]
        self.first = self.net.top_down(self.net.initial_state(*images.shape[1:3]))  # R and C of t = 0, batch of 1

    def advance(
        self, units: tuple[list[Tensor], list[Tensor]], images: NDArray[np.uint8], lowest: int
    ) -> tuple[list[Tensor], list[Tensor]]:
        """(R, C) of the next step: the errors that the images cause, then top-down to the lowest layer asked for."""
        r, c = units
        e = self.net.bottom_up(r, frame_of(self.model, images)).e
        return self.net.top_down(State(r, c, e), lowest=lowest)


def _check_pixels(pixels: NDArray[np.uint8], ndim: int) -> None:
    if pixels.dtype != np.uint8 or pixels.ndim != ndim or len(pixels) == 0:
        axes = "(n, height, width, channels)" if ndim == 4 else "(n, time, height, width, channels)"
        raise DataError(f"pixels are {pixels.dtype} of shape {pixels.shape}: give uint8 {axes}, n of 1 or more")


def _gather(batches: Sequence[Tensor]) -> NDArray[np.float32]:
    """Tensors (B, R, h, w) one below the other: (n, R * h * w) float32."""
    rows = [len(r) for r in batches]
    features = np.empty((sum(rows), batches[0][0].numel()), np.float32)
    for start, r in zip(np.cumsum([0, *rows]), batches, strict=False):
        features[start : start + len(r)] = r.float().flatten(1).cpu().numpy()
    return features
