"""Peak memory of training steps of one version, in MiB above what the process held before the first.

    python scripts/benchmarks/step_memory.py --version "fast fp32" [--network '{"stack_sizes": [3, 48, 96, 192]}']
                                             [--size 128x160] [--nt 10] [--batch 4] [--device cpu] [--threads N]

Two steps, so that the moments of Adam and every buffer are there: on a CPU the resident memory of this process (Linux
only), on CUDA what torch has allocated. `scripts/benchmarks/training.py` runs it for each version.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from training_steps import VERSIONS, training_step

from prednet.config import PredNetConfig

MIB = 2**20


def main() -> None:
    """Print one number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", choices=VERSIONS, required=True)
    parser.add_argument("--network", default="{}", help="JSON of a PredNetConfig")
    parser.add_argument("--size", default="128x160", help="height x width")
    parser.add_argument("--nt", type=int, default=10)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = PredNetConfig.from_dict(json.loads(options.network))
    height, width = (int(size) for size in options.size.split("x"))
    shape = (options.batch, options.nt, height, width, config.stack_sizes[0])
    frames = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    small = np.zeros((1, 2, height, width, config.stack_sizes[0]), np.uint8)
    training_step("plain fp32", PredNetConfig(stack_sizes=config.stack_sizes[:1]), small, options.device)()
    step = training_step(options.version, config, frames, options.device)
    on_gpu = torch.device(options.device).type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    else:
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    for _ in range(2):
        step()
    peak = torch.cuda.max_memory_allocated() if on_gpu else resident("VmHWM")
    print(f"{(peak - before) / MIB:.0f}")


def resident(field: str) -> int:
    """Bytes of this process that are in memory, now (`VmRSS`) or at most (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


if __name__ == "__main__":
    main()
