"""Speed and memory of training and inference: the plain implementation against the fast paths, fp32 and bf16.

    python scripts/benchmarks/training.py                         the KITTI network: 3x128x160, 48/96/192, 3x3 filters
    python scripts/benchmarks/training.py --network typical       the network of median FLOPs of configs/paper.yaml
    python scripts/benchmarks/training.py --network quickstart    3/8/16/32 channels, 48x64; seconds
    python scripts/benchmarks/training.py --parts training,memory --repeats 7 --threads 1 --device cpu

One step of each version in turn, so that all see the same load of the machine; medians of all turns but the first.
"Plain" is the readable implementation of the tests: autograd, a convolution for each gate. Columns: GFLOP/s of the
convolutions that the plain algorithm needs (`prednet.cost`), the same work for all versions; GFLOP/s of those that the
version really runs, counted; and the latter as a share of the convolution peak that the same run measures
(`convolution_peak.py`). The roofline is what no version with these convolutions can exceed: all of them at the peak,
and nothing else taking any time. Memory: see `step_memory.py`; each version in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from convolution_peak import convolution_peak, timed
from numpy.typing import NDArray
from training_steps import VERSIONS, Action, convolution_flops, features, prediction, training_step

from prednet.config import PredNetConfig
from prednet.cost import count_parameters, flops_per_sequence
from search.config_reader import load_config
from search.paths import data_root
from search.plan.data import data_facts
from search.plan.trials import planned_trials

HERE = Path(__file__).resolve().parent
FEATURE_STEPS = 5
MAKERS: dict[str, Callable[[str, PredNetConfig, NDArray[np.uint8], str], Action]] = {
    "training": training_step,
    "prediction": prediction,
    "R features": features,
}


def main() -> None:
    """Print the tables."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    config, (height, width) = network(options.network)
    print(
        f"torch {torch.__version__}, {options.device}, {options.threads} threads; {options.network}: {height}x{width}, "
        f"channels {_listed(config.stack_sizes)}, filters A {_listed(config.a_filter_sizes)}, Ahat "
        f"{_listed(config.ahat_filter_sizes)}, R {_listed(config.r_filter_sizes)}; {count_parameters(config):,} weights"
    )
    shape = (options.batch, options.nt, height, width, config.stack_sizes[0])
    frames = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    device = torch.device(options.device)
    peaks = {p: convolution_peak(PredNetConfig(), (128, 160), p, device) for p in ("fp32", "bf16")}
    print(f"convolution peak: {peaks['fp32'] / 1e9:.0f} GFLOP/s fp32, {peaks['bf16'] / 1e9:.0f} GFLOP/s bf16")
    parts = options.parts.split(",")
    if "training" in parts:
        print_speed("training", VERSIONS, config, frames, options, peaks)
    if "inference" in parts:
        print_speed("prediction", VERSIONS[:3], config, frames, options, peaks)
        still = np.repeat(frames[:, :1], FEATURE_STEPS, axis=1)
        print_speed("R features", VERSIONS[:3], config, still, options, peaks)
    if "memory" in parts:
        print_memory(config, (height, width), options)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=["kitti", "typical", "quickstart"], default="kitti")
    parser.add_argument("--parts", default="training,inference,memory", help="which tables (default: %(default)s)")
    parser.add_argument("--nt", type=int, default=10, help="frames a sequence (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="sequences a step (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="turns, after one to warm up (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 (default: %(default)s)")
    return parser.parse_args()


def network(name: str) -> tuple[PredNetConfig, tuple[int, int]]:
    """The architecture of that name, and its frame size."""
    if name == "kitti":
        return PredNetConfig(), (128, 160)
    if name == "quickstart":
        return PredNetConfig(stack_sizes=(3, 8, 16, 32)), (48, 64)
    search = load_config(HERE.parents[1] / "configs" / "paper.yaml")
    size = (search.data.height, search.data.width)
    networks = [trial.plan.network for trial in planned_trials(search, data_facts(search, data_root()))]
    return sorted(networks, key=lambda each: flops_per_sequence(each, *size, nt=1))[len(networks) // 2], size


def print_speed(
    part: str,
    versions: tuple[str, ...],
    config: PredNetConfig,
    frames: NDArray[np.uint8],
    options: argparse.Namespace,
    peaks: dict[str, float],
) -> None:
    """Time the versions in alternation and print their table."""
    batch, nt, height, width = frames.shape[:4]
    actions = {version: MAKERS[part](version, config, frames, options.device) for version in versions}
    ran = {version: convolution_flops(action) for version, action in actions.items()}
    seconds = alternate(actions, options.repeats, torch.device(options.device))
    needed = batch * flops_per_sequence(config, height, width, nt, training=part == "training")
    print(f"\n{part}, batch {batch}, {nt} steps")
    print(
        f"{'':<24}{'s/step':>8}{'sequences/s':>13}{'vs plain':>10}{'GFLOP/s':>9}{'really run':>12}{'of the peak':>13}"
    )
    for version, value in seconds.items():
        peak = peaks["bf16" if "bf16" in version else "fp32"]
        rate = ran[version] / value
        print(
            f"{version:<24}{value:>8.3f}{batch / value:>13.2f}{seconds['plain fp32'] / value:>10.2f}"
            f"{needed / value / 1e9:>9.0f}{rate / 1e9:>12.0f}{100 * rate / peak:>11.0f} %"
        )
    for precision in ("fp32", "bf16"):
        version = f"fast {precision}"
        least = ran[version] / peaks[precision]
        print(
            f"roofline of {version}: {ran[version] / 1e9:.0f} GFLOP ({100 * ran[version] / needed:.0f} % of what plain "
            f"needs) at the peak take {least:.3f} s, {seconds['plain fp32'] / least:.2f} times as fast as plain"
        )


def alternate(actions: dict[str, Action], repeats: int, device: torch.device) -> dict[str, float]:
    """Median seconds of each action, taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            elapsed = timed(action, device)
            if turn:
                seconds[name].append(elapsed)
    return {name: statistics.median(values) for name, values in seconds.items()}


def print_memory(config: PredNetConfig, size: tuple[int, int], options: argparse.Namespace) -> None:
    """Peak memory of each version, measured in processes of their own."""
    print(f"\npeak memory of a training step, batch {options.batch}, {options.nt} steps")
    print(f"{'':<24}{'MiB':>8}{'of plain':>10}")
    given = ["--network", json.dumps(config.to_dict()), "--size", f"{size[0]}x{size[1]}", "--nt", str(options.nt)]
    given += ["--batch", str(options.batch), "--device", options.device, "--threads", str(options.threads)]
    plain = None
    for version in VERSIONS:
        command = [sys.executable, str(HERE / "step_memory.py"), "--version", version, *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        value = int(done.stdout)
        plain = plain or value
        print(f"{version:<24}{value:>8}{100 * value / plain:>8.0f} %")


def _listed(numbers: tuple[int, ...]) -> str:
    return "/".join(map(str, numbers))


if __name__ == "__main__":
    main()
