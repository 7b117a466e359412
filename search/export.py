"""The store and the trials' artifacts -> a folder of tidy tables that needs no database: what reports read.

`search.json` (the search), `trials`, `epochs` and `attempts` (CSV and Parquet), `brain.npz` (the reference RDMs),
`trials/NNNNNN/*.npz`.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from metrics.hms import since_epoch_0
from metrics.metric import Metric
from search.attempts_export import attempts_table
from search.brain_export import write_brain
from search.checkpoints import SHOWN, WEIGHTS, fetch_artifacts, settle
from search.errors import FileDamaged
from search.logged_metrics import as_described, metric_columns
from search.paths import RunFolder
from search.store import State, Store

FIRST_COLUMNS = ("status", "finish", "reason", "unmoved", "loss", "epochs_planned", "epochs_trained", "stable_epoch")
LAST_COLUMNS = ("n_parameters", "device", "precision", "threads")
# Columns of a metric that stand beside it, whether or not a trial got so far as to have them.
BESIDE = {"hms": ("rho_a",), "mse": ("mse_previous_frame", "mse_test")}


def export_tables(store: Store, name: str, folder: RunFolder, data_root: Path, out: Path | None = None) -> Path:
    """Write all tables of the search `name` to `out` (default: `tables` in its run folder); the folder's path."""
    out = out or folder.tables
    out.mkdir(parents=True, exist_ok=True)
    search = store.search(name)
    trials, epochs = trials_table(store, name), epochs_table(store, name)
    for table, stem in ((trials, "trials"), (epochs, "epochs"), (attempts_table(store, name), "attempts")):
        _replace(out / f"{stem}.csv", lambda path, table=table: table.to_csv(path, index=False))
        _replace(out / f"{stem}.parquet", lambda path, table=table: _typed(table).to_parquet(path, index=False))
    trial_seconds = [job["result"].get("seconds", {}) for job in store.jobs(name)]
    document = search_document(search, trials, epochs, trial_seconds)
    document["warnings"] += fetch_artifacts(store, name, folder, SHOWN)
    brain, missing = write_brain(out, data_root, search["config"])
    document |= brain
    document["warnings"] += missing
    text = json.dumps(document, indent=1, default=str, allow_nan=False)
    _replace(out / "search.json", lambda path: path.write_text(text, encoding="utf-8"))
    for tid in trials["tid"]:
        _copy_artifacts(folder.trial(int(tid)), out / "trials" / f"{int(tid):06d}")
    return out


def trials_table(store: Store, name: str) -> pd.DataFrame:
    """One row a trial, by tid; undefined metrics are empty, with the status that says why."""
    metrics = as_described(store.search(name).get("metrics"))
    rows, fixed = [], result_columns(metrics)
    for job in store.jobs(name):
        result = job.get("result") or {}
        row: dict[str, Any] = {"tid": job["tid"], "point": job["point"], "replicate": job["replicate"]}
        row["state"] = State(job["state"]).name
        row |= {column: result.get(column) for column in fixed}
        row |= {key: value for key, value in metric_columns(metrics, result).items() if key not in row}
        row |= {
            "owner": _owner(job),
            "attempts": job.get("attempt", 0),
            "preemptions": job.get("preemptions", 0),
            "book_time": _first_start(job),
            "end_time": job.get("refresh_time") if job["state"] in (State.DONE, State.ERROR) else None,
            "seconds": sum((result.get("seconds") or {}).values()) or None,
            "error": (job.get("error") or {}).get("message"),
        }
        row |= {f"result.{key}": value for key, value in (result.get("imported") or {}).items()}
        row |= {f"param.{key}": value for key, value in job["params"].items()}
        rows.append(row)
    columns = ["tid", "point", "replicate", "state", *fixed, "owner", "attempts", "preemptions"]
    columns += ["book_time", "end_time", "seconds", "error"]
    table = pd.DataFrame(rows)
    return table.reindex(columns=[*columns, *(c for c in table.columns if c not in columns)])


