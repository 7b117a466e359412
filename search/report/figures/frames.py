"""True and predicted frames of a network and their difference, as one strip a window."""

import io
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from search.report.artifacts import Predictions
from search.report.figures.style import panels

ROWS = ("true", "predicted", "difference")
MAX_WINDOWS = 4
GAP = 2  # pixels between frames


@dataclass(frozen=True)
class Strip:
    """One window: RGBA `image` of rows `ROWS` by time steps 2..T, the clip's name, and its mean squared error.

    The first step has no row: before it the network has seen nothing, so that its prediction means nothing.
    """

    image: NDArray[np.uint8]
    clip: str
    steps: int
    mse: float
    mse_previous_frame: float


def prepare(predictions: Predictions | None) -> list[Strip]:
    """At most `MAX_WINDOWS` strips, evenly chosen; errors in intensity (0-1) squared, as the metric has them."""
    if predictions is None or predictions.true.shape[1] < 2:
        return []
    chosen = np.unique(np.linspace(0, len(predictions.true) - 1, MAX_WINDOWS).round().astype(int))
    return [_strip(predictions.true[w], predictions.predicted[w], predictions.clips[w]) for w in chosen]


def _strip(true: NDArray[np.uint8], predicted: NDArray[np.uint8], clip: str) -> Strip:
    real, guess = true.astype(np.float64) / 255, predicted.astype(np.float64) / 255
    # Twice the error, so that differences of a few grey levels can be seen; the caption says so.
    difference = np.clip(2 * np.abs(guess - real) * 255, 0, 255).astype(np.uint8)
    steps, height, width = true.shape[0] - 1, true.shape[1], true.shape[2]
    canvas = np.zeros((3 * height + 2 * GAP, steps * width + (steps - 1) * GAP, 4), dtype=np.uint8)
    for row, frames in enumerate((true, predicted, difference)):
        for step in range(steps):
            top, left = row * (height + GAP), step * (width + GAP)
            canvas[top : top + height, left : left + width, :3] = frames[step + 1]
            canvas[top : top + height, left : left + width, 3] = 255
    return Strip(
        image=canvas,
        clip=clip,
        steps=steps,
        mse=float(np.mean((guess[1:] - real[1:]) ** 2)),
        mse_previous_frame=float(np.mean((real[1:] - real[:-1]) ** 2)),
    )


def png(strip: Strip) -> bytes:
    """The strip as PNG, at its own size in pixels."""
    buffer = io.BytesIO()
    Image.fromarray(strip.image, "RGBA").save(buffer, "PNG")
    return buffer.getvalue()


def printed(strips: list[Strip]) -> Figure:
    """All strips below each other, 7 inches wide."""
    ratio = strips[0].image.shape[0] / strips[0].image.shape[1]
    figure, axes = panels(len(strips), 1, 7.0, len(strips) * (6.4 * ratio + 0.35))
    for ax, strip in zip(axes, strips, strict=True):
        ax.imshow(strip.image)
        ax.set_title(f"{strip.clip}   MSE {strip.mse:.4f} (previous frame {strip.mse_previous_frame:.4f})", loc="left")
        height = strip.image.shape[0] / 3
        ax.set_yticks([height * (row + 0.5) for row in range(3)], ROWS)
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    return figure
