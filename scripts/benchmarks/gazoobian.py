"""How fast Gazoobian objects are rendered, and what discarding rays by tiles brings.

    python scripts/benchmarks/gazoobian.py [--objects 12] [--size 128x160] [--samples 4] [--workers 2]

Prints images a second of `prepare_gazoobian` into a temporary folder, families and PNG files included, in `--workers`
processes; then of the renderer alone in one process, with the tiles of `metrics.gazoobian.tracing` and without, when
every ray marches singly from the surface of the ball around the object.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from metrics.gazoobian import tracing
from metrics.gazoobian.anatomy import build
from metrics.gazoobian.camera import camera_for
from metrics.gazoobian.dataset import prepare_gazoobian
from metrics.gazoobian.render import palette, render
from metrics.gazoobian.screening import draw_members
from metrics.gazoobian.settings import Settings
from metrics.gazoobian.views import PRESETS, draw_dials, view_names

VIEWS = 12


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=12)
    parser.add_argument("--size", default="128x160", metavar="HEIGHTxWIDTH")
    parser.add_argument("--samples", type=int, default=4, help="rays a pixel")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    height, width = (int(part) for part in options.size.split("x"))
    images = options.objects * VIEWS
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        prepare_gazoobian(
            Path(folder) / "pool",
            objects=options.objects,
            views=VIEWS,
            height=height,
            width=width,
            samples=options.samples,
            workers=options.workers,
        )
        seconds = time.perf_counter() - started
    what = f"{height}x{width}, {options.samples} rays a pixel"
    print(f"pool of {images} images, {what}, {options.workers} processes: {images / seconds:.1f} images/s", flush=True)
    tiles = tracing.TILES
    with_tiles = rendered(options.objects, height, width, options.samples)
    tracing.TILES = (1,)
    without = rendered(options.objects, height, width, options.samples)
    apart = np.abs(np.stack(with_tiles[1]).astype(int) - np.stack(without[1])).max(axis=-1)
    print(f"renderer alone, one process: tiles of {tiles} {images / with_tiles[0]:.1f} images/s, ", end="")
    print(f"without {images / without[0]:.1f}: {without[0] / with_tiles[0]:.1f}x; ", end="")
    print(f"{np.mean(apart > 4):.3%} of pixels differ by more than 4 of 255")


def rendered(objects: int, height: int, width: int, samples: int) -> tuple[float, list[np.ndarray]]:
    """Seconds to render all views of as many objects, the families in turn, and the images."""
    families = Settings("mix_l", objects, VIEWS, height, width, samples, 0).families
    members = [member for number in range(families) for member in draw_members(0, number, -(-objects // families))]
    seconds, pictures = 0.0, []
    for member in members[:objects]:
        dials = [draw_dials(PRESETS["mix_l"], member.seed, view) for view in view_names(VIEWS)]
        scene = build(member)
        started = time.perf_counter()
        cameras, colours = [camera_for(dial) for dial in dials], [palette(member, dial.hue) for dial in dials]
        pictures.append(render(scene, cameras, colours, height=height, width=width, samples=samples))
        seconds += time.perf_counter() - started
    return seconds, pictures


if __name__ == "__main__":
    main()
