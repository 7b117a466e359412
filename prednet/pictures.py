"""True and predicted frames and their difference side by side, as a labelled strip or as the pictures of a film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from prednet.errors import DataError

DIFFERENCE_SCALE = 0.2  # absolute difference, pixels in [0, 1], that gets the last colour
ROWS = ("true", "predicted", "difference")

_TILE = 160  # least width of a frame in a strip, pixels
_PANEL = 320  # least width of a frame in a film
_FONT = 22
_GAP = 4
_INK, _PAPER, _BLANK = (0, 0, 0), (255, 255, 255), (224, 224, 224)


def to_pixels(frames: ArrayLike) -> NDArray[np.uint8]:
    """uint8 as it is; floats in [0, 1], clipped, become 0..255."""
    array = np.asarray(frames)
    return array if array.dtype == np.uint8 else np.clip(array * 255.0, 0, 255).round().astype(np.uint8)


def difference_map(true: ArrayLike, predicted: ArrayLike) -> NDArray[np.uint8]:
    """|predicted - true| averaged over channels, in the colours of viridis from 0 to `DIFFERENCE_SCALE`.

    `true`, `predicted`: (..., H, W, C), uint8 or floats in [0, 1]. Gives uint8 (..., H, W, 3).
    """
    difference = np.abs(_unit(predicted) - _unit(true)).mean(axis=-1)
    index = np.clip(difference / DIFFERENCE_SCALE * 255, 0, 255).round().astype(np.intp)
    return _viridis()[index]


def save_strip(
    path: str | Path,
    true: ArrayLike,
    predicted: ArrayLike,
    *,
    title: str = "",
    captions: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a PNG with the rows true, predicted, difference and one column a step.

    Args:
        path: of the file; replaced whole, or left as it was.
        true: (T, H, W, 3) uint8 or floats in [0, 1]; it may end before `predicted` does, as when extrapolating.
        predicted: (S, H, W, 3), S >= T.
        title: one line above.
        captions: rows of text below, S texts each; None: the column's number from 0 and its mean squared error.

    Raises:
        DataError: frames of other shapes, captions of another number; the file can't be written.
    """
    real, guess = np.asarray(true), np.asarray(predicted)
    if guess.ndim != 4 or real.ndim != 4 or real.shape[1:] != guess.shape[1:] or not len(guess) >= len(real):
        raise DataError(
            f"true frames have shape {real.shape}, predicted ones {guess.shape}: give (time, height, width, 3) of one "
            "size, with no fewer predicted than true"
        )
    if captions is None:
        errors = [float(np.mean((_unit(g) - _unit(t)) ** 2)) for t, g in zip(real, guess, strict=False)]
        captions = {
            "step": [str(step) for step in range(len(guess))],
            "MSE": [f"{error:.4f}" for error in errors] + ["no frame"] * (len(guess) - len(errors)),
        }
    if bad := [name for name, texts in captions.items() if len(texts) != len(guess)]:
        raise DataError(f"captions {bad} don't have {len(guess)} texts, one for each predicted frame")
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part.png")
    try:
        _strip(real, guess, title, captions).save(temporary, dpi=(240, 240))
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} can't be written ({reason}): free some space or choose another folder") from error
    finally:
        temporary.unlink(missing_ok=True)


