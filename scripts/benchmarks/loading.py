"""Loading ten-frame sequences: our cache against HDF5, zarr, JPEG and PNG files, and against what training consumes.

    python scripts/benchmarks/loading.py                     2,000 frames of the demo clips, both networks, memory
    python scripts/benchmarks/loading.py --frames 400 --seconds 0.5 --networks quickstart
    pip install zarr                                         before it, for a row of zarr (no dependency of ours)

One thread, batches of 4 sequences at random starts, the same starts for all formats; the formats take turns, and the
median of all turns but the first counts. Everything was just written and lies in the page cache: this compares formats,
not disks. The clips are shown again and again until there are so many frames.

`training` is one step of the real trainer on the same batches, in fp32 and bf16, in the same run (the figure of
`training.py`): the KITTI network (3/48/96/192 channels, 128x160) and that of the quickstart (3/8/16/32, 48x64). Exit 1
when our cache loads less than 10 times what the faster of the two consumes.

Memory: two processes read the same cache for several epochs, see `loading_memory.py`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from convolution_peak import timed
from loading_formats import FORMATS, OURS, Frames, Reader, our_windows
from loading_memory import FIELDS, loader_memory
from training import network
from training_steps import training_step

from prednet.data.demo import prepare_demo
from prednet.data.sequences import epoch_order

BATCH = 4
LEAST = 10.0
MIB = 2**20


def main() -> None:
    """Print the tables."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    if "zarr" not in FORMATS:
        print("zarr: left out, it is not installed (pip install zarr)")
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="loading-", dir=options.folder) as folder:
        for name in options.networks.split(","):
            config, size = network(name)
            frames = demo_frames(Path(folder) / "demo", size, options.frames)
            print(f"\n{name}: {len(frames)} frames of {size[0]}x{size[1]}, {frames.nbytes / MIB:.0f} MiB")
            rates = loading_rates(frames, Path(folder) / name, options)
            for what, rate in rates.items():
                ratio = "" if what == OURS else f"   ours is {rates[OURS] / rate:.1f} times as fast"
                print(f"  {what:<22}{rate:>10.0f} sequences/s{ratio}", flush=True)
            consumed = {}
            for version in ("fast fp32", "fast bf16"):
                step = training_step(
                    version,
                    config,
                    frames[: BATCH * options.nt].reshape(BATCH, options.nt, *frames.shape[1:]),
                    options.device,
                )
                consumed[version] = BATCH / median_seconds(step, options.steps, options.device)
                print(f"  training, {version:<12}{consumed[version]:>10.2f} sequences/s, {options.device}")
            ratios[name] = rates[OURS] / max(consumed.values())
            print(f"  our cache loads {ratios[name]:,.0f} times what training consumes (at least {LEAST:g} are wanted)")
        print_memory(Path(folder), options)
    if min(ratios.values()) < LEAST:
        raise SystemExit(f"loading is below {LEAST:g} times of what training consumes")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=2_000, help="(default: %(default)s)")
    parser.add_argument("--nt", type=int, default=10, help="frames a sequence (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=4, help="one of them to warm up (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=3, help="training steps, after one (default: %(default)s)")
    parser.add_argument("--networks", default="kitti,quickstart", help="(default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=4, help="of the loader processes (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="of training (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of training")
    parser.add_argument("--folder", type=Path, help="where the temporary files go (default: the system's)")
    return parser.parse_args()


def demo_frames(folder: Path, size: tuple[int, int], n: int) -> Frames:
    """The demo clips, one after the other, again and again: (n, H, W, 3) uint8."""
    dataset = prepare_demo(folder / f"{size[0]}x{size[1]}", height=size[0], width=size[1])
    clips = np.concatenate([dataset.split(split).frames for split in dataset.meta["splits"]])
    return clips[np.arange(n) % len(clips)]


def loading_rates(frames: Frames, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Sequences/s of each format."""
    readers = {name: write(frames, folder / str(i), options.nt) for i, (name, write) in enumerate(FORMATS.items())}
    starts = epoch_order(len(frames) - options.nt + 1, 4_000, BATCH, 0, 1)
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(options.turns):
        for name, read in readers.items():
            rate = sequences_a_second(read, starts, options.seconds)
            if turn:
                rates[name].append(rate)
    return {name: statistics.median(values) for name, values in rates.items()}


def sequences_a_second(read: Reader, starts: list[np.ndarray], seconds: float) -> float:
    """How many sequences one thread reads in about so many seconds."""
    done, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        batch = starts[(done // BATCH) % len(starts)].tolist()
        read(batch)
        done += len(batch)
    return done / elapsed


def median_seconds(step: object, steps: int, device: str) -> float:
    """Of one training step."""
    times = [timed(step, torch.device(device)) for _ in range(steps + 1)]  # type: ignore[arg-type]
    return statistics.median(times[1:])


def print_memory(folder: Path, options: argparse.Namespace) -> None:
    """Two loader processes on a cache at 128x160, epoch by epoch."""
    frames = demo_frames(folder / "demo", (128, 160), options.frames)
    found = loader_memory(our_windows(frames, folder / "memory", options.nt), epochs=options.epochs)
    size = frames.nbytes / MIB
    print(f"\ntwo loader processes on one cache of {size:.0f} MiB; {found.pickled / 1024:.0f} KiB are sent to each")
    for epoch, row in enumerate(found.epochs):
        cells = [f"{name} " + " / ".join(f"{each[name] / MIB:6.1f}" for each in row) for name in FIELDS]
        print(f"  after epoch {epoch}: {', '.join(cells)} MiB")


if __name__ == "__main__":
    main()
