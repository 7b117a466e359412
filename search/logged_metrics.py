"""Which metrics a search logs: those of its configuration, and as its document in the store describes them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from metrics.errors import MetricError
from metrics.measured.human_similarity import beside_reference
from metrics.metric import Metric
from metrics.registry import METRICS, find
from search.config import SearchConfig

RESERVED = frozenset(
    {"epoch", "tid", "attempt", "stable", "window_sd", "train_loss", "val_loss", "learning_rate", "rho_a", "rdm"}
    | {"loss", "status", "state", "finish", "reason", "seconds", "error", "owner", "device", "precision", "threads"}
    | {"point", "replicate", "unmoved", "stopped", "provenance", "n_parameters"}
    | {"hms_since_epoch_0", "mse_previous_frame", "mse_test"}
)
BESIDE = ("_status", "_best", "_rho_a")
"""Endings of columns that stand beside that of a metric."""


def metrics_of(config: SearchConfig) -> dict[str, Metric]:
    """The metrics that a search logs, by name and in the order of tables; imports what packages offer.

    Raises:
        MetricError: one is not offered on this machine or cannot be imported; or two want the same column.
    """
    found = [*METRICS.values()]
    found += [beside_reference(name) for name in config.metrics.hms.references]
    found += [find(name)[0] for name in config.metrics.also]
    taken = RESERVED.union(config.data.transfer_columns)
    logged: dict[str, Metric] = {}
    for metric in found:
        if metric.name in taken or metric.name in logged or metric.name.endswith(BESIDE):
            raise MetricError(f"`{metric.name}` cannot be the name of a metric here: a column of that name exists.")
        logged[metric.name] = metric
    return logged


def described(config: SearchConfig) -> list[dict[str, Any]]:
    """Plain descriptions of what a search logs, with package and version where a package offers it."""
    origins = {name: find(name)[1] for name in config.metrics.also}
    facts = []
    for name, metric in metrics_of(config).items():
        origin = origins.get(name)
        facts.append(metric.description() | (asdict(origin) if origin is not None else {}))
    return facts


def metric_versions(config: SearchConfig) -> dict[str, str]:
    """`{"metric NAME": "PACKAGE VERSION"}` of those from other packages: all workers of a search must have the same."""
    origins = {name: find(name)[1] for name in config.metrics.also}
    return {
        f"metric {name}": f"{found.package} {found.version}" for name, found in origins.items() if found is not None
    }


def as_described(facts: Iterable[Mapping[str, Any]] | None) -> dict[str, Metric]:
    """The metrics that `described` described, without importing anything; the paper's three where nothing is."""
    return {metric.name: metric for metric in map(Metric.from_description, facts or ())} or dict(METRICS)


def metric_columns(metrics: Mapping[str, Metric], row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row, or of a result, that belong to its metrics."""
    return {key: value for key, value in row.items() if any(metric.owns(key) for metric in metrics.values())}
