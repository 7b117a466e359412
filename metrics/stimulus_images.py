"""A folder of images as stimuli, one a label."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from metrics.errors import StimuliError
from metrics.references import differing, shown
from metrics.stimuli92 import BACKGROUND

SUFFIXES = (".png", ".jpg", ".jpeg")
_SMALLEST = 8
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK")


def load_images(folder: Path, labels: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Images (n, H, W, 3) uint8 in the order of `labels`, from PNG or JPEG files that are named for them.

    A label may have the file's ending or not. Transparent pixels become gray 128, as behind the 92 stimuli; a photo is
    turned as its camera says. StimuliError when labels and files differ, an image is broken or sizes differ.
    """
    if not folder.is_dir():
        raise StimuliError(f"{folder}: no such folder. Check --images.")
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and not p.name.startswith("."))
    known = set(labels)
    by_label: dict[str, Path] = {}
    for path in files:
        name = unicodedata.normalize("NFC", path.name)
        label = name if name in known else Path(name).stem
        if label in by_label:
            raise StimuliError(f"{folder}: {by_label[label].name} and {path.name} are both {label!r}. Remove one.")
        by_label[label] = path
    missing, additional = differing(labels, list(by_label))
    if missing or additional:
        raise StimuliError(
            f"{folder}: images and labels differ: {shown(missing)} without an image, {shown(additional)} images "
            f"without a label. Name each image for its label: {labels[0]}.png."
        )
    images = [_image(by_label[label]) for label in labels]
    sizes = {image.shape[:2]: label for label, image in reversed(list(zip(labels, images, strict=True)))}
    if len(sizes) > 1:
        listed = " and ".join(f"{width}x{height} ({label!r})" for (height, width), label in list(sizes.items())[:2])
        raise StimuliError(f"{folder}: images have {len(sizes)} sizes: {listed}. Bring all to one size.")
    height, width = next(iter(sizes))
    if min(height, width) < _SMALLEST:
        raise StimuliError(f"{folder}: images of {width}x{height} pixels; expected at least {_SMALLEST} either way.")
    return np.stack(images)


def _image(path: Path) -> npt.NDArray[np.uint8]:
    try:
        with Image.open(path) as opened:
            opened.load()
            image = ImageOps.exif_transpose(opened)
    # Pillow raises whatever a decoder stumbles over.
    except Exception as error:
        raise StimuliError(f"{path}: no readable image: {error}. Copy it again.") from error
    if image.mode not in _MODES:
        raise StimuliError(f"{path}: pixels of mode {image.mode}; save it with 8 bits a channel, gray or RGB.")
    if image.has_transparency_data:
        canvas = Image.new("RGBA", image.size, (BACKGROUND, BACKGROUND, BACKGROUND, 255))
        image = Image.alpha_composite(canvas, image.convert("RGBA"))
    return np.asarray(image.convert("RGB"))