def result_columns(metrics: Mapping[str, Metric]) -> list[str]:
    """The columns that every trial has: how it ended, its metrics, those of its best-validation network, where it ran.

    Others that a metric gives follow at the end of the table.
    """
    own = [column for name in metrics for column in (name, f"{name}_status", *BESIDE.get(name, ()))]
    return [*FIRST_COLUMNS, *own, "best_epoch", *(f"{name}_best" for name in metrics), *LAST_COLUMNS]


def epochs_table(store: Store, name: str) -> pd.DataFrame:
    """One row an evaluated epoch of a trial, by (tid, epoch)."""
    rows = list(store.epochs(name))
    table = pd.DataFrame(rows)
    if rows and "hms" in table:
        table["hms_since_epoch_0"] = since_epoch_0([{"hms": None, **row} for row in rows])
    first = ["tid", "epoch", "attempt"]
    for metric in as_described(store.search(name).get("metrics")):
        first += [metric, f"{metric}_status", *(["mse_previous_frame"] if metric == "mse" else [])]
    first += ["train_loss", "val_loss", "learning_rate", "window_sd", "stable"]
    rest = [column for column in table.columns if column not in first and column not in ("_id", "exp_key")]
    return table.reindex(columns=[*first, *rest])


def search_document(
    search: dict[str, Any], trials: pd.DataFrame, epochs: pd.DataFrame, trial_seconds: list[dict[str, float]]
) -> dict[str, Any]:
    """`search.json`: what ran, on what, when, and where the time went (seconds, summed over trials)."""
    config, metrics = search["config"], as_described(search.get("metrics"))
    parts = dict.fromkeys(["training", "validation", *(metric.part for metric in metrics.values())])
    done = trials["state"] == "DONE"
    seconds = {"preparation": float(search.get("preparation_seconds") or 0.0)}
    seconds |= {part: float(epochs[f"seconds_{part}"].sum()) for part in parts if f"seconds_{part}" in epochs}
    seconds |= {
        part: sum(job[part] for job in trial_seconds if part in job) for part in ("conclusion", "checkpoint", "store")
    }
    devices = sorted({str(d).partition(":")[0] for d in trials.loc[done, "device"].dropna()})
    mixed = len(devices) > 1 or any(device != config["training"]["device"] for device in devices)
    materials = search.get("materials") or {}
    return {
        "name": search["exp_key"],
        "config": config,
        "hashes": search["hashes"],
        "provenance": search["provenance"],
        "created": search.get("created"),
        "exported": datetime.now().astimezone().isoformat(timespec="seconds"),
        "finished": bool(search.get("finished")),
        "planned_trials": search.get("max_trials", config["search"]["max_trials"]),
        "algorithm": config["search"]["algorithm"],
        "replicates": config["search"]["replicates"],
        "stopping": config["stopping"],
        "metrics": search.get("metrics") or [metric.description() for metric in metrics.values()],
        "data": _data(materials),
        "materials": materials,
        "mse_windows_digest": (materials.get("digests") or {}).get("mse_windows"),
        "imported": search.get("imported") or {},
        "reduced_sizes": {} if "imported" in search else reduced_sizes(config),
        "mixed_precision": mixed,
        "wall_seconds": search.get("wall_seconds"),
        "seconds": seconds,
        "warnings": list(materials.get("warnings") or []),
        "rerun_command": search.get("command"),
    }


def _data(materials: dict[str, Any]) -> dict[str, Any]:
    """The video in a few words: what a report prints and a comparison needs."""
    video = materials.get("video")
    if not video:
        return {}
    splits = video["splits"]
    data = {"name": Path(video["path"]).name, **{key: video[key] for key in ("kind", "size", "resize", "fingerprint")}}
    data["splits"] = {
        split: {key: entry[key] for key in ("frames", "recordings", "previous_frame_mse")}
        for split, entry in splits.items()
    }
    return data | {"held_out": video["held_out"], "warnings": video["warnings"]}


