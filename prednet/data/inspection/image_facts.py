"""What each image file is: size, format, colour, and whether it can be read whole."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from prednet.data.build import usable_cores
from prednet.data.images import SIXTEEN_BIT_MODES, decode_image, not_media, shown
from prednet.data.sources import Progress
from prednet.errors import DataError

_COLOURS = {"L": "grey", "1": "black and white", "P": "palette", "RGB": "colour", "RGBA": "colour with alpha"}


@dataclass(frozen=True)
class ImageFacts:
    """One image: (height, width) in pixels, format and colour in words; `error` when it cannot be used."""

    file: Path
    size: tuple[int, int] | None = None
    format: str = ""
    colour: str = ""
    error: str = ""
    warning: str = ""


def images_facts(files: Sequence[Path], *, quick: bool, progress: Progress) -> dict[Path, ImageFacts]:
    """Facts of each file. `quick` reads headers only: what is broken behind them stays unseen."""
    facts = {}
    with ThreadPoolExecutor(usable_cores()) as pool:
        for done, fact in enumerate(pool.map(lambda file: _facts(file, quick), files)):
            facts[fact.file] = fact
            progress("reading images", done + 1, len(files))
    return facts


def _facts(file: Path, quick: bool) -> ImageFacts:
    try:
        format, mode, size = _header(file)
        if quick:
            return ImageFacts(file, size, format, _COLOURS.get(mode, mode))
        pixels, warning = decode_image(file)
    except DataError as error:
        return ImageFacts(file, error=str(error))
    colour = "16-bit grey" if mode in SIXTEEN_BIT_MODES else _COLOURS.get(mode, mode)
    if (
        mode == "RGB"
        and np.array_equal(pixels[..., 0], pixels[..., 1])
        and np.array_equal(pixels[..., 0], pixels[..., 2])
    ):
        colour = "grey stored as colour"
    return ImageFacts(file, size, format, colour, warning=warning or "")


def _header(file: Path) -> tuple[str, str, tuple[int, int]]:
    """(format, Pillow's mode, (height, width)) from the first bytes of a file. Raises DataError."""
    try:
        with file.open("rb") as stream:
            head = stream.read(512)
            if reason := not_media(head):
                raise DataError(f"{shown(file)}: {reason}")
            stream.seek(0)
            with Image.open(stream) as image:
                return image.format or "?", image.mode, (image.height, image.width)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, DataError):
            raise
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{shown(file)}: cannot be read: {error.strerror}") from error
        raise DataError(f"{shown(file)}: not an image that can be read, or cut off in its header") from error
