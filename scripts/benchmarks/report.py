"""What a report costs: seconds and bytes by part, for an invented search.

    python scripts/benchmarks/report.py [--trials 2000] [--evaluations 30] [--predictions 20] [--out FOLDER] [--profile]

An exported search is invented in the layout that `hms export` writes: the paper's space, `--evaluations` evaluations of
each trial, 16 workers, a few failed, collapsed and diverged trials, predicted frames of the best `--predictions`. Then
the report is written as `hms report` does, one row a step. `--out` keeps the tables and the report; `--profile` prints
the functions that take longest.
"""

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from search.report import analyse, read_tables
from search.report.drawings import drawings, print_all
from search.report.exports import export_tables
from search.report.page import render
from search.report.trial_pages import paged_trials, write_trial_pages

WORKERS = 16
EVERY = 5
STIMULI = 92
FILTERS = [f"filter_size_{kind}{layer}" for kind in ("A", "Ahat", "R") for layer in (1, 2, 3)]


def main() -> None:
    """Invent a search, write its report, print what each step took."""
    options = parse_options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        tables = invent(folder / "tables", options.trials, options.evaluations, options.predictions)
        profile = cProfile.Profile()
        if options.profile:
            profile.enable()
        measure(tables, folder / "report")
        if options.profile:
            profile.disable()
            pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


def measure(tables: Path, out: Path) -> None:
    """Every step of `write_report`, timed; then the sizes."""
    times: list[tuple[str, float, float]] = []

    def timed(name: str, step: Callable[[], Any]) -> Any:
        started, worked = time.perf_counter(), time.process_time()
        result = step()
        times.append((name, time.perf_counter() - started, time.process_time() - worked))
        return result

    loaded = timed("load tables", lambda: read_tables(tables))
    analysis = timed("statistics", lambda: analyse(loaded))
    drawn = timed("prepare figures", lambda: drawings(analysis))
    timed("write CSV", lambda: export_tables(analysis, out / "tables"))
    timed("PNG and PDF", lambda: print_all(drawn, out / "figures"))
    paged = paged_trials(loaded)
    timed("pages of trials", lambda: write_trial_pages(loaded, paged, out))
    text = timed("page", lambda: render(analysis, drawn, paged))
    (out / "report.html").write_text(text, encoding="utf-8")
    total, work = (sum(column) for column in list(zip(*times, strict=True))[1:])
    print(f"{len(loaded.trials):,} trials, {len(loaded.epochs):,} evaluations\n")
    for name, seconds, worked in [*times, ("all", total, work)]:
        print(f"{name:<20}{seconds:7.2f} s {seconds / total:6.0%}   CPU {worked:7.2f} s")
    pages = [file.stat().st_size for file in (out / "trials").iterdir()]
    print(f"\ntrials/ {sum(pages) / 1e6:.1f} MB in {len(pages)} files")
    print(f"report.html {len(text.encode()) / 1e6:.2f} MB, of which")
    for name, size in sorted(parts(text).items(), key=lambda item: -item[1]):
        print(f"  {name:<18}{size / 1e6:6.2f} MB")


def parts(text: str) -> dict[str, int]:
    """Bytes of the page by section and by data block."""
    sizes: dict[str, int] = {}
    for piece in text.split("<section id=")[1:]:
        body = piece.partition("</section>")[0]
        sizes[body.partition('"')[2].partition('"')[0]] = len(body.encode())
    for piece in text.split("<script ")[1:]:
        name = piece.partition('id="')[2].partition('"')[0]
        sizes[f"data: {name}"] = len(piece.partition("</script>")[0].encode())
    return sizes


