"""The pool of natural images: photographs in a folder, and the crops of them that count as images."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.images import decode_image
from psychophysics.config import ImagesSection
from psychophysics.errors import StimuliError
from psychophysics.stimuli.files import document_sha256
from psychophysics.stimuli.photographs import collect_photographs

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"})
PHOTOGRAPHS = "photographs"


@dataclass(frozen=True)
class ImagePool:
    """All crops of all photographs below a folder.

    Attributes:
        root: the folder.
        photos: paths below it, sorted.
        section: how they are cropped.
        seed: of the places of further crops.
    """

    root: Path
    photos: tuple[str, ...]
    section: ImagesSection
    seed: int

    def __len__(self) -> int:
        """Images in the pool; image i is crop `i % crops_per_photo` of photograph `i // crops_per_photo`."""
        return len(self.photos) * self.section.crops_per_photo

    @property
    def photo_of(self) -> NDArray[np.intp]:
        """(n_images,): the number of the photograph of each image."""
        return np.repeat(np.arange(len(self.photos)), self.section.crops_per_photo)

    def name(self, image: int) -> str:
        """`photograph#crop`."""
        photo, crop = divmod(image, self.section.crops_per_photo)
        return f"{self.photos[photo]}#{crop}"

    def folder_label(self, image: int) -> str:
        """The folder in which the photograph lies, for pools with one folder a class."""
        return str(Path(self.photos[image // self.section.crops_per_photo]).parent)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the names and sizes of the photographs and of how they are cropped."""
        sizes = [(photo, (self.root / photo).stat().st_size) for photo in self.photos]
        cropping = self.section.model_dump(exclude={"pool", "labels"})
        return document_sha256([sizes, cropping, self.seed])

    def load(self, images: Sequence[int], height: int, width: int) -> NDArray[np.uint8]:
        """(n, height, width, 3) uint8 of some images of the pool.

        Raises:
            StimuliError, DataError: a photograph is gone or damaged.
        """
        result = np.empty((len(images), height, width, 3), np.uint8)
        for row, image in enumerate(images):
            photo, crop = divmod(image, self.section.crops_per_photo)
            path = self.root / self.photos[photo]
            if not path.is_file():
                raise StimuliError(f"{path} is missing: it was in the pool when the build began. Next: put it back")
            pixels = _decoded(path)
            box = self._box(photo, crop, pixels.shape[:2], height / width)
            picture = Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR, box=box)
            result[row] = np.asarray(picture)
        return result

    def _box(self, photo: int, crop: int, size: tuple[int, ...], aspect: float) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) in pixels of the photograph; crop 0 is central."""
        high, wide = size
        largest = min(wide, high / aspect)  # width of the largest crop of this aspect
        share, x, y = self.section.keep, 0.5, 0.5
        if crop > 0:
            rng = np.random.default_rng([self.seed, crop, *self.photos[photo].encode()])
            share, x, y = rng.uniform(self.section.smallest, 1), rng.uniform(), rng.uniform()
        w, h = share * largest, share * largest * aspect
        left, top = x * (wide - w), y * (high - h)
        return left, top, left + w, top + h


def open_pool(section: ImagesSection, seed: int, study: Path) -> ImagePool:
    """The pool that a configuration names; packaged photographs are first written into the study's folder.

    Raises:
        StimuliError: the folder is missing or holds no images.
    """
    root = collect_photographs(study / PHOTOGRAPHS) if section.pool == PHOTOGRAPHS else Path(section.pool).expanduser()
    if not root.is_dir():
        raise StimuliError(
            f"images.pool is {section.pool}, which is no folder: give a folder of images, or `{PHOTOGRAPHS}`"
        )
    found = (path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    photos = tuple(sorted(path.relative_to(root).as_posix() for path in found))
    if not photos:
        raise StimuliError(
            f"{root} holds no images ({', '.join(sorted(SUFFIXES))}): images.pool needs a folder of some"
        )
    return ImagePool(root, photos, section, seed)


@lru_cache(maxsize=4)
def _decoded(path: Path) -> NDArray[np.uint8]:
    return decode_image(path)[0]
