"""How hard object matching is, by kind of trial, for pixels, random convolutions, random and briefly trained PredNets.

    python scripts/studies/gazoobian_calibration.py [--size 64x80 128x160] [--preset mix_l mix_m] [--trials 2000]
                                                    [--dial mixed.yaw=60 ...] [--sequences 800 200] [--threads 2]

For each size one PredNet learns from the demo clips (`--sequences` sequences of ten frames, for each size). Then for
each preset a Markdown table: accuracy with its 95 % interval over objects, and what each network scores with the
published code's trials (mode legacy); below it the trained network less the random one it began as, paired. Pools that
are missing are rendered under HMS_DATA first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from metrics.gazoobian.objects import ObjectSet
from metrics.matching import MatchingResult, matching_accuracy
from metrics.matching_intervals import compare_networks, intervals_of, trial_objects
from metrics.matching_legacy import FLOOR, draw_legacy_trials, identical_share
from metrics.matching_trials import MatchingTrials
from metrics.next_frame import next_frame_mse, previous_frame_mse
from prednet.config import PredNetConfig
from prednet.data.sequences import Windows, epoch_batches, evaluation_windows
from prednet.features import predict, top_layer_features
from prednet.model import PredNet
from prednet.train import TrainConfig, Trainer
from search.matching_pool import open_pool, parsed_dials, pool_trials
from search.materials import open_video
from search.metric_sections import MatchingSection
from search.paths import data_root
from search.trial_sections import DataSection

NETWORK = PredNetConfig(stack_sizes=(3, 8, 16, 32))
TRAINING = TrainConfig(learning_rate=5e-3, grad_clip=0.5)  # comes as far as 1e-3 in less than half of the steps
NT, BATCH, FRAMES, IMAGES_AT_ONCE = 10, 4, 5, 64
GRID = 8, 10  # blocks of blurred pixels
RANDOM, TRAINED = "PredNet, random", "PredNet, trained"

Features = NDArray[np.float32]  # (time steps, images, features)


def main() -> None:
    """Train, evaluate, print."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    for (height, width), sequences in zip(options.size, options.sequences, strict=True):
        started = time.perf_counter()
        trained, text = train(height, width, sequences)
        print(f"\n{height}x{width}: {text}; {time.perf_counter() - started:.0f} s", flush=True)
        networks = {RANDOM: PredNet(NETWORK, seed=0), f"{RANDOM}, another": PredNet(NETWORK, seed=1), TRAINED: trained}
        for preset in options.preset:
            matching = MatchingSection(preset=preset, trials=options.trials, dials=parsed_dials(options.dial))
            pool = Pool.of(matching, height, width)
            print_table(f"{preset} {height}x{width}", pool, networks)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=_size, nargs="+", default=[(64, 80), (128, 160)], metavar="HEIGHTxWIDTH")
    parser.add_argument("--sequences", type=int, nargs="+", default=[800, 200], help="trained on, for each size")
    parser.add_argument("--preset", nargs="+", default=["mix_l", "mix_m"], choices=["mix_l", "mix_m"])
    parser.add_argument("--dial", nargs="*", default=[], metavar="NAME=WIDTH", help="instead of the presets'")
    parser.add_argument("--trials", type=int, default=2000, help="default: %(default)s; a search draws 500")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if len(options.size) != len(options.sequences):
        parser.error("give as many --sequences as --size")
    return options


def _size(text: str) -> tuple[int, int]:
    height, width = (int(part) for part in text.split("x"))
    NETWORK.check_frames(height, width)
    return height, width


@dataclass(frozen=True)
class Pool:
    """A pool with its trials of both modes."""

    objects: ObjectSet
    clean: MatchingTrials
    legacy: MatchingTrials

    @classmethod
    def of(cls, matching: MatchingSection, height: int, width: int) -> Pool:
        """The pool of a configuration, rendered under HMS_DATA where it is missing."""
        objects = open_pool(matching, data_root(), height, width)
        legacy = draw_legacy_trials(objects, n_trials=matching.trials, gallery=matching.gallery, seed=matching.seed)
        return cls(objects, pool_trials(objects, matching), legacy)


