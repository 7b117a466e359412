"""Frame geometry: scale to the target height, crop the centre; antialiased or as the original code did."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.errors import DataError

ResizeMode = Literal["antialias", "legacy"]
RESIZE_MODES: tuple[ResizeMode, ...] = ("antialias", "legacy")


def check_resize(height: int, width: int, mode: str) -> None:
    """Raise DataError for an unusable target size or an unknown resize mode."""
    if mode not in RESIZE_MODES:
        raise DataError(f"resize mode {mode!r} is unknown; choose one of {', '.join(RESIZE_MODES)}")
    if height < 8 or width < 8:
        raise DataError(f"a target of {height}x{width} pixels is too small; 8x8 is the least")


def scaled_size(h: int, w: int, height: int, width: int) -> tuple[int, int]:
    """The (height, width) that an h x w frame is scaled to before it is cropped to height x width.

    The rule of Lotter et al.: to the target height, width `round(height / h * w)`. A source narrower than
    the target ratio would then be too narrow to crop: it is scaled to the target width instead, and its
    height, `round(width / w * h)`, is cropped.
    """
    scaled_width = round(height / h * w)
    if scaled_width >= width:
        return height, scaled_width
    return max(height, round(width / w * h)), width


def crop_start(scaled: int, target: int) -> int:
    """First row or column of the centre crop: `int((scaled - target) / 2)`."""
    return int((scaled - target) / 2)


def narrow_note(h: int, w: int, height: int, width: int) -> str | None:
    """A warning for a source narrower than the target ratio, to which the second rule of `scaled_size` applies."""
    if scaled_size(h, w, height, width)[0] == height:
        return None
    return f"{w}x{h} is narrower than {width}x{height}: scaled to the width, its height cropped"


def resize_frame(frame: NDArray[np.uint8], height: int, width: int, mode: ResizeMode) -> NDArray[np.uint8]:
    """Scale and centre-crop one frame.

    Args:
        frame: (h, w, 3) uint8.
        height: target height in pixels.
        width: target width in pixels.
        mode: "antialias" is bilinear with a support that grows with the reduction; "legacy" samples four
            neighbours whatever the reduction, as `scipy.misc.imresize` did with the Pillow of 2016.

    Returns:
        (height, width, 3) uint8.
    """
    h, w = frame.shape[:2]
    new_height, new_width = scaled_size(h, w, height, width)
    image = Image.fromarray(frame)
    if mode == "antialias":
        image = image.resize((new_width, new_height), Image.Resampling.BILINEAR)
    else:
        # An affine transform in Pillow samples at half-pixel centres and never widens its filter.
        matrix = (w / new_width, 0.0, 0.0, 0.0, h / new_height, 0.0)
        size = (new_width, new_height)
        image = image.transform(size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)
    top, left = crop_start(new_height, height), crop_start(new_width, width)
    return np.ascontiguousarray(np.asarray(image)[top : top + height, left : left + width])
