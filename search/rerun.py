"""`hms rerun NAME --tid T`: train the network of one trial again and compare its numbers with those that are logged.

It only reads the store, and works in a folder of its own. The trial's seed, parameters, device and threads are those
that are stored, so that on a CPU of the same kind, with the same versions, the numbers are the same bits.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from search.config import SearchConfig
from search.errors import UsageError
from search.logged_metrics import metrics_of
from search.order import TrialOrder
from search.paths import RunFolder, data_root
from search.place import Place
from search.run import check_materials, stored_config
from search.store import Document
from search.trial import Trial
from search.trial_process import LEARNERS

Say = Callable[[str], None]


def rerun(place: Place, name: str, tid: int, out: Path | None, device: str | None, say: Say) -> Path:
    """Train trial `tid` again, to where its stopping rule ends it; the folder with `epochs.csv`, weights and pictures.

    With `stopping.threshold_sd`, which judges by the networks finished at that moment, it trains to the end.

    Raises:
        UsageError: no such trial; the folder holds something already; the search was imported.
        SearchChanged: the data are not those that the search was begun with.
    """
    folder = out or RunFolder.of(place.results, name).root / "reruns" / f"{tid:06d}"
    with place.store() as store:
        config, job = stored_config(store, name), store.job(name, tid)
        if job is None:
            raise UsageError(f"`{name}` has no trial {tid}: see `hms status {name}`")
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"{folder} holds something already; name another folder: --out DIR")
        check_materials(store, config)
        logged = {row["epoch"]: row for row in store.epochs(name, tid)}
    order = _order(config, job, folder, device)
    say(f"trial {tid} of `{name}`: seed {order.seed}, {order.device}, {_threads(order.threads)}, in {folder}")
    rows = _train(order, say)
    pd.DataFrame(rows).to_csv(folder / "epochs.csv", index=False)
    say(compared(logged, rows, list(metrics_of(config))))
    return folder


def compared(logged: dict[int, dict[str, Any]], rows: list[dict[str, Any]], metrics: list[str]) -> str:
    """One line: whether the metrics of every epoch that both evaluated are equal to the last bit, or what differs."""
    both = [row for row in rows if row["epoch"] in logged]
    if not both:
        return "nothing to compare: no evaluation of this trial is logged"
    apart = [
        (row["epoch"], metric, logged[row["epoch"]].get(metric), row[metric])
        for row in both
        for metric in metrics
        if logged[row["epoch"]].get(metric) != row[metric]
    ]
    if not apart:
        return f"{', '.join(metrics)} are equal to those logged at all {len(both)} evaluations"
    epoch, metric, before, now = apart[0]
    return (
        f"{len(apart)} of {len(both) * len(metrics)} values differ from those logged, first {metric} at epoch {epoch}: "
        f"{now} now, {before} then. Another device, number of threads or version changes the last digits, and training "
        "magnifies them; on a GPU it takes training.deterministic"
    )


def _order(config: SearchConfig, job: Document, folder: Path, device: str | None) -> TrialOrder:
    """The order of a first attempt, with the device and threads of the one that ended; one thread where none did."""
    result = job.get("result") or {}
    return TrialOrder(
        name=config.search.name,
        tid=job["tid"],
        seed=job["seed"],
        params=dict(job["params"]),
        config=config,
        folder=folder,
        data_root=data_root(),
        device=device or result.get("device") or config.training.device,
        threads=result.get("threads") or 1,
    )


def _train(order: TrialOrder, say: Say) -> list[dict[str, Any]]:
    """Run the order in this process; its rows. A checkpoint goes as soon as it is written: nothing resumes from it."""
    rows: list[dict[str, Any]] = []
    metrics = metrics_of(order.config)

    def report(kind: str, payload: dict[str, Any]) -> None:
        if kind == "epoch":
            rows.append(payload)
            values = ", ".join(f"{metric} {payload[metric]}" for metric in metrics)
            say(f"epoch {payload['epoch']}: {values}")
        elif kind == "checkpoint":
            (order.folder / payload["file"]).unlink()
        elif kind == "warning":
            say(f"warning: {payload['message']}")

    module, _, learner = LEARNERS[order.config.training.learner].partition(":")
    made = getattr(importlib.import_module(module), learner)(order)
    result = Trial(order, made, report, lambda: False).run()
    say(f"ended: {result['finish']} after {result['epochs_trained']} epochs")
    return rows


def _threads(count: int) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"
