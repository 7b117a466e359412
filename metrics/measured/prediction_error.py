"""Next-frame MSE over the fixed windows of a search, beside that of repeating the previous frame."""

from typing import Any

import numpy as np

from metrics.metric import Inputs, Metric, Network, Windows
from metrics.next_frame import mean_mse, next_frame_mse, previous_frame_mse

BATCH = 16


def measure(network: Network, inputs: Inputs) -> dict[str, Any]:
    """The error over the held-out windows of a search."""
    return over_windows(network, inputs.windows)


def over_windows(network: Network, windows: Windows) -> dict[str, Any]:
    """Mean next-frame MSE over `windows`, frames 1.., all pixels; beside it the MSE of repeating the last frame."""
    errors, previous = [], []
    for start in range(0, len(windows), BATCH):
        frames = windows.take(np.arange(start, min(start + BATCH, len(windows))))
        scaled = frames.astype(np.float32) / 255.0
        errors.append(next_frame_mse(network.predict(frames), scaled))
        previous.append(previous_frame_mse(scaled))
    result = mean_mse(np.concatenate(errors))
    repeated = mean_mse(np.concatenate(previous)).value
    return {"mse": result.value, "mse_status": result.status, "mse_previous_frame": repeated}


METRIC = Metric(
    "mse",
    "Next-frame error",
    "squared intensity, 0–1",
    False,
    0.0,
    float("inf"),
    "Lotter, Kreiman & Cox (2017). "
    "Deep Predictive Coding Networks for Video Prediction and Unsupervised Learning. ICLR.",
    measure,
    title="MSE",
    digits=4,
)
