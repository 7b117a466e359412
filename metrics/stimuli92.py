"""The 92 object images and the human brain data that HMS compares with.

Kriegeskorte et al. (2008), "Matching categorical object representations in inferior temporal cortex of man and
monkey", Neuron 60:1126-1141. Two MATLAB files, as published with rsatoolbox; see `stimuli92_sources` for the getting.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.io
from PIL import Image

from metrics.errors import MetricError, StimuliError
from metrics.rdm import FloatArray, square
from metrics.stimuli92_sources import BRAIN_FILE, FILES, STIMULI_FILE, fetch, sha256_of

Mapping = Literal["stretch", "pad", "crop"]
UInt8Array = npt.NDArray[np.uint8]

BACKGROUND = 128
"""Gray level behind the cut-out objects."""

_CATEGORY_SIZES = (
    ("human_body", 12),
    ("human_face", 12),
    ("nonhuman_body", 12),
    ("nonhuman_face", 12),
    ("natural_object", 23),
    ("artificial_object", 21),
)
_CATEGORIES = tuple(name for name, size in _CATEGORY_SIZES for _ in range(size))
LABELS92 = tuple(f"{number:02d}_{category}" for number, category in enumerate(_CATEGORIES, start=1))
"""The labels that this project gives the stimuli, in the order of the source, which names none."""


@dataclass(frozen=True)
class Stimuli92:
    """Images and RDMs of the 92 stimuli, all in one order.

    `images` (92, 175, 175, 3) uint8 on gray 128. `labels`: "01_human_body" ... "92_artificial_object"; the source
    has no names. `categories`: one of six each. `human_rdms` (4 subjects, 2 sessions, 92, 92) float64: bilateral
    human IT, 1 - Pearson correlation. `human_rdm` (92, 92): their mean, the reference of HMS. `monkey_rdm` (92, 92):
    674 neurons of monkey IT.
    """

    images: UInt8Array
    labels: tuple[str, ...]
    categories: tuple[str, ...]
    human_rdms: FloatArray
    human_rdm: FloatArray
    monkey_rdm: FloatArray


def load_stimuli92(root: Path) -> Stimuli92:
    """Read the two files in `root`; StimuliError when one is missing or its checksum is wrong."""
    for name, expected in FILES.items():
        path = root / name
        if not path.is_file():
            raise StimuliError(f"{path} is missing. Get it with: hms data stimuli92")
        found = sha256_of(path)
        if found != expected:
            raise StimuliError(
                f"{path} has sha256 {found}, expected {expected}. Delete it and get it again with: hms data stimuli92"
            )
    brain = scipy.io.loadmat(root / BRAIN_FILE)["RDMs"][0]
    human_rdms = np.array([[session["RDM"] for session in subject] for subject in brain], dtype=np.float64)
    supplement: dict[str, Any] = scipy.io.loadmat(root / STIMULI_FILE)
    return Stimuli92(
        images=np.stack([item["image"] for item in supplement["stimuli_92objs"][0]]),
        labels=LABELS92,
        categories=_CATEGORIES,
        human_rdms=human_rdms,
        human_rdm=human_rdms.mean(axis=(0, 1)),
        monkey_rdm=square(supplement["RDMs_mIT_hIT_fig1"][0, 0]["RDM"]),
    )


def prepare_stimuli92(
    root: Path, source: Path | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Stimuli92:
    """Bring the two files into `root`, unless they are there, and read them.

    Sources in order: the folder `source`, the web, the source distribution of rsatoolbox 0.0.4 (95 MB) by pip.
    Files are verified by checksum and land by rename. `progress(what, done bytes, total bytes)`.
    Raises StimuliError, when all sources fail, with the files, checksums and folder for doing it by hand.
    """
    fetch(root, source, progress)
    return load_stimuli92(root)


def resize_stimuli(
    images: npt.NDArray[np.uint8], height: int, width: int, mapping: Mapping = "stretch"
) -> npt.NDArray[np.uint8]:
    """Images (n, h, w, 3) uint8 at a network's size, (n, height, width, 3) uint8, by an antialiased bilinear filter.

    The paper does not say how square images became frames: "stretch" fills the frame and changes proportions; "pad"
    keeps the whole image on gray 128; "crop" keeps proportions and cuts what does not fit. MetricError on other input.
    """
    if mapping not in get_args(Mapping):
        raise MetricError(f"Unknown mapping {mapping!r}; choose one of: {', '.join(get_args(Mapping))}.")
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        raise MetricError(f"Images are {images.dtype} of shape {images.shape}; expected uint8 (n, h, w, 3).")
    if height < 1 or width < 1:
        raise MetricError(f"The target size is {height} x {width}; both must be at least 1 pixel.")
    return np.stack([_resize(Image.fromarray(image), height, width, mapping) for image in images])


def _resize(image: Image.Image, height: int, width: int, mapping: Mapping) -> npt.NDArray[np.uint8]:
    bilinear = Image.Resampling.BILINEAR
    if mapping == "stretch":
        return np.asarray(image.resize((width, height), bilinear))
    if mapping == "crop":
        scale = max(width / image.width, height / image.height)
        left, top = (image.width - width / scale) / 2, (image.height - height / scale) / 2
        # Rounding must not put the box outside of the image.
        left, top = max(left, 0.0), max(top, 0.0)
        box = (left, top, image.width - left, image.height - top)
        return np.asarray(image.resize((width, height), bilinear, box=box))
    scale = min(width / image.width, height / image.height)
    inner = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    canvas = Image.new("RGB", (width, height), (BACKGROUND,) * 3)
    canvas.paste(image.resize(inner, bilinear), ((width - inner[0]) // 2, (height - inner[1]) // 2))
    return np.asarray(canvas)
