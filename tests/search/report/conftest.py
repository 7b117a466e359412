"""Tables of a search that never ran: numbers made by a few formulas, in the layout that `hms export` writes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

WriteTables = Callable[..., Path]

CATEGORIES = (
    ["human body"] * 12 + ["human face"] * 12 + ["animal body"] * 12 + ["animal face"] * 12
    + ["natural"] * 23 + ["artificial"] * 21
)  # fmt: skip
UNDEFINED = {"collapsed": "undefined_collapsed", "diverged": "diverged"}


@pytest.fixture
def write_tables(tmp_path: Path) -> WriteTables:
    """A function that writes one invented search into a folder and returns the folder."""

    def write(name: str = "invented", **options: Any) -> Path:
        return invented_search(tmp_path / name / "tables", name=name, **options)

    return write


def _is_complaint(message: ConsoleMessage) -> bool:
    """All but logs, and what Chromium says of its own drawing where there is no graphics card."""
    return message.type != "log" and "GL Driver Message" not in message.text


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., tuple[Page, list[str]]]]:
    """A function that opens a file and waits until it is drawn: the page, and what it complained about."""
    pages: list[Page] = []

    def opened(path: Path, width: int = 1280, scheme: Any = "light") -> tuple[Page, list[str]]:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        page.goto(path.as_uri())
        if path.name == "report.html":
            page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page, complaints

    yield opened
    for page in pages:
        page.close()


def invented_search(
    folder: Path,
    *,
    name: str = "invented",
    trials: int = 40,
    epochs: int = 60,
    replicates: int = 1,
    seed: int = 1,
    diverged: int = 0,
    collapsed: int = 0,
    unfinished: int = 0,
    failed: int = 0,
    constant: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    artifacts: int = 3,
    one_category: bool = False,
    parquet: bool = False,
    record: dict[str, Any] | None = None,
) -> Path:
    """Write the tables; the first trials diverge, the next collapse, the last are unfinished or failed.

    constant: hyperparameters that do not vary; without: metrics that nobody measured.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    rows, curves = [], []
    parameters: dict[str, Any] = {}
    for tid in range(trials):
        if tid % replicates == 0:
            parameters = _point(rng, epochs, constant)
        state = "DONE"
        if tid >= trials - unfinished - failed:
            state = "ERROR" if tid >= trials - failed else ("RUNNING", "NEW")[tid % 2]
        broken = "diverged" if tid < diverged else "collapsed" if tid < diverged + collapsed else ""
        row, history = _trial(rng, tid, parameters, state, broken, replicates, without)
        rows.append(row)
        curves += history
    tables = {"trials": _columns(rows, TRIAL_COLUMNS), "epochs": _columns(curves, EPOCH_COLUMNS)}
    for title, table in tables.items():
        table.to_csv(folder / f"{title}.csv", index=False)
        if parquet:
            table.to_parquet(folder / f"{title}.parquet", index=False)
    description = _record(name, trials, replicates, unfinished, tables["epochs"]) | (record or {})
    (folder / "search.json").write_text(json.dumps(description), encoding="utf-8")
    _brain(folder, rng, one_category)
    done = tables["trials"].query("state == 'DONE'").sort_values("hms", ascending=False)
    for tid in done["tid"].head(artifacts):
        _artifacts(folder / "trials" / f"{int(tid):06d}", rng)
    return folder


