"""How many convolution FLOP/s this machine reaches at best, on the convolutions that PredNets are made of.

    python scripts/benchmarks/convolution_peak.py [--channels 3,48,96,192] [--size 128x160] [--device cpu] [--threads N]

Forward convolutions with 3x3 filters, operands channels last, batch 4: those of the gates and of A of every layer, in
float32 and bfloat16, each repeated, and the best of all kept. No training step can be faster than its convolutions at
this rate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from prednet.config import PredNetConfig

BATCH, REPEATS = 4, 6
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def main() -> None:
    """Print the best rate of each dtype."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", default="3,48,96,192")
    parser.add_argument("--size", default="128x160")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = PredNetConfig(stack_sizes=tuple(int(size) for size in options.channels.split(",")))
    height, width = (int(size) for size in options.size.split("x"))
    for precision in DTYPES:
        rate = convolution_peak(config, (height, width), precision, torch.device(options.device))
        print(f"{precision}: {rate / 1e9:.0f} GFLOP/s")


def convolution_peak(config: PredNetConfig, size: tuple[int, int], precision: str, device: torch.device) -> float:
    """FLOP/s of the fastest convolution; a multiplication and an addition count as two."""
    a, r = config.stack_sizes, config.r_stack_sizes
    shapes = [(n, config.gate_inputs(n), 4 * r[n]) for n in range(config.n_layers)]
    shapes += [(n, 2 * a[n], a[n + 1]) for n in range(config.n_layers - 1)]
    return max(
        _rate(inputs, outputs, size[0] >> n, size[1] >> n, DTYPES[precision], device) for n, inputs, outputs in shapes
    )


@torch.inference_mode()
def _rate(inputs: int, outputs: int, height: int, width: int, dtype: torch.dtype, device: torch.device) -> float:
    x = torch.rand(BATCH, inputs, height, width, device=device).to(dtype, memory_format=torch.channels_last)
    kernel = torch.rand(outputs, inputs, 3, 3, device=device).to(dtype, memory_format=torch.channels_last)
    flops = 2.0 * BATCH * inputs * outputs * 9 * height * width

    def convolve() -> object:
        return F.conv2d(x, kernel, padding=1)

    return flops / min(timed(convolve, device) for _ in range(REPEATS))


def timed(action: Callable[[], object], device: torch.device) -> float:
    """Seconds that the action takes, work queued on a GPU included."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
