"""What a trained network says about images and videos: features for the metrics, and predicted frames.

Images are shown as static clips: the same frame at every step (Blanchard et al. 2019). Features are the R units;
those of the first step are dropped, since they come before anything was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prednet.errors import DataError, ModelError
from prednet.model import PredNet, State, check_shape


def static_clip_features(
    model: PredNet,
    images: NDArray[np.uint8],
    *,
    nt: int = 5,
    batch_size: int = 8,
    layers: Sequence[int] | None = None,
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """R units of all images, step by step and layer by layer, so that features are never all in memory.

    All batches advance in lockstep: between two steps only the state of each image is kept.

    Args:
        model: on any device.
        images: (n, H, W, C) uint8, of a size that fits the network.
        nt: steps of the clip, at least 2.
        batch_size: images in a pass; changes memory and speed, not the features.
        layers: those to yield; None: all.

    Yields:
        (t, layer, features) for t = 1..nt-1: float32 (n, R_l * h * w), flattened (channel, row, column).

    Raises:
        DataError, ModelError: images of another type or size, nt below 2.
    """
    wanted = range(model.config.n_layers) if layers is None else sorted(set(layers))
    clips = _Clips(model, images, nt, batch_size)
    states = [clips.blank] * len(clips.batches)
    for t in range(nt):
        features: dict[int, list[NDArray[np.float32]]] = {layer: [] for layer in wanted}
        for index, batch in enumerate(clips.batches):
            r, states[index] = clips.advance(states[index], batch, last=t == nt - 1, lowest=min(wanted))
            if t:
                for layer in wanted:
                    features[layer].append(_to_numpy(r[layer]))
        if t:
            for layer in wanted:
                yield t, layer, np.concatenate(features.pop(layer))


def top_layer_features(
    model: PredNet, images: NDArray[np.uint8], nt: int = 5, batch_size: int = 8
) -> NDArray[np.float32]:
    """R units of the top layer of static clips: (nt - 1, n, d) float32; arguments as `static_clip_features`.

    Each batch runs through the whole clip before the next one starts, so that memory is that of one batch and
    of the result.
    """
    clips = _Clips(model, images, nt, batch_size)
    features = []
    for batch in clips.batches:
        state, rows = clips.blank, []
        for t in range(nt):
            r, state = clips.advance(state, batch, last=t == nt - 1, lowest=model.config.n_layers - 1)
            if t:
                rows.append(_to_numpy(r[-1]))
        features.append(np.stack(rows))
    return np.concatenate(features, axis=1)


def predict(model: PredNet, windows: NDArray[np.uint8], *, batch_size: int = 8) -> NDArray[np.float32]:
    """The prediction of every frame, made before it was seen.

    Args:
        model: on any device.
        windows: (B, T, H, W, C) uint8.
        batch_size: windows in a pass.

    Returns:
        (B, T, H, W, C) float32 in [0, 1]; at t = 0 nothing was seen, leave it out of every score.

    Raises:
        DataError, ModelError: windows of another type or size.
    """
    _check_pixels(windows, 5)
    batches = []
    for start in range(0, len(windows), batch_size):
        frames = _as_frames(model, windows[start : start + batch_size])
        batches.append(_predict_batch(model, frames))
    return np.concatenate(batches)


@torch.inference_mode()
def _predict_batch(model: PredNet, frames: Tensor) -> NDArray[np.float32]:
    check_shape(frames, model.config)
    state = model.initial_state(*frames.shape[-2:])
    predictions = []
    for t in range(frames.shape[1]):
        r, c = model.top_down(state)
        prediction = model.predict(r[0], 0)
        predictions.append(prediction.expand_as(frames[:, t]))
        if t + 1 < frames.shape[1]:
            state = State(r, c, model.bottom_up(r, frames[:, t], prediction).e)
    stacked = torch.stack(predictions, dim=1).permute(0, 1, 3, 4, 2) / model.config.pixel_max
    return stacked.float().cpu().numpy()


class _Clips:
    """Batches of images, and the step that a static clip repeats."""

    def __init__(self, model: PredNet, images: NDArray[np.uint8], nt: int, batch_size: int) -> None:
        _check_pixels(images, 4)
        if nt < 2:
            raise ModelError(
                f"clips of {nt} frame(s) have no features, since the first step is dropped: give 2 or more"
            )
        self.model = model
        self.batches = [images[start : start + batch_size] for start in range(0, len(images), batch_size)]
        check_shape(_as_frames(model, images[:1, None]), model.config)
        self.blank = model.initial_state(*images.shape[1:3])

    @torch.inference_mode()
    def advance(
        self, state: State, images: NDArray[np.uint8], *, last: bool, lowest: int
    ) -> tuple[list[Tensor], State]:
        """R of the next step, and the state after it; the last step needs nothing below the lowest layer asked for."""
        r, c = self.model.top_down(state, lowest=lowest if last else 0)
        e = state.e if last else self.model.bottom_up(r, _as_frames(self.model, images[:, None])[:, 0]).e
        return r, State(r, c, e)


def _check_pixels(pixels: NDArray[np.uint8], ndim: int) -> None:
    if pixels.dtype != np.uint8 or pixels.ndim != ndim or len(pixels) == 0:
        axes = "(n, height, width, channels)" if ndim == 4 else "(n, time, height, width, channels)"
        raise DataError(f"pixels are {pixels.dtype} of shape {pixels.shape}: give uint8 {axes}, n of 1 or more")


def _as_frames(model: PredNet, pixels: NDArray[np.uint8]) -> Tensor:
    """uint8 (B, T, H, W, C) -> (B, T, C, H, W) in [0, pixel_max] on the model's device."""
    like = next(model.parameters())
    frames = torch.from_numpy(np.array(pixels, order="C")).to(like.device)
    return (frames.to(like.dtype) * (model.config.pixel_max / 255)).permute(0, 1, 4, 2, 3)


def _to_numpy(r: Tensor) -> NDArray[np.float32]:
    """(B, R, h, w) -> (B, R * h * w) float32."""
    return r.float().flatten(1).cpu().numpy()