def train(height: int, width: int, sequences: int) -> tuple[PredNet, str]:
    """A network that has seen so many sequences of the demo, and its error beside repeating the previous frame."""
    dataset = open_video(DataSection(height=height, width=width), data_root())
    trainer = Trainer(PredNet(NETWORK, seed=0), TRAINING)
    for batch in epoch_batches(Windows(dataset.split("train"), NT, "all"), sequences, BATCH, 0, 0):
        trainer.step(batch)
    windows = evaluation_windows(dataset.split("val"), NT, 16)
    frames = windows.take(np.arange(len(windows))).astype(np.float32) / 255.0
    error = next_frame_mse(predict(trainer.model, windows.take(np.arange(len(windows)))), frames).mean()
    previous = previous_frame_mse(frames).mean()
    return trainer.model, f"{sequences} sequences, held-out MSE {error:.5f}, of the previous frame {previous:.5f}"


def simple_features(images: NDArray[np.uint8]) -> Iterator[tuple[str, Features]]:
    """What needs no learning: names and features, less the mean image where the features are pixels."""
    pixels = images.astype(np.float32) / 255.0
    count, height, width = pixels.shape[:3]
    blocks = pixels.reshape(count, GRID[0], height // GRID[0], GRID[1], width // GRID[1], 3)
    for name, values in {
        "pixels": pixels,
        "grey pixels": pixels.mean(axis=3),
        f"pixels in {GRID[0]}x{GRID[1]} blocks": blocks.mean(axis=(2, 4)),
        "silhouette": (images != 128).any(axis=3).astype(np.float32),
    }.items():
        flat = values.reshape(count, -1)
        yield name, (flat - flat.mean(axis=0))[None]
    yield "random convolutions", random_convolutions(pixels)[None]


def random_convolutions(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Three layers of 5x5 filters with stride 2 and ReLU, weights after He et al. (2015): (images, features)."""
    generator = torch.Generator().manual_seed(0)
    channels = (3, 32, 64, 128)
    filters = [
        torch.randn(after, before, 5, 5, generator=generator) * (2.0 / (25 * before)) ** 0.5
        for before, after in pairwise(channels)
    ]
    found = []
    for low in range(0, len(pixels), IMAGES_AT_ONCE):
        units = torch.from_numpy(pixels[low : low + IMAGES_AT_ONCE]).permute(0, 3, 1, 2) - 0.5
        for weights in filters:
            units = torch.relu(torch.nn.functional.conv2d(units, weights, stride=2, padding=2))
        found.append(units.flatten(1).numpy())
    return np.concatenate(found)


def network_features(model: PredNet, images: NDArray[np.uint8]) -> Features:
    """R of the top layer at all steps but the first, as in a search."""
    starts = range(0, len(images), IMAGES_AT_ONCE)
    return np.concatenate(
        [top_layer_features(model, images[low : low + IMAGES_AT_ONCE], nt=FRAMES) for low in starts], axis=1
    )


def print_table(title: str, pool: Pool, networks: dict[str, PredNet]) -> None:
    """Accuracy of everything on one pool."""
    kinds = ("overall", *dict.fromkeys(pool.clean.kind.tolist()))
    print(f"\n**{title}**, {len(pool.clean.probe)} trials, chance {pool.clean.chance:.2f}\n")
    print(f"| | {' | '.join(kinds)} | legacy |\n|---|{'---|' * (len(kinds) + 1)}")
    answers = {}
    for name, features in simple_features(pool.objects.images):
        print_row(name, pool, kinds, features)
    for name, model in networks.items():
        answers[name] = print_row(name, pool, kinds, network_features(model, pool.objects.images))
    print(f"\nlegacy: pictures alike in {identical_share(pool.legacy):.3f} of these trials, {FLOOR:.3f} expected")
    first, second = answers[TRAINED].correct, answers[RANDOM].correct
    if first is not None and second is not None:
        compared = compare_networks(first, second, trial_objects(pool.objects, pool.clean), pool.clean.kind)
        print(
            "trained less random: " + "; ".join(f"{kind} {found}, p {found.p:.4f}" for kind, found in compared.items())
        )


def print_row(name: str, pool: Pool, kinds: tuple[str, ...], features: Features) -> MatchingResult:
    """One line of the table."""
    result = matching_accuracy(features, pool.clean)
    legacy = matching_accuracy(features, pool.legacy)
    found = intervals_of(result, pool.objects, pool.clean)
    cells = [
        f"{found[kind].value:.2f} ({found[kind].low:.2f}-{found[kind].high:.2f})" if found else result.status
        for kind in kinds
    ]
    shown = f"{legacy.accuracy:.2f}" if legacy.accuracy is not None else legacy.status
    print(f"| {name} | {' | '.join(cells)} | {shown} |", flush=True)
    return result


if __name__ == "__main__":
    main()
