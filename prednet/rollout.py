"""A network run over clips step by step: its predictions, its R units, and how it goes on without frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prednet.errors import DataError, ModelError
from prednet.inference import Inference
from prednet.model import PredNet, State, check_shape


class Step(NamedTuple):
    """What the network says before it sees frame t.

    `prediction`: (B, H, W, C) float32 in [0, 1]. `r`: R of each layer, (B, R_l, h, w), on the network's device. At
    t = 0 nothing was seen: leave that step out of every score.
    """

    prediction: NDArray[np.float32]
    r: list[Tensor]


@torch.inference_mode()
def rollout(model: PredNet, clips: NDArray[np.uint8], *, steps: int = 0) -> Iterator[Step]:
    """Run clips through the network, one step at a time, so that only its state is in memory.

    From step T on the network sees no frame, but its previous prediction in place of one, exactly as with
    `extrap_start_time=T` of `PredNet.forward` and of the original code.

    Args:
        model: on any device.
        clips: (B, T, H, W, C) uint8.
        steps: how far to go on after the last frame, 0 or more.

    Yields:
        T + steps times a `Step`.

    Raises:
        DataError, ModelError: clips of another type or size.
    """
    if clips.dtype != np.uint8 or clips.ndim != 5 or 0 in clips.shape:
        raise DataError(
            f"clips are {clips.dtype} of shape {clips.shape}: give uint8 (batch, time, height, width, channels), "
            "for one clip frames[None]"
        )
    check_shape(frame_of(model, clips[:, 0])[:, None], model.config)
    batch, seen, *size = clips.shape
    net = Inference(model)
    state = net.initial_state(size[0], size[1])
    previous: Tensor | None = None
    for t in range(seen + steps):
        r, c = net.top_down(state)
        prediction = net.predict(r[0], 0)
        pixels = prediction.permute(0, 2, 3, 1).float().cpu().numpy() / np.float32(model.config.pixel_max)
        yield Step(np.broadcast_to(pixels, (batch, *size)), [units.expand(batch, -1, -1, -1) for units in r])
        if t + 1 < seen + steps:
            frame = frame_of(model, clips[:, t]) if t < seen or previous is None else previous
            state = State(r, c, net.bottom_up(r, frame, prediction).e)
            previous = prediction


def extrapolate(model: PredNet, clips: NDArray[np.uint8], *, steps: int = 5) -> NDArray[np.float32]:
    """The frames that follow after clips, as the network goes on with its own predictions.

    Args:
        model: on any device.
        clips: (B, T, H, W, C) uint8, the frames that it sees.
        steps: how many frames, 1 or more. The first is an ordinary prediction, the others build on it.

    Returns:
        (B, steps, H, W, C) float32 in [0, 1].

    Raises:
        DataError, ModelError: clips of another type or size; steps below 1.
    """
    if steps < 1:
        raise ModelError(f"steps is {steps}: give 1 or more frames to extrapolate")
    predictions = [step.prediction for step in rollout(model, clips, steps=steps)]
    return np.stack(predictions[-steps:], axis=1)


def r_features(
    model: PredNet, clips: NDArray[np.uint8], *, layers: Sequence[int] | None = None
) -> dict[int, NDArray[np.float32]]:
    """R units of clips at every step, taken before the frame of that step is seen.

    Args:
        model: on any device.
        clips: (B, T, H, W, C) uint8; for features of pictures repeat each of them over time.
        layers: those to keep, counted from 0; None: all.

    Returns:
        By layer (B, T, R_l, h, w) float32. Leave t = 0 out, since nothing was seen before it.

    Raises:
        DataError, ModelError: clips of another type or size; a layer that the network doesn't have.
    """
    wanted = range(model.config.n_layers) if layers is None else sorted(set(layers))
    if bad := [layer for layer in wanted if not 0 <= layer < model.config.n_layers]:
        raise ModelError(f"layers {bad}: this network has the layers 0 to {model.config.n_layers - 1}")
    kept: dict[int, list[NDArray[np.float32]]] = {layer: [] for layer in wanted}
    for step in rollout(model, clips):
        for layer in wanted:
            kept[layer].append(step.r[layer].float().cpu().numpy())
    return {layer: np.stack(units, axis=1) for layer, units in kept.items()}


def frame_of(model: PredNet, pixels: NDArray[np.uint8]) -> Tensor:
    """uint8 (B, H, W, C) -> (B, C, H, W) in [0, pixel_max] on the model's device."""
    like = next(model.parameters())
    frame = torch.from_numpy(np.array(pixels, order="C")).to(like.device)
    return (frame.to(like.dtype) * (model.config.pixel_max / 255)).permute(0, 3, 1, 2)
