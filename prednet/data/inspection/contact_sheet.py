"""A contact sheet: a few frames of each recording with its name, and the part that a network would see."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from prednet.data.inspection.findings import FoundRecording, counted
from prednet.data.inspection.look_alikes import sample_indices
from prednet.data.resize import crop_start, scaled_size
from prednet.data.sources import Progress
from prednet.errors import DataError

COLUMNS = 5
_HEIGHT = 96  # of a picture, pixels
_WIDEST = 340
_TEXT = 16
_MARGIN = 10
_PAPER, _INK, _BLANK = (255, 255, 255), (0, 0, 0), (224, 224, 224)
_FRAME = ((0, 0, 0), (255, 214, 0))  # black and yellow: seen on light and on dark pictures


def write_contact_sheet(
    recordings: Sequence[FoundRecording], file: Path, *, height: int, width: int, progress: Progress
) -> Path:
    """Write a PNG: a line a recording, five frames from its first to its last, numbered from 0.

    The frame drawn into each picture is what is left after cropping to height x width. Raises DataError when the
    file cannot be written, or no recording has frames to show.
    """
    shown = [recording for recording in recordings if recording.read is not None and recording.frames]
    if not shown:
        raise DataError(f"{file}: no contact sheet, since no frame can be read")
    lines = []
    for done, recording in enumerate(shown):
        progress("drawing the contact sheet", done, len(shown))
        lines.append(_line(recording, height, width))
    sheet = Image.new("RGB", (max(line.width for line in lines) + 2 * _MARGIN, _total(lines)), _PAPER)
    y = _MARGIN
    for line in lines:
        sheet.paste(line, (_MARGIN, y))
        y += line.height + _MARGIN
    progress("drawing the contact sheet", len(shown), len(shown))
    file = Path(file)
    temporary = file.with_name(f".{file.name}.part.png")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        sheet.save(temporary, "PNG")
        temporary.replace(file)
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror or error}. Next: name another file") from error
    finally:
        temporary.unlink(missing_ok=True)
    return file


def _line(recording: FoundRecording, height: int, width: int) -> Image.Image:
    pictures = [(index, _picture(recording, index, height, width)) for index in _indices(recording)]
    title = _title(recording)
    row = 3 * _TEXT // 2
    full = max(sum(picture.width + 4 for _, picture in pictures), int(_font().getlength(title)) + 4)
    line = Image.new("RGB", (full, row + _HEIGHT + row), _PAPER)
    draw = ImageDraw.Draw(line)
    draw.text((0, row // 2), title, fill=_INK, font=_font(), anchor="lm")
    x = 0
    for index, picture in pictures:
        line.paste(picture, (x, row))
        draw.text((x + picture.width // 2, row + _HEIGHT + row // 2), str(index), fill=_INK, font=_font(), anchor="mm")
        x += picture.width + 4
    return line


def _title(recording: FoundRecording) -> str:
    parts = [recording.name, recording.category, f"camera {recording.camera}" if recording.camera.isdigit() else ""]
    parts += [f"{recording.frames} frames", counted(recording.sizes), counted(recording.formats)]
    if not recording.camera.isdigit() and recording.camera:
        parts.insert(0, recording.camera)
    return ", ".join(part for part in parts if part)


def _indices(recording: FoundRecording) -> list[int]:
    return list(dict.fromkeys(sample_indices(recording.frames, COLUMNS)))


def _picture(recording: FoundRecording, index: int, height: int, width: int) -> Image.Image:
    assert recording.read is not None
    try:
        frame = recording.read(index)
    except DataError:
        blank = Image.new("RGB", (_HEIGHT * width // height, _HEIGHT), _BLANK)
        ImageDraw.Draw(blank).text((blank.width // 2, _HEIGHT // 2), "broken", fill=_INK, font=_font(), anchor="mm")
        return blank
    return _cropped(frame, height, width)


def _cropped(frame: NDArray[np.uint8], height: int, width: int) -> Image.Image:
    """The whole frame at the sheet's height, with a double line round the part that stays."""
    h, w = frame.shape[:2]
    zoom = min(_HEIGHT / h, _WIDEST / w)
    size = (max(1, round(w * zoom)), max(1, round(h * zoom)))
    picture = Image.new("RGB", (size[0], _HEIGHT), _PAPER)
    picture.paste(Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR), (0, 0))
    scaled_h, scaled_w = scaled_size(h, w, height, width)
    fx, fy = size[0] / scaled_w, size[1] / scaled_h
    left, top = crop_start(scaled_w, width) * fx, crop_start(scaled_h, height) * fy
    box = [round(left), round(top), round(left + width * fx) - 1, round(top + height * fy) - 1]
    draw = ImageDraw.Draw(picture)
    draw.rectangle(box, outline=_FRAME[0])
    draw.rectangle([box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1], outline=_FRAME[1])
    return picture


def _total(lines: Sequence[Image.Image]) -> int:
    return sum(line.height + _MARGIN for line in lines) + _MARGIN


def _font() -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size=_TEXT)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font
