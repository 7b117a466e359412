"""`hms export NAME --tensorboard DIR`: every trial's evaluated metrics and hyperparameters as event files."""

import importlib.util
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.metric import Metric
from search.errors import UsageError
from search.hyperparameters import hyperparameter_values
from search.logged_metrics import as_described
from search.store import Document, State, Store

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

COLUMNS = ("train_loss", "val_loss", "learning_rate", "window_sd")
EVENTS = "events.out.tfevents.*"


def write_events(store: Store, name: str, out: Path) -> Path:
    """Write the folder `out`/NAME, a run a trial (`000003`), epochs as steps; its path. Written again, it is replaced.

    The plugin for hyperparameters is served too: TensorBoard's HPARAMS page compares the trials.

    Raises:
        UsageError: the package `tensorboard` is not installed.
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError("the package `tensorboard` is not installed: pip install 'hms-search[tensorboard]'")
    search, jobs = store.search(name), store.jobs(name)
    metrics = as_described(search.get("metrics"))
    rows: dict[int, list[Document]] = {job["tid"]: [] for job in jobs}
    for row in store.curves(name, list(rows), [*metrics, *COLUMNS, "recorded"]):
        rows[row["tid"]].append(row)
    folder = out / name
    names = hyperparameter_values(jobs)
    _replace(folder, lambda writer: _add(writer, _experiment(search, names, metrics)))
    for job in jobs:
        _replace(folder / f"{job['tid']:06d}", partial(_add_trial, job=job, rows=rows[job["tid"]], metrics=metrics))
    return folder


def _experiment(search: Document, hyperparameters: Mapping[str, Sequence[Any]], metrics: Mapping[str, Metric]) -> Any:
    """Which hyperparameters and metrics there are."""
    from tensorboard.plugins.hparams import summary_v2 as api

    hparams = []
    for key, values in hyperparameters.items():
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        texts = sorted({str(value) for value in values})
        domain = api.RealInterval(float(min(values)), float(max(values))) if numbers else api.Discrete(texts)
        hparams.append(api.HParam(key, domain))
    shown = [
        api.Metric(name, display_name=metric.short, description=metric.direction) for name, metric in metrics.items()
    ]
    return api.hparams_config_pb(hparams, shown, time_created_secs=search["created"].timestamp())


def _add_trial(writer: "SummaryWriter", job: Document, rows: Sequence[Document], metrics: Mapping[str, Metric]) -> None:
    from tensorboard.plugins.hparams import summary_v2 as api

    own = hyperparameter_values([job])
    params = {key: str(value) if isinstance(value, bool) else value for key, (value,) in own.items()}
    began = next((attempt["began"] for attempt in job["history"] if attempt.get("began")), None)
    start = None if began is None else began.timestamp()
    _add(writer, api.hparams_pb(params, trial_id=f"trial {job['tid']}", start_time_secs=start))
    for row in rows:
        for column in (*metrics, *COLUMNS):
            if row.get(column) is not None:
                writer.add_scalar(column, row[column], row["epoch"], walltime=row["recorded"].timestamp())
    if job["state"] in (State.DONE, State.ERROR, State.CANCEL):
        _add(writer, _ending(job))


def _ending(job: Document) -> Any:
    """What TensorBoard's own `session_end_pb` makes, which needs TensorFlow."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    done = job["state"] == State.DONE and (job.get("result") or {}).get("status") == "ok"
    status = api_pb2.STATUS_SUCCESS if done else api_pb2.STATUS_FAILURE
    ended = job["refresh_time"].timestamp() if job.get("refresh_time") else 0.0
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=ended)
    data = plugin_data_pb2.HParamsPluginData(session_end_info=info)
    value = Summary.Value(
        tag=metadata.SESSION_END_INFO_TAG,
        metadata=metadata.create_summary_metadata(data),
        tensor=metadata.NULL_TENSOR,
    )
    return Summary(value=[value])


def _replace(folder: Path, fill: "Callable[[SummaryWriter], None]") -> None:
    """Write events beside the old ones, then put them in their place: a TensorBoard that looks on sees whole files."""
    from torch.utils.tensorboard import SummaryWriter  # slow to import

    temporary = folder / ".part"
    shutil.rmtree(temporary, ignore_errors=True)
    with SummaryWriter(str(temporary)) as writer:
        fill(writer)
    for old in folder.glob(EVENTS):
        old.unlink()
    for new in temporary.glob(EVENTS):
        new.replace(folder / new.name)
    temporary.rmdir()


def _add(writer: "SummaryWriter", summary: Any) -> None:
    writer._get_file_writer().add_summary(summary)
