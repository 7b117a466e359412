"""What evaluation costs beside training: seconds of HMS, next-frame MSE and object matching over a whole search space.

    python scripts/benchmarks/evaluation.py [--config configs/paper.yaml] [--set KEY=VALUE ...] [--threads N]
                                            [--stimuli 24 --images 32 --windows 4 --batch 2] [--check small|large|none]

The trials are those that the driver will propose. The network of median FLOPs is timed: a training step and a
validation loss of `--batch` sequences, HMS on `--stimuli` images, MSE on `--windows` windows, matching on `--images`
images, each scaled to what a trial does; matching's cosines and the RDM are timed at full scale. All other trials
follow from their FLOPs, with a rate for each part; `--check` times the network at the 5th or 95th percentile of FLOPs
too and prints what was predicted for it. Frames are those of the demo.

The share is that of one evaluation in the time of `metrics.every` epochs, validation and evaluation included, each
trial with its own filters and numbers of sequences.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from metrics.matching import IMAGES_AT_ONCE, StreamedMatching
from metrics.rdm import StreamedGram
from prednet.features import predict, static_clip_features, top_layer_features
from prednet.model import PredNet
from prednet.train import Trainer
from search.config import SearchConfig
from search.config_reader import load_config
from search.materials import Materials, prepare
from search.networks import TrialPlan
from search.paths import data_root
from search.plan.data import data_facts
from search.plan.estimate import evaluation_share
from search.plan.trials import STIMULI, PlannedTrial, planned_trials

PARTS = ("training", "validation", "hms", "mse", "matching")
PERCENTILES = (5, 50, 95)
LARGEST_SHARE = 0.10


def main() -> None:
    """Print the tables."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    config = load_config(options.config, options.set)
    demo = config.model_copy(update={"data": config.data.model_copy(update={"dataset": "demo"})})
    materials = prepare(demo, data_root())
    trials = planned_trials(config, data_facts(config, data_root()))
    ranked = sorted(trials, key=lambda trial: trial.training.flops / trial.plan.train_sequences)
    median = ranked[len(ranked) // 2]
    full = amounts(median, materials)
    size = f"{config.data.height}x{config.data.width}"
    print(f"{config.search.name}: {len(trials)} trials at {size}; the network of trial {median.tid} is the median")
    print(f"{options.threads} threads, training in {config.training.precision}, evaluation in fp32")
    rates: dict[str, float] = {}
    for part in PARTS:
        seconds = measure(part, median, materials, options, full[part])
        rates[part] = work(median, part, full[part]) / seconds
        unit = "an epoch" if part in ("training", "validation") else f"{full[part]} clips"
        print(f"{part:<11}{seconds:>9.1f} s {unit:<12}{rates[part] / 1e9:>6.0f} GFLOP/s", flush=True)
    print_shares(config, [predicted(trial, materials, rates) for trial in trials])
    if options.check != "none":
        other = ranked[len(ranked) // 20 if options.check == "small" else -1 - len(ranked) // 20]
        print_check(other, materials, options, rates)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/paper.yaml"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--stimuli", type=int, default=24)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--check", choices=["small", "large", "none"], default="small")
    return parser.parse_args()


def amounts(trial: PlannedTrial, materials: Materials) -> dict[str, int]:
    """Sequences or clips of one epoch or one evaluation, by part."""
    return {
        "training": trial.plan.train_sequences,
        "validation": min(trial.plan.val_sequences, trial.data.val_windows),
        "hms": STIMULI,
        "mse": trial.data.mse_windows,
        "matching": len(StreamedMatching(materials.trials).images),
    }


def work(trial: PlannedTrial, part: str, count: int) -> float:
    """Nominal FLOPs of `count` sequences or clips: all steps in full, whatever is left out of the first and last."""
    metrics = trial.config.metrics
    frames = {"hms": metrics.hms.frames, "matching": metrics.matching.frames}.get(part, trial.config.training.nt)
    return trial.work(count, frames, 1, training=part == "training").flops


def predicted(trial: PlannedTrial, materials: Materials, rates: dict[str, float]) -> dict[str, float]:
    """Seconds of each part of a trial, from its FLOPs."""
    return {part: work(trial, part, count) / rates[part] for part, count in amounts(trial, materials).items()}


def measure(part: str, trial: PlannedTrial, materials: Materials, options: argparse.Namespace, full: int) -> float:
    """Seconds of `full` sequences or clips, timed on fewer."""
    config, plan = trial.config, trial.plan
    model = PredNet(plan.network)
    if part in ("training", "validation"):
        trainer = Trainer(model, plan.training, "cpu")
        frames = materials.mse_windows.take(np.arange(options.batch))
        step = trainer.step if part == "training" else trainer.loss
        return timed(lambda: step(frames)) / options.batch * full
    if part == "mse":
        frames = materials.mse_windows.take(np.arange(options.windows))
        return timed(lambda: predict(model, frames)) / options.windows * full
    if part == "hms":
        images = materials.stimulus_images[: options.stimuli]
        clips = static_clip_features(model, images, nt=config.metrics.hms.frames)
        return timed(lambda: sum(1 for _ in clips), warm=False) / options.stimuli * full + gram_seconds(plan, config)
    images = materials.objects.images[: options.images]
    shown = timed(lambda: top_layer_features(model, images, nt=config.metrics.matching.frames), warm=False)
    return shown / options.images * full + cosine_seconds(plan, config, materials)


def gram_seconds(plan: TrialPlan, config: SearchConfig) -> float:
    """Seconds of the RDM of all features."""
    gram, rng, seconds = StreamedGram(STIMULI), np.random.default_rng(0), 0.0
    for n, channels in enumerate(plan.network.r_stack_sizes):
        width = channels * (config.data.height >> n) * (config.data.width >> n)
        features = rng.standard_normal((STIMULI, width), dtype=np.float32)
        seconds += timed(partial(gram.update, features), warm=False)
    return seconds * (config.metrics.hms.frames - 1)


def cosine_seconds(plan: TrialPlan, config: SearchConfig, materials: Materials) -> float:
    """Seconds of all cosines of object matching."""
    top = plan.network.n_layers - 1
    width = plan.network.r_stack_sizes[top] * (config.data.height >> top) * (config.data.width >> top)
    steps = config.metrics.matching.frames - 1
    features = np.random.default_rng(0).standard_normal((steps, IMAGES_AT_ONCE, width), dtype=np.float32)
    streamed = StreamedMatching(materials.trials)

    def stream() -> None:
        for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
            streamed.update(features[:, : len(streamed.images) - start])

    return timed(stream, warm=False)


def timed(action: Callable[[], object], *, warm: bool = True) -> float:
    """Seconds of an action, after one to warm up."""
    if warm:
        action()
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def share(seconds: dict[str, float], every: int) -> float:
    """Share of one evaluation in `every` epochs with it."""
    evaluation = seconds["hms"] + seconds["mse"] + seconds["matching"]
    return evaluation_share(evaluation, seconds["training"] + seconds["validation"], every)


def print_shares(config: SearchConfig, trials: list[dict[str, float]]) -> None:
    """The share at percentiles of the trials, for `metrics.every` of the configuration and multiples of it."""
    print("\nmetrics.every   share of evaluation: " + ", ".join(f"{p} %" for p in PERCENTILES) + " of trials, largest")
    every = config.metrics.every
    fits: int | None = None
    for epochs in (every * factor for factor in range(1, 21)):
        shares = [share(seconds, epochs) for seconds in trials]
        *values, largest = (*np.percentile(shares, PERCENTILES), max(shares))
        print(f"{epochs:<15} " + ", ".join(f"{value:.1%}" for value in values) + f", {largest:.1%}")
        if values[-1] <= LARGEST_SHARE:
            fits = epochs
            break
    if fits is not None:
        print(f"{LARGEST_SHARE:.0%} or less in 95 % of trials: metrics.every={fits}, stopping.window a multiple of it")


def print_check(
    trial: PlannedTrial, materials: Materials, options: argparse.Namespace, rates: dict[str, float]
) -> None:
    """Predicted and measured seconds of another network."""
    expected, full = predicted(trial, materials, rates), amounts(trial, materials)
    found = {part: measure(part, trial, materials, options, full[part]) for part in PARTS}
    print(f"\ncheck: trial {trial.tid}, predicted and measured seconds")
    for part in PARTS:
        print(f"{part:<11}{expected[part]:>9.1f} {found[part]:>9.1f}")
    every = trial.config.metrics.every
    print(f"share      {share(expected, every):>9.1%} {share(found, every):>9.1%}")


if __name__ == "__main__":
    main()
