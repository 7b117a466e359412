"""What evaluation costs beside training: seconds for HMS, next-frame MSE and object matching of one network.

    python scripts/benchmarks/evaluation.py [--height 128 --width 160 --channels 3,48,96,192] [--objects 100 --views 12]
                                            [--sequences 500] [--threads N]

The defaults are the reference network of the paper at the KITTI size, with the paper-scale matching pool, on the demo
clips. The share is that of one evaluation in five epochs of `--sequences` training sequences each, which are timed on
one batch of four.
"""

import argparse
import time

import numpy as np
import torch

from prednet.data.sequences import Windows, epoch_batches
from prednet.model import PredNet
from prednet.train import Trainer
from search.config_reader import parse_config
from search.evaluate import evaluate
from search.materials import prepare
from search.networks import plan_trial
from search.paths import data_root

BATCH = 4


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--height", type=int, default=128)
    parser.add_argument("--width", type=int, default=160)
    parser.add_argument("--channels", default="3,48,96,192")
    parser.add_argument("--objects", type=int, default=100)
    parser.add_argument("--views", type=int, default=12)
    parser.add_argument("--sequences", type=int, default=500, help="training sequences an epoch")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    document = {
        "search": {"name": "bench"},
        "space": {"learning_rate": {"choice": [1e-3]}},
        "data": {"height": options.height, "width": options.width},
        "network": {"channels": [int(n) for n in options.channels.split(",")]},
        "training": {"precision": options.precision, "device": "cpu"},
        "metrics": {"matching": {"objects": options.objects, "views": options.views}},
    }
    config = parse_config(document, source="the options")
    materials = prepare(config, data_root())
    plan = plan_trial(config, {})
    model = PredNet(plan.network, seed=0)
    trainer = Trainer(model, plan.training, "cpu")
    windows = Windows(materials.dataset.split("train"), config.training.nt, "all")
    frames = next(iter(epoch_batches(windows, BATCH, BATCH, seed=0, epoch=1)))
    steps = []
    for _ in range(3):
        started = time.perf_counter()
        trainer.step(frames)
        steps.append(time.perf_counter() - started)
    training = float(np.median(steps)) / BATCH * options.sequences * config.metrics.every
    row, _ = evaluate(model, materials)
    seconds = {part: row[f"seconds_{part}"] for part in ("hms", "mse", "matching")}
    total = sum(seconds.values())
    print(f"{options.channels} at {options.height}x{options.width}, {options.threads} threads, {options.precision}")
    print(
        f"training: {BATCH / float(np.median(steps)):.2f} sequences/s; {config.metrics.every} epochs {training:.0f} s"
    )
    for part, value in seconds.items():
        print(f"{part}: {value:.2f} s")
    print(f"one evaluation {total:.1f} s = {100 * total / (total + training):.1f} % of five epochs with it")


if __name__ == "__main__":
    main()
