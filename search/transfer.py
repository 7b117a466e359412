"""Errors on other data than those that a network was trained on (Blanchard et al., CVPR 2019: KITTI, then VLOG)."""

from collections.abc import Callable
from typing import Any

from prednet.model import PredNet
from search.evaluate import next_frame_error
from search.materials import Materials


def transfer_errors(model: PredNet, materials: Materials, between: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """`mse_NAME`, `mse_NAME_status`, `mse_NAME_previous_frame` for each dataset of `data.transfer`.

    Next-frame MSE over its fixed windows, frames 1.., all pixels in [0, 1]; lower is better. The last column is the
    error of repeating the frame before. `between` is called after each batch; it may raise to stop (pre-emption).
    """
    row: dict[str, Any] = {}
    for column, windows in materials.transfer_windows.items():
        found = next_frame_error(model, windows, between)
        row |= {f"{column}{key.removeprefix('mse')}": value for key, value in found.items()}
    return row
