"""Next-frame mean squared error (MSE), and that of the trivial prediction: the previous frame.

Lotter, Kreiman & Cox (2017), "Deep Predictive Coding Networks for Video Prediction and Unsupervised Learning", ICLR.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from metrics.errors import MetricError
from metrics.rdm import FloatArray


@dataclass(frozen=True)
class MseResult:
    """Mean MSE over `n_windows` windows, >= 0, lower = better; None with status "diverged" on NaN or infinity."""

    value: float | None
    status: Literal["ok", "diverged"]
    n_windows: int


def next_frame_mse(predictions: npt.ArrayLike, frames: npt.ArrayLike) -> FloatArray:
    """MSE per window, (B,) float64: mean over t = 1..T-1 and all pixels of (prediction - frame)^2.

    `predictions`, `frames`: (B, T, H, W, C), floats with frames in [0, 1], or uint8 that is divided by 255.
    `predictions[:, t]` is what the network says `frames[:, t]` will be; nothing can be predicted at t = 0, which is
    left out. A window with a NaN or infinite prediction gets NaN. Inputs are not modified. MetricError on other input.
    """
    predicted = np.asarray(predictions)
    actual = _check_frames(frames)
    if predicted.shape != actual.shape:
        raise MetricError(f"Predictions have shape {predicted.shape}, frames {actual.shape}; they must agree.")
    result = np.empty(len(actual))
    for index in range(len(actual)):
        result[index] = _window_mse(predicted[index, 1:], actual[index, 1:])
    return result


def previous_frame_mse(frames: npt.ArrayLike) -> FloatArray:
    """MSE per window, (B,) float64, of predicting each frame by the one before; `frames` as in `next_frame_mse`."""
    actual = _check_frames(frames)
    return np.array([_window_mse(window[:-1], window[1:]) for window in actual], dtype=np.float64)


def mean_mse(per_window: npt.ArrayLike) -> MseResult:
    """Mean of per-window MSEs (B,), B >= 1, all windows weighing the same."""
    values = np.asarray(per_window, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise MetricError(f"Per-window MSEs have shape {values.shape}; expected (B,) with B >= 1.")
    if not np.isfinite(values).all():
        return MseResult(None, "diverged", values.size)
    return MseResult(float(values.mean()), "ok", values.size)


def _window_mse(predicted: npt.NDArray[np.generic], actual: npt.NDArray[np.generic]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.mean((_unit(predicted) - _unit(actual)) ** 2)
    return float(error) if np.isfinite(error) else float("nan")


def _unit(values: npt.NDArray[np.generic]) -> FloatArray:
    scaled = values.astype(np.float64)
    return scaled / 255 if values.dtype == np.uint8 else scaled


def _check_frames(frames: npt.ArrayLike) -> npt.NDArray[np.generic]:
    array = np.asarray(frames)
    if array.ndim != 5 or array.shape[1] < 2 or 0 in array.shape:
        raise MetricError(f"Frames have shape {array.shape}; expected (B, T, H, W, C) with T >= 2.")
    if array.dtype != np.uint8:
        if array.dtype.kind != "f":
            raise MetricError(f"Frames have type {array.dtype}; expected uint8, or floats in [0, 1].")
        low, high = float(array.min()), float(array.max())
        if not (low >= -1e-6 and high <= 1 + 1e-6):
            raise MetricError(f"Frames span {low:.6g} to {high:.6g}; floats must lie in [0, 1]. Divide by 255.")
    return array
