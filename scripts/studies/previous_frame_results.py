"""What `previous_frame_study.py` writes: `epochs.csv`, `table.md`, `curves.png`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

MOVING = 0.001  # previous-frame MSE of a clip, above which there is motion to predict
_LINE, _BASELINE = "#0072B2", "#D55E00"  # of Okabe & Ito (2008)


def write_results(out: Path, rows: Sequence[Mapping[str, Any]], whole: Mapping[str, float]) -> None:
    """Write the three files, each whole.

    Args:
        out: folder.
        rows: seed, clip, epoch, mse, previous_frame_mse, n_windows of the held-out parts.
        whole: clip -> previous-frame MSE of the clip, both parts.
    """
    epochs = pd.DataFrame(rows).sort_values(["seed", "clip", "epoch"])
    epochs["clip_previous_frame_mse"] = epochs["clip"].map(whole)
    _replace(out / "epochs.csv", lambda path: epochs.to_csv(path, index=False))
    _replace(out / "table.md", lambda path: path.write_text(table(epochs), encoding="utf-8"))
    _replace(out / "curves.png", lambda path: draw(epochs, path))


def table(epochs: pd.DataFrame) -> str:
    """A Markdown table of the last epoch, over the seeds that have it, and what was and wasn't reached."""
    reached = epochs.groupby("seed")["epoch"].max()
    last = int(reached.max())
    behind = [f"seed {seed} is at epoch {epoch}" for seed, epoch in reached.items() if epoch < last]
    epochs = epochs[epochs["seed"].isin(reached.index[reached == last])]
    seeds = epochs["seed"].nunique()
    counted = ", ".join(str(seed) for seed in sorted(epochs["seed"].unique()))
    lines = [
        f"Epoch {last}, seeds {counted}, held-out windows; mean ± standard deviation over seeds (ddof 1). Ratio: MSE "
        "over previous-frame MSE, lower is better, below 1 beats it.",
        *([f"Not counted: {', '.join(behind)}."] if behind else []),
        "",
        "| clip | previous frame, whole clip | previous frame, held out | windows | MSE | ratio | seeds below 1 | "
        "first epoch below 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    missed, moving = [], 0
    for clip, part in by_motion(epochs):
        final = part[part["epoch"] == last]
        ratio = final["mse"] / final["previous_frame_mse"]
        below = int((ratio < 1).sum())
        curve = part.assign(ratio=part["mse"] / part["previous_frame_mse"]).groupby("epoch")["ratio"].mean()
        first = next((str(epoch) for epoch, value in curve.items() if value < 1), "never")
        row = final.iloc[0]
        lines.append(
            f"| {clip} | {row['clip_previous_frame_mse']:.5f} | {row['previous_frame_mse']:.5f} | {row['n_windows']} | "
            f"{_spread(final['mse'], 5)} | {_spread(ratio, 3)} | {below} of {seeds} | {first} |"
        )
        if row["clip_previous_frame_mse"] > MOVING:
            moving += 1
            if below < seeds:
                missed.append(f"{clip} ({ratio.mean():.2f}, {below} of {seeds} seeds)")
    lines += ["", f"Of {moving} clips above {MOVING}, below the baseline with every seed: {moving - len(missed)}."]
    if missed:
        lines.append(f"Not reached: {', '.join(missed)}.")
    return "\n".join(lines) + "\n"


def by_motion(epochs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """(clip, its rows), most motion first."""
    parts = [(str(clip), part) for clip, part in epochs.groupby("clip")]
    return sorted(parts, key=lambda part: -part[1]["clip_previous_frame_mse"].iloc[0])


def draw(epochs: pd.DataFrame, path: Path) -> None:
    """A panel a clip: mean of MSE / previous-frame MSE over seeds, and the range of the seeds."""
    clips = by_motion(epochs)
    columns = min(4, len(clips))
    rows = -(-len(clips) // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns, 2.3 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, (clip, part) in zip(grid.flat, clips, strict=False):
        _draw_clip(axes, clip, part)
    for axes in list(grid.flat)[len(clips) :]:
        axes.set_axis_off()
    seeds = epochs["seed"].nunique()
    figure.supxlabel("epoch", fontsize=9)
    figure.supylabel(f"held-out MSE / previous-frame MSE (mean and range, {seeds} seeds)", fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_clip(axes: Axes, clip: str, part: pd.DataFrame) -> None:
    ratios = part.assign(ratio=part["mse"] / part["previous_frame_mse"]).groupby("epoch")["ratio"]
    mean, low, high = ratios.mean(), ratios.min(), ratios.max()
    axes.axhline(1, color=_BASELINE, linewidth=1, linestyle="--")
    axes.fill_between(mean.index, low, high, color=_LINE, alpha=0.25, linewidth=0)
    axes.plot(mean.index, mean, color=_LINE, linewidth=1.4)
    axes.set_yscale("log")
    axes.set_ylim(0.4, 30)
    axes.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.text(
        0.98, 0.95, f"{mean.iloc[-1]:.2f}", transform=axes.transAxes, ha="right", va="top", color=_LINE, fontsize=9
    )
    previous = part["previous_frame_mse"].iloc[0]
    axes.set_title(f"{clip}\nprevious frame {previous:.4f}", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _spread(values: pd.Series, digits: int) -> str:
    spread = f" ± {values.std():.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    write(temporary)
    temporary.replace(path)