def reduced_sizes(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Where a search differs in size or footage from the paper's: quantity -> {ours, paper}."""
    matching, network, training = config["metrics"]["matching"], config["network"], config["training"]

    def sampled(name: str) -> str:
        distribution = config["space"].get(name)
        if distribution is None:
            return str(training[name])
        values = distribution.get("values") or [distribution["low"], distribution["high"]]
        return f"{min(values)}..{max(values)}" if min(values) != max(values) else str(values[0])

    pairs = {
        "frame size (height x width, pixels)": (f"{config['data']['height']}x{config['data']['width']}", "128x160"),
        "channels": ("/".join(map(str, network["channels"])), "3/48/96/192"),
        "frames a sequence": (training["nt"], 10),
        "training sequences an epoch": (sampled("train_sequences"), "100..1900"),
        "validation sequences": (sampled("val_sequences"), "100..1900"),
        "planned epochs": (sampled("epochs"), "10..390"),
        "Gazoobian objects": (matching["objects"], 100),
        "images an object": (matching["views"], 12),
        "matching trials": (matching["trials"], 500),
        "gallery images": (matching["gallery"], 50),
        "MSE windows": (config["metrics"]["mse"]["max_windows"] or "all", "all"),
        "frames of a static clip": (config["metrics"]["hms"]["frames"], 5),
        "networks": (config["search"]["max_trials"], 95),
        "video": (config["data"]["dataset"], "kitti"),
    }
    return {key: {"ours": ours, "paper": paper} for key, (ours, paper) in pairs.items() if ours != paper}


def export_weights(store: Store, name: str, folder: RunFolder, out: Path) -> list[Path]:
    """Write the weights that were kept of finished trials to `out/trials/NNNNNN/`, from this machine or the store.

    Raises:
        FileDamaged: some are not whole in the store; the others are written.
    """
    settle(store, name, folder)
    there = RunFolder(out)
    done = [job["tid"] for job in store.jobs(name) if job["state"] == State.DONE]
    for tid in done:
        _copy_artifacts(folder.trial(tid), there.trial(tid), WEIGHTS)
    missed = fetch_artifacts(store, name, there, WEIGHTS)
    if missed:
        raise FileDamaged("; ".join(missed))
    return [path for tid in done for file in WEIGHTS if (path := there.trial(tid) / file).exists()]


def _copy_artifacts(source: Path, target: Path, names: Iterable[str] = SHOWN) -> None:
    for name in names:
        if (source / name).exists():
            target.mkdir(parents=True, exist_ok=True)
            _replace(target / name, lambda path, name=name: shutil.copyfile(source / name, path))


def _owner(job: dict[str, Any]) -> str | None:
    attempts: Iterable[dict[str, Any]] = job.get("history") or []
    owners = [job.get("owner"), *[attempt.get("owner") for attempt in reversed(list(attempts))]]
    owner = next((o for o in owners if o), None)
    if isinstance(owner, dict):
        return f"{owner.get('host')}:{owner.get('pid')}:{owner.get('device')}"
    return owner


def _first_start(job: dict[str, Any]) -> Any:
    starts = [attempt["began"] for attempt in job["history"] if attempt.get("began")]
    return starts[0] if starts else job.get("book_time")


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Text in place of columns that mix numbers with other values, for which Parquet has no type."""
    kinds = {column: pd.api.types.infer_dtype(table[column], skipna=True) for column in table.columns}
    mixed = [column for column, kind in kinds.items() if kind in ("mixed", "mixed-integer")]
    return table.assign(**{column: table[column].map(str, na_action="ignore") for column in mixed})


def _replace(path: Path, write: Any) -> None:
    temporary = path.with_name(f"{path.stem}.part{path.suffix}")
    write(temporary)
    temporary.replace(path)