def invent(folder: Path, trials: int, evaluations: int, predictions: int) -> Path:
    """Write the tables of a search that never ran; `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    table, epochs = trials_and_epochs(rng, trials, evaluations)
    table.to_csv(folder / "trials.csv", index=False)
    epochs.to_csv(folder / "epochs.csv", index=False)
    (folder / "search.json").write_text(json.dumps(record(table, epochs)), encoding="utf-8")
    categories = np.array(["animate"] * 48 + ["inanimate"] * 44)
    people = np.array([distances(rng, 40) for _ in range(4)])
    labels = np.array([f"{i:02d}" for i in range(STIMULI)])
    np.savez(folder / "brain.npz", human_rdm=people.mean(0), subject_rdms=people, categories=categories, labels=labels)
    for tid in table.sort_values("hms", ascending=False)["tid"].head(predictions):
        own = folder / "trials" / f"{tid:06d}"
        own.mkdir(parents=True, exist_ok=True)
        np.savez(own / "rdm.npz", rdm=distances(rng, 40))
        frames = rng.integers(0, 255, (2, 10, 16, 20, 3), dtype=np.uint8).repeat(8, 2).repeat(8, 3)
        np.savez(own / "predictions.npz", true=frames, predicted=frames // 2, clip=np.array(["a", "b"]))
    return folder


def trials_and_epochs(rng: np.random.Generator, n: int, evaluations: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row a trial and one row an evaluation; learning rates away from 1e-3 do worse."""
    last = EVERY * (evaluations - 1)
    point = {
        "epochs": np.full(n, last),
        "batch_size": 2 * rng.integers(1, 5, n),
        "train_sequences": 100 * rng.integers(1, 20, n),
        "val_sequences": 100 * rng.integers(1, 20, n),
        "learning_rate": 10.0 ** -rng.integers(1, 6, n),
        **{name: rng.integers(1, 9, n) for name in FILTERS},
    }
    skill = np.clip(1 - 0.3 * abs(np.log10(point["learning_rate"]) + 3) + rng.normal(0, 0.12, n), 0.05, 1.1)
    tids, steps = np.repeat(np.arange(n), evaluations), np.tile(np.arange(evaluations) * EVERY, n)
    grown = skill[tids] * (1 - np.exp(-steps / 20))
    noise = rng.normal(0, 1, (3, len(tids)))
    mse = 0.15 * np.exp(-3 * grown + 0.05 * noise[1]) + 0.004
    epochs = pd.DataFrame(
        {"tid": tids, "epoch": steps, "attempt": 1, "hms": 0.05 + 0.1 * grown + 0.005 * noise[0], "mse": mse}
        | {"accuracy": np.clip(0.05 + 0.4 * grown + 0.02 * noise[2], 0, 1), "mse_previous_frame": 0.011}
        | {"train_loss": 3 * mse, "val_loss": 3.2 * mse, "seconds_training": 40.0, "seconds_hms": 3.0}
    )
    dead, diverged, failed = (n * share // 100 for share in (2, 2, 1))
    broken = (epochs["tid"] < dead + diverged) & (epochs["epoch"] > 10)
    epochs.loc[broken, ["hms", "accuracy"]] = np.nan
    epochs.loc[broken & (epochs["tid"] < diverged), "mse"] = np.nan
    for metric in ("hms", "mse", "accuracy"):
        epochs[f"{metric}_status"] = np.where(
            epochs[metric].notna(), "ok", np.where(epochs["tid"] < diverged, "diverged", "undefined_collapsed")
        )
    carried = [name for name in epochs.columns if name.partition("_")[0] in ("hms", "mse", "accuracy")]
    trials = epochs.groupby("tid", as_index=False).last().loc[:, ["tid", *carried]]
    trials[["hms", "mse", "accuracy"]] = epochs[epochs["epoch"] == last][["hms", "mse", "accuracy"]].to_numpy()
    trials = trials.assign(
        point=trials["tid"], replicate=0, state="DONE", finish="max_epochs", reason="", unmoved=False,
        epochs_planned=last, epochs_trained=last, owner=[f"node{tid % WORKERS}:1:cuda:0" for tid in range(n)],
        attempts=1, device="cuda", precision="bf16", seconds=1200.0 + rng.normal(0, 90, n), error="",
    )  # fmt: skip
    trials.loc[: dead + diverged - 1, "finish"] = "collapsed"
    trials.loc[: diverged - 1, "finish"] = "diverged"
    trials.loc[n - failed :, ["state", "finish", "error"]] = ["ERROR", "", "RuntimeError: out of memory"]
    begun = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(1300 * (trials["tid"] // WORKERS), unit="s")
    trials["book_time"] = begun
    trials["end_time"] = begun + pd.to_timedelta(trials["seconds"], unit="s")
    return trials.assign(**{f"param.{name}": values for name, values in point.items()}), epochs


def record(trials: pd.DataFrame, epochs: pd.DataFrame) -> dict[str, Any]:
    """`search.json`."""
    return {
        "name": "invented",
        "config": {"search": {"name": "invented", "seed": 1}, "metrics": {"every": EVERY, "matching": {"gallery": 50}}},
        "created": "2024-01-01T00:00:00Z",
        "finished": True,
        "planned_trials": len(trials),
        "algorithm": "rand",
        "stopping": {"rule": "none"},
        "hms_baselines": {"pixels": 0.106, "blurred pixels": 0.122, "animacy": 0.588},
        "noise_ceiling": {"lower": 0.372, "upper": 0.666},
        "wall_seconds": float(trials["seconds"].sum() / WORKERS),
        "seconds": {part: float(epochs[f"seconds_{part}"].sum()) for part in ("training", "hms")},
    }


def distances(rng: np.random.Generator, features: int) -> np.ndarray:
    """An RDM (92, 92): 1 - Pearson between random vectors with two groups."""
    groups = np.repeat([[1.0], [-1.0]], [48, 44], axis=0) * rng.normal(0, 0.5, features)
    return (1 - np.corrcoef(rng.normal(size=(STIMULI, features)) + groups)).astype(np.float32)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--predictions", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