def _strip(
    true: NDArray[np.generic], predicted: NDArray[np.generic], title: str, captions: Mapping[str, Sequence[str]]
) -> Image.Image:
    zoom = -(-_TILE // predicted.shape[2])
    height, width = predicted.shape[1] * zoom, predicted.shape[2] * zoom
    line = round(_FONT * 1.4)
    gutter = max(_text_width(name) for name in (*ROWS, *captions)) + 2 * _FONT // 2
    top = 2 * _GAP + line if title else _GAP
    below = top + len(ROWS) * (height + _GAP)
    columns = len(predicted)
    right = gutter + max(columns * (width + _GAP), _text_width(_scale_note()) + 300)
    sheet = Image.new("RGB", (right, below + line * (len(captions) + 1) + 3 * _GAP), _PAPER)
    draw = ImageDraw.Draw(sheet)
    _write(draw, (_GAP, _GAP + line // 2), _fitting(title, right - 2 * _GAP), "lm")
    for row, name in enumerate(ROWS):
        _write(draw, (gutter - _FONT // 2, top + row * (height + _GAP) + height // 2), name, "rm")
    for column in range(columns):
        left = gutter + column * (width + _GAP)
        for row, tile in enumerate(_tiles(true[column] if column < len(true) else None, predicted[column])):
            _paste(sheet, tile, (left, top + row * (height + _GAP)), (width, height))
        for row, texts in enumerate(captions.values()):
            _write(draw, (left + width // 2, below + row * line + line // 2), texts[column], "mm")
    for row, name in enumerate(captions):
        _write(draw, (gutter - _FONT // 2, below + row * line + line // 2), name, "rm")
    _draw_scale(sheet, gutter, below + len(captions) * line + _GAP + line // 2)
    return sheet


def film_picture(true: ArrayLike | None, predicted: ArrayLike, header: str, footer: str) -> NDArray[np.uint8]:
    """One picture of a film: true, predicted and difference beside each other.

    Args:
        true: (H, W, 3) uint8 or floats in [0, 1]; None where there is no true frame.
        predicted: (H, W, 3).
        header: a line of text above.
        footer: a line of text below, such as the frame's number and its error.

    Returns:
        (h, w, 3) uint8 with h and w even, as video codecs ask for.
    """
    guess = np.asarray(predicted)
    zoom = -(-_PANEL // guess.shape[1])
    height, width = guess.shape[0] * zoom, guess.shape[1] * zoom
    line = round(_FONT * 1.4)
    full = 3 * width + 4 * _GAP
    size = (full + full % 2, 4 * line + height + 2 * _GAP + height % 2)
    sheet = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(sheet)
    _write(draw, (_GAP, line // 2 + 1), _fitting(header, full - 2 * _GAP), "lm")
    for column, (name, tile) in enumerate(zip(ROWS, _tiles(true, guess), strict=True)):
        left = _GAP + column * (width + _GAP)
        _write(draw, (left + width // 2, line + line // 2), name, "mm")
        _paste(sheet, tile, (left, 2 * line), (width, height))
    _write(draw, (_GAP, 2 * line + height + _GAP + line // 2), _fitting(footer, full - 2 * _GAP), "lm")
    _draw_scale(sheet, _GAP, 3 * line + height + _GAP + line // 2)
    return np.asarray(sheet)


def _tiles(true: ArrayLike | None, predicted: ArrayLike) -> list[NDArray[np.uint8] | None]:
    if true is None:
        return [None, to_pixels(predicted), None]
    return [to_pixels(true), to_pixels(predicted), difference_map(true, predicted)]


def _paste(sheet: Image.Image, tile: NDArray[np.uint8] | None, at: tuple[int, int], size: tuple[int, int]) -> None:
    if tile is None:
        image = Image.new("RGB", size, _BLANK)
        _write(ImageDraw.Draw(image), (size[0] // 2, size[1] // 2), "no frame", "mm")
    else:
        image = Image.fromarray(tile).resize(size, Image.Resampling.NEAREST)
    sheet.paste(image, at)


def _scale_note() -> str:
    return f"{DIFFERENCE_SCALE:g} or more: |true - predicted|, mean over RGB, pixels in 0..1"


def _draw_scale(sheet: Image.Image, left: int, middle: int) -> None:
    draw = ImageDraw.Draw(sheet)
    _write(draw, (left, middle), "0", "lm")
    left += _text_width("0") + _GAP
    bar = np.broadcast_to(_viridis()[None], (_FONT // 2 * 2, 256, 3))
    sheet.paste(Image.fromarray(np.ascontiguousarray(bar)), (left, middle - _FONT // 2))
    _write(draw, (left + 256 + _GAP, middle), _scale_note(), "lm")


def _write(draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str, anchor: str) -> None:
    draw.text(at, text, fill=_INK, font=_font(), anchor=anchor)


def _fitting(text: str, width: int) -> str:
    """The text, or as much of its end as fits: the ends of file names tell more than their beginnings."""
    if _text_width(text) <= width:
        return text
    start = next(at for at in range(len(text) + 1) if _text_width("..." + text[at:]) <= width)
    return "..." + text[start:]


def _text_width(text: str) -> int:
    return int(_font().getlength(text)) + 1


@cache
def _font() -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size=_FONT)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@cache
def _viridis() -> NDArray[np.uint8]:
    """(256, 3) uint8. Matplotlib is imported here, since it takes longer than everything else in this file."""
    from matplotlib import colormaps

    return np.asarray(colormaps["viridis"](np.arange(256), bytes=True)[:, :3])


def _unit(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values)
    return array.astype(np.float64) / 255 if array.dtype == np.uint8 else array.astype(np.float64)