def _point(rng: np.random.Generator, epochs: int, constant: tuple[str, ...]) -> dict[str, Any]:
    point = {
        "epochs": int(10 * rng.integers(4, epochs // 10 + 1)),
        "batch_size": int(2 * rng.integers(1, 5)),
        "train_sequences": int(10 * rng.integers(1, 20)),
        "learning_rate": float(10.0 ** -rng.integers(2, 6)),
        "filter_size_A1": int(rng.integers(1, 9)),
        "filter_size_R1": int(rng.integers(1, 9)),
        "loss": ("L0", "Lall")[int(rng.integers(2))],
    }
    fixed = {"epochs": epochs, "batch_size": 4, "train_sequences": 50, "learning_rate": 1e-3, "loss": "L0"}
    return point | {name: fixed.get(name, 3) for name in constant}


def _trial(
    rng: np.random.Generator,
    tid: int,
    parameters: dict[str, Any],
    state: str,
    broken: str,
    replicates: int,
    without: tuple[str, ...],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    skill = np.clip(1 - 0.25 * abs(np.log10(parameters["learning_rate"]) + 3) + rng.normal(0, 0.12), 0.05, 1.1)
    planned = parameters["epochs"]
    last = {"DONE": planned, "RUNNING": planned // 2, "ERROR": 10, "NEW": -1}[state]
    history: list[dict[str, Any]] = []
    for epoch in range(0, last + 1, 5):
        row = _evaluation(rng, tid, epoch, skill, parameters["learning_rate"])
        if broken and epoch >= 5:
            row |= {"hms": None, "hms_status": UNDEFINED[broken], "rho_a": None}
            if broken == "diverged":
                row |= {"mse": None, "mse_status": "diverged", "accuracy": None, "accuracy_status": "diverged"}
            else:
                row |= {"accuracy": None, "accuracy_status": "undefined_constant"}
        recent = [*history[-5:], row]
        values = [item["hms"] for item in recent if item["epoch"] > 0 and item["hms"] is not None]
        row["window_sd"] = float(np.std(values)) if len(values) == 6 else None
        row["stable"] = row["window_sd"] is not None and row["window_sd"] <= 0.01
        row |= {key: None for metric in without for key in (metric, f"{metric}_status")}
        history.append(row)
        if row["stable"] or (broken == "diverged" and epoch >= 5) or (broken == "collapsed" and epoch >= 30):
            break
    end = history[-1] if history else {}
    finish = broken or ("hms_stable" if end.get("stable") else "max_epochs")
    trained = int(end.get("epoch", 0))
    return {
        "tid": tid,
        "point": tid // replicates,
        "replicate": tid % replicates,
        "state": state,
        "status": ("fail" if broken else "ok") if state == "DONE" else "",
        "finish": finish if state == "DONE" else "",
        "reason": f"HMS varied by {end.get('window_sd'):.4f}" if finish == "hms_stable" and state == "DONE" else "",
        "unmoved": False,
        "loss": None if end.get("hms") is None else -end["hms"],
        "epochs_planned": planned,
        "epochs_trained": trained,
        "mse_test": None,
        "n_parameters": 21_000,
        "owner": "" if state == "NEW" else f"host:{tid % 2}",
        "device": "" if state == "NEW" else "cpu",
        "precision": "" if state == "NEW" else "fp32",
        "attempts": 1,
        "preemptions": 0,
        "book_time": "2024-01-01T00:00:00Z",
        "end_time": "2024-01-01T00:01:00Z" if state == "DONE" else "",
        "seconds": 1.5 * trained + 20,
        "error": "Traceback (most recent call last):\nRuntimeError: out of memory" if state == "ERROR" else "",
    } | {key: end.get(key) for key in CARRIED} | {f"param.{k}": v for k, v in parameters.items()}, history


CARRIED = ["hms", "hms_status", "mse", "mse_status", "mse_previous_frame", "accuracy", "accuracy_status", "rho_a"]
TRIAL_COLUMNS = (
    "tid point replicate state status finish reason unmoved loss epochs_planned epochs_trained hms hms_status mse "
    "mse_status mse_previous_frame mse_test accuracy accuracy_status rho_a n_parameters owner device precision "
    "attempts preemptions book_time end_time seconds error"
)
EPOCH_COLUMNS = (
    "tid epoch attempt hms hms_status rho_a mse mse_status mse_previous_frame accuracy accuracy_status train_loss "
    "val_loss learning_rate seconds_training seconds_validation seconds_hms seconds_mse seconds_matching window_sd "
    "stable"
)


def _evaluation(rng: np.random.Generator, tid: int, epoch: int, skill: float, rate: float) -> dict[str, Any]:
    grown = 1 - np.exp(-epoch / 14)
    hms = 0.07 + 0.11 * (skill - 0.3) * grown + rng.normal(0, 0.006)
    mse = 0.004 + 0.16 * np.exp(-2.6 * skill * grown) * np.exp(rng.normal(0, 0.06))
    accuracy = np.clip(0.1 + 0.3 * skill * grown + rng.normal(0, 0.02), 0, 1)
    return {
        "tid": tid, "epoch": epoch, "attempt": 1, "hms": hms, "hms_status": "ok", "rho_a": hms, "mse": mse,
        "mse_status": "ok", "mse_previous_frame": 0.0112, "accuracy": accuracy, "accuracy_status": "ok",
        "train_loss": mse * 3, "val_loss": mse * 3.2, "learning_rate": rate, "seconds_training": 6.5,
        "seconds_validation": 0.6, "seconds_hms": 0.4, "seconds_mse": 0.2, "seconds_matching": 1.1,
    }  # fmt: skip


def _columns(rows: list[dict[str, Any]], columns: str) -> pd.DataFrame:
    """Columns of the schema first, then the hyperparameters; a file without rows still has its header."""
    known = columns.split()
    extra = [key for key in (rows[0] if rows else {}) if key not in known]
    return pd.DataFrame(rows, columns=[*known, *extra])


def _record(name: str, trials: int, replicates: int, unfinished: int, epochs: pd.DataFrame) -> dict[str, Any]:
    parts = {
        part: float(epochs[f"seconds_{part}"].sum()) for part in ("training", "validation", "hms", "mse", "matching")
    }
    return {
        "name": name,
        "config": {
            "search": {"name": name, "algorithm": "rand", "guide": "hms", "max_trials": trials},
            "data": {"dataset": "demo", "height": 64, "width": 80},
            "metrics": {"every": 5, "matching": {"gallery": 50, "trials": 100}},
        },
        "hashes": {"search": "5f" * 32, "space": "a1" * 32},
        "provenance": {"python": "3.11", "torch": "2.9", "seed": 0, "devices": ["cpu"]},
        "created": "2024-01-01T00:00:00Z",
        "exported": "2024-01-01T01:00:00Z",
        "finished": unfinished == 0,
        "planned_trials": trials,
        "data": {"fingerprint": "c3" * 32, "size": [64, 80],
                 "splits": {"train": {"frames": 380}, "val": {"frames": 96}, "test": {"frames": 0}}},
        "reduced_sizes": {"frame size (pixels)": {"ours": "64x80", "paper": "128x160"},
                          "channels": {"ours": "3/8/16/32", "paper": "3/48/96/192"},
                          "matching objects": {"ours": 60, "paper": 100}},
        "hms_baselines": {"pixels": 0.106, "grey pixels": 0.033, "blurred pixels": 0.122, "silhouette": 0.125,
                          "animacy": 0.588, "monkey IT": 0.439},
        "noise_ceiling": {"lower": 0.372, "upper": 0.666},
        "human_self_similarity": {"pearson_mean": 0.19012, "pearson_sd": 0.08957, "spearman_mean": 0.18099,
                                  "spearman_sd": 0.0862, "pairs": 28},
        "warnings": [],
        "rerun_command": f"hms run configs/quickstart.yaml --name {name}",
        "mixed_precision": False,
        "wall_seconds": 0.55 * sum(parts.values()),
        "seconds": {"preparation": 21.0, **parts, "checkpoint": 9.0, "store": 1.2},
        "mse_windows_digest": "d4" * 32,
        "algorithm": "rand",
        "replicates": replicates,
        "stopping": {"rule": "stability", "window": 25, "tolerance": 0.01, "ddof": 0, "min_epochs": 0},
    }  # fmt: skip


def _brain(folder: Path, rng: np.random.Generator, one_category: bool) -> None:
    categories = np.array(["object"] * 92 if one_category else CATEGORIES)
    different = (categories[:, None] != categories[None, :]).astype(float)
    people = []
    for _ in range(4):
        noise = rng.normal(0, 0.2, (92, 92))
        rdm = 0.5 * different + 0.5 + (noise + noise.T) / 2
        np.fill_diagonal(rdm, 0)
        people.append(rdm)
    labels = np.array([f"{i + 1:02d}_{category}" for i, category in enumerate(categories)])
    subjects = np.array(people, dtype=np.float32)
    np.savez(
        folder / "brain.npz", human_rdm=subjects.mean(0), categories=categories, labels=labels, subject_rdms=subjects
    )


def _artifacts(folder: Path, rng: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    features = rng.normal(size=(92, 40)) + np.repeat(rng.normal(size=(46, 40)), 2, axis=0)
    places = [(layer, step) for layer in ("R0", "R1", "") for step in (1, 2, -1) if layer or step > 0]
    np.savez(
        folder / "rdm.npz",
        rdm=(1 - np.corrcoef(features)).astype(np.float32),
        part_layer=np.array([layer for layer, _ in places]),
        part_step=np.array([step for _, step in places]),
        part_hms=np.array([np.nan if place == ("R0", 2) else 0.01 * i for i, place in enumerate(places)]),
    )
    y, x = np.mgrid[0:64, 0:80]
    true = np.empty((2, 10, 64, 80, 3), dtype=np.uint8)
    for window in range(2):
        for step in range(10):
            disc = (x - 15 - 5 * step) ** 2 + (y - 32 + 8 * window) ** 2 < 150
            true[window, step] = np.stack([100 + x, 120 + y, 160 - y], axis=-1)
            true[window, step][disc] = (230, 160, 40)
    predicted = np.roll(true, 1, axis=1) // 4 * 3 + true // 4
    np.savez(folder / "predictions.npz", true=true, predicted=predicted, clip=np.array(["clip a", "clip b"]))
