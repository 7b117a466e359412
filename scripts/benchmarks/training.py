"""Training speed: the plain implementation against the fast path, in float32 and bfloat16.

    python scripts/benchmarks/training.py                                   the KITTI network: 3x128x160, batch 4
    python scripts/benchmarks/training.py --channels 3,8,16,32 --size 64x80  the quickstart's network; seconds
    python scripts/benchmarks/training.py --threads 1 --repeats 7 --device cpu

One training step of each version in turn, so that all see the same load of the machine; medians of all turns but the
first. GFLOP/s counts the multiplications and additions of convolutions, three times the forward pass.
The last lines time the evaluation of the same network: 92 stimuli (all layers) and 720 objects (top layer), 5 steps.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from prednet.config import PredNetConfig
from prednet.cost import count_parameters, flops_per_sequence
from prednet.features import static_clip_features, top_layer_features
from prednet.model import PredNet
from prednet.recurrence import layer_weights
from prednet.train import TrainConfig, Trainer, find_device

PLAIN = Path(__file__).resolve().parents[2] / "tests" / "prednet" / "plain.py"


def main() -> None:
    """Print one table."""
    options = parse_options()
    if options.threads:
        torch.set_num_threads(options.threads)
    config = PredNetConfig(stack_sizes=tuple(int(size) for size in options.channels.split(",")))
    height, width = (int(size) for size in options.size.split("x"))
    config.check_frames(height, width)
    print(
        f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads; channels {options.channels}, "
        f"{height}x{width}, nt {options.nt}, batch {options.batch}, {count_parameters(config):,} parameters"
    )
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (options.batch, options.nt, height, width, config.stack_sizes[0]), dtype=np.uint8)
    steps: dict[str, Callable[[], object]] = {
        "plain fp32": plain_step(config, frames, options.device),
        "fast fp32": fast_step(config, frames, options.device, "fp32"),
        "fast bf16": fast_step(config, frames, options.device, "bf16"),
    }
    seconds = alternate(steps, options.repeats, options.device)
    flops = flops_per_sequence(config, height, width, options.nt, training=True)
    print(f"{'training':<12}{'s/step':>9}{'s/sequence':>12}{'sequences/s':>13}{'vs plain':>10}{'GFLOP/s':>9}")
    for name, value in seconds.items():
        rate = options.batch / value
        ratio = seconds["plain fp32"] / value
        print(f"{name:<12}{value:>9.3f}{1 / rate:>12.4f}{rate:>13.2f}{ratio:>10.2f}{rate * flops / 1e9:>9.0f}")
    if not options.skip_evaluation:
        evaluate(config, (height, width), options.device)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", default="3,48,96,192", help="channels of each layer (default: %(default)s)")
    parser.add_argument("--size", default="128x160", help="height x width (default: %(default)s)")
    parser.add_argument("--nt", type=int, default=10, help="frames a sequence (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="sequences a step (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="turns, after one to warm up (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="of torch; 0: all cores (default)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 (default: %(default)s)")
    parser.add_argument("--skip-evaluation", action="store_true", help="time training only")
    return parser.parse_args()


def plain_step(config: PredNetConfig, frames: np.ndarray, device: str) -> Callable[[], object]:
    """Autograd through the plain implementation, and Adam."""
    plain = load_plain()
    model = PredNet(config).to(find_device(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    weights = layer_weights("L0", config.n_layers)

    def step() -> None:
        batch = torch.from_numpy(frames).to(device).permute(0, 1, 4, 2, 3).float() / 255
        optimizer.zero_grad()
        plain.loss(model, batch, weights).backward()
        optimizer.step()

    return step


def fast_step(config: PredNetConfig, frames: np.ndarray, device: str, precision: str) -> Callable[[], object]:
    """A step of the trainer."""
    settings = TrainConfig(precision="bf16" if precision == "bf16" else "fp32")
    trainer = Trainer(PredNet(config), settings, device)
    return lambda: trainer.step(frames)


def load_plain() -> ModuleType:
    """The plain implementation of the tests, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("plain_prednet", PLAIN)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alternate(steps: dict[str, Callable[[], object]], repeats: int, device: str) -> dict[str, float]:
    """Median seconds of each step, taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(repeats + 1):
        for name, step in steps.items():
            elapsed = timed(step, device)
            if turn:
                seconds[name].append(elapsed)
    return {name: statistics.median(values) for name, values in seconds.items()}


def timed(action: Callable[[], object], device: str) -> float:
    """Seconds that the action takes, work queued on a GPU included."""
    start = time.perf_counter()
    action()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


def evaluate(config: PredNetConfig, size: tuple[int, int], device: str) -> None:
    """Seconds of the forward passes of the two metrics that show static clips."""
    model = PredNet(config).to(find_device(device))
    images = np.random.default_rng(1).integers(0, 256, (720, *size, config.stack_sizes[0]), dtype=np.uint8)

    def stimuli() -> None:
        for _ in static_clip_features(model, images[:92]):
            pass

    print(f"92 stimuli x 5 steps, all layers: {timed(stimuli, device):.2f} s")
    print(f"720 images x 5 steps, top layer: {timed(lambda: top_layer_features(model, images), device):.2f} s")


if __name__ == "__main__":
    main()
