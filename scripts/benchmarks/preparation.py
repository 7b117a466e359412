"""Preparing a KITTI of full length: frames/s, memory, and what a `kill -9` in the middle costs.

    python scripts/benchmarks/preparation.py                     41,000 frames in 60 drives; half an hour on 2 cores
    python scripts/benchmarks/preparation.py --frames 2000 --drives 6 --distinct 50 --size 188x621
    python scripts/benchmarks/preparation.py --parts resume      only the killed and resumed build
    python scripts/benchmarks/preparation.py --folder DIR        where 0.5 GB of images and 5 GB of caches go

The source is synthetic: PNGs of KITTI's size in KITTI's raw layout, smooth shapes that move under sensor noise, about
as large as KITTI's own (0.8 MB). Only `--distinct` images are drawn; the other names are hard links to them. Each name
is listed, fingerprinted, opened, decoded and resized like any other, but the system reads the same few hundred images
from memory again and again: a disk that is slower than the decoder is not measured.

`whole` builds in one go. `resume` builds once more, is killed with SIGKILL at half of the frames, and is run again.
Each build is a process of its own. Memory: `anonymous` is what the process holds itself, asked every 0.1 s; `resident`
(the kernel's peak) counts the mapped pages of the finished cache too, which can be dropped at any time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.data.build import usable_cores
from prednet.data.kitti import prepare_kitti

MIB = 2**20


@dataclass(frozen=True)
class Build:
    """One build process: seconds it ran, frames that it reported, its peaks of memory in bytes."""

    seconds: float
    done: int
    anonymous: int
    resident: int


def main() -> None:
    """Write the source, build, kill, resume; print what each took."""
    options = parse_options()
    if options.build:
        build(*options.build)
        return
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="preparation-", dir=options.folder) as name:
        folder = Path(name)
        height, width = (int(side) for side in options.size.split("x"))
        needed = 2 * options.frames * 128 * 160 * 3 + options.distinct * height * width * 3
        if shutil.disk_usage(folder).free < needed:
            raise SystemExit(f"{folder}: {needed / 1e9:.1f} GB are needed. Next: --folder DIR on a larger disk")
        started = time.perf_counter()
        size = write_source(folder / "kitti", options.frames, options.drives, options.distinct, (height, width))
        print(
            f"source: {options.frames} PNGs of {height}x{width}, {options.distinct} distinct, {options.drives} drives,"
            f" {size / 1e6:.2f} MB each, written in {time.perf_counter() - started:.0f} s; {usable_cores()} cores",
            flush=True,
        )
        whole = None
        if "whole" in options.parts.split(","):
            whole = run_build(folder / "kitti", folder / "whole")
            rate = options.frames / whole.seconds
            show("in one go", whole, f"{rate:.0f} frames/s, {size * rate / 1e6:.0f} MB/s of PNG")
            shutil.rmtree(folder / "whole")
        if "resume" in options.parts.split(","):
            killed = run_build(folder / "kitti", folder / "killed", kill_at=options.frames // 2)
            show(f"killed at frame {killed.done}", killed, f"{killed.done / killed.seconds:.0f} frames/s")
            resumed = run_build(folder / "kitti", folder / "killed")
            show("resumed", resumed, "the rest")
            again = whole.seconds if whole else options.frames * killed.seconds / killed.done
            how = "of the build in one go" if whole else "that all frames take at the rate until the kill"
            saved = again - resumed.seconds
            lost = killed.seconds - saved
            print(f"saved by resuming: {saved:.0f} s of the {again:.0f} s {how}; lost by the kill: {lost:.0f} s")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=41_000, help="(default: %(default)s)")
    parser.add_argument("--drives", type=int, default=60, help="(default: %(default)s)")
    parser.add_argument("--distinct", type=int, default=300, help="different images (default: %(default)s)")
    parser.add_argument("--size", default="375x1242", help="height x width of the source (default: %(default)s)")
    parser.add_argument("--parts", default="whole,resume", help="(default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the temporary files go (default: the system's)")
    parser.add_argument("--build", nargs=2, type=Path, metavar=("SOURCE", "DEST"), help=argparse.SUPPRESS)
    return parser.parse_args()


def write_source(root: Path, frames: int, drives: int, distinct: int, size: tuple[int, int]) -> float:
    """Write drives of KITTI's raw layout; the mean bytes of an image."""
    images = root.parent / "images"
    images.mkdir()
    files = [images / f"{index}.png" for index in range(distinct)]
    for index, file in enumerate(files):
        Image.fromarray(picture(index, size)).save(file, compress_level=6)
    total = 0
    for drive in range(drives):
        folder = root / "2011_09_26" / f"2011_09_26_drive_{drive + 1:04d}_sync" / "image_03" / "data"
        folder.mkdir(parents=True)
        first, stop = frames * drive // drives, frames * (drive + 1) // drives
        for number in range(first, stop):
            os.link(files[number % distinct], folder / f"{number - first:010d}.png")
            total += files[number % distinct].stat().st_size
    return total / frames


def picture(index: int, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Smooth shapes that move with the index, under noise of 3 levels; (height, width, 3) uint8."""
    height, width = size
    y, x = np.ogrid[:height, :width]
    rng = np.random.default_rng(index)
    channels = [
        120 + 60 * np.sin((x + 7 * index) / (23 + 5 * c)) * np.cos(y / (17 + 3 * c)) + 40 * (y > height / 2)
        for c in range(3)
    ]
    noisy = np.stack(channels, axis=2) + rng.normal(0, 3, (height, width, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def build(source: Path, dest: Path) -> None:
    """What the processes do: build, and say how many frames are done."""

    def tell(what: str, done: int, total: int) -> None:
        if what == "decoding frames":
            print(done, flush=True)

    prepare_kitti(source, dest, progress=tell)


def run_build(source: Path, dest: Path, kill_at: int | None = None) -> Build:
    """Build in a process of its own, which is killed when it has done `kill_at` frames."""
    started = time.perf_counter()
    command = [sys.executable, __file__, "--build", str(source), str(dest)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    done = 0
    for line in process.stdout:
        done = int(line)
        if kill_at is not None and done >= kill_at:
            process.send_signal(signal.SIGKILL)
            break
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    expected = 0 if kill_at is None else -signal.SIGKILL
    if process.returncode != expected:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Build(time.perf_counter() - started, done, peak[0], usage.ru_maxrss * 1024)


def show(what: str, build: Build, more: str) -> None:
    """One line for one build."""
    memory = f"peak anonymous {build.anonymous / MIB:.0f} MiB, resident {build.resident / MIB:.0f} MiB"
    print(f"{what}: {build.seconds:.1f} s, {more}; {memory}", flush=True)


def _watch(pid: int, peak: list[int]) -> None:
    while True:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return
        held = [int(line.split()[1]) for line in lines if line.startswith("RssAnon")]
        if not held:  # it has ended, and waits to be asked for its exit status
            return
        peak[0] = max(peak[0], held[0] * 1024)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
