"""`hms score WEIGHTS`: the metrics of one network, ours or original Keras weights."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metrics.measured.object_matching import measure_with_intervals
from metrics.registry import METRICS
from prednet.checkpoint import load_network
from prednet.config import Convention
from prednet.cost import count_parameters
from prednet.errors import ModelError
from prednet.keras_weights import load_keras_weights
from prednet.model import PredNet
from search.config import SearchConfig
from search.config_reader import load_config, parse_config
from search.errors import UsageError
from search.evaluate import evaluate
from search.logged_metrics import metrics_of
from search.materials import prepare
from search.paths import data_root
from search.progress import Progress
from search.transfer import transfer_errors

KERAS_SUFFIXES = (".hdf5", ".h5")


def score_weights(
    weights: Path,
    config: Path | None,
    overrides: list[str] | None,
    convention: Convention | None,
    *,
    as_json: bool,
    progress: Progress,
) -> str:
    """Load `weights`, evaluate on the data of `config` (default: the demo at 128x160), give text or JSON."""
    model = read_network(weights, convention)
    settings = load_config(config, overrides) if config else default_config(overrides)
    _check_fit(weights, model, settings)
    metrics = dict(metrics_of(settings))
    metrics["accuracy"] = replace(metrics["accuracy"], measure=measure_with_intervals)
    materials = prepare(settings, data_root(), progress)
    row, _ = evaluate(model, materials, metrics)
    row |= transfer_errors(model, materials)
    row["weights"], row["n_parameters"] = str(weights), count_parameters(model.config)
    if as_json:
        return json.dumps(row, indent=1)
    row_of = {name: _shown(row[name], row[f"{name}_status"]) for name in metrics}
    further = {name: metric for name, metric in metrics.items() if name not in METRICS}
    previous, chance = row["mse_previous_frame"], 1 / settings.metrics.matching.gallery
    video = f"{settings.data.dataset} at {settings.data.height}x{settings.data.width}"
    return "\n".join(
        [
            f"{weights}: {row['n_parameters']} parameters, evaluated on {video}",
            f"HMS       {row_of['hms']} (higher is more human-like; -1..1)",
            f"MSE       {row_of['mse']} (repeating the previous frame: {previous:.5f})",
            f"accuracy  {row_of['accuracy']}{_interval(row, 'accuracy')} (chance: {chance:.3f}{_floor(row)})",
            *(f"  {kind}  {row[f'accuracy_{kind}']:.3f}{_interval(row, f'accuracy_{kind}')}" for kind in _kinds(row)),
            *(f"{name}  {row_of[name]} ({m.unit}; {m.direction})" for name, m in further.items()),
            *(
                f"{column}  {_shown(row[column], row[f'{column}_status'])} (repeating the previous frame: "
                f"{row[f'{column}_previous_frame']:.5f})"
                for column in materials.transfer
            ),
            *(f"warning: {text}" for text in materials.warnings),
        ]
    )


def read_network(weights: Path, convention: Convention | None) -> PredNet:
    """Our checkpoint, or Keras weights; the `.json` beside those is found by itself. UsageError for no such file."""
    if not weights.is_file():
        raise UsageError(
            f"{weights} does not exist: give the network.pt of a trial (results/NAME/trials/NNNNNN/) or .hdf5"
        )
    if weights.suffix in KERAS_SUFFIXES:
        return load_keras_weights(weights, convention=convention)
    if weights.suffix == ".json":
        raise UsageError(f"{weights} describes an architecture: give the weights beside it (.hdf5)")
    return load_network(weights)


def _check_fit(weights: Path, model: PredNet, settings: SearchConfig) -> None:
    if model.config.stack_sizes[0] != 3:
        raise UsageError(
            f"{weights} reads frames of {model.config.stack_sizes[0]} channels: the metrics are those of RGB networks"
        )
    try:
        model.config.check_frames(settings.data.height, settings.data.width)
    except ModelError as error:
        raise UsageError(
            f"{weights}: {error}; the size is that of the configuration: "
            "--config FILE --set data.height=H --set data.width=W"
        ) from error


def default_config(overrides: list[str] | None) -> SearchConfig:
    """The configuration of `hms score` without --config: the demo at 128x160."""
    if overrides:
        raise UsageError("--set changes a configuration: name it with --config")
    document = {"search": {"name": "score"}, "space": {"learning_rate": {"choice": [1e-3]}}}
    return parse_config(document, source="the default configuration of `hms score`")


def _kinds(row: Mapping[str, Any]) -> list[str]:
    """Kinds of matching trials that have an accuracy with an interval of their own."""
    ends = ("accuracy_", "_low")
    found = (name for name in row if name.startswith(ends[0]) and name.endswith(ends[1]) and name != "accuracy_low")
    return [name.removeprefix(ends[0]).removesuffix(ends[1]) for name in found]


def _interval(row: Mapping[str, Any], name: str) -> str:
    return f" [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" if f"{name}_low" in row else ""


def _floor(row: Mapping[str, Any]) -> str:
    """Of legacy trials: what any network scores that tells pictures apart."""
    return f"; probe and target alike: {row['accuracy_floor']:.3f}" if "accuracy_floor" in row else ""


def _shown(value: float | None, status: str) -> str:
    return f"{value:.5f}" if value is not None else f"undefined ({status})"
