"""HMS in full of a file of features or of a PredNet: the metric without a search."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from metrics.decomposition import GramGrid
from metrics.errors import MetricError
from metrics.hms_report import HmsReport, HmsTarget, hms_report
from metrics.rdm import order_of
from metrics.stimuli92 import resize_stimuli
from metrics.stimulus_sets import STIMULI92
from prednet.config import Convention
from prednet.features import static_clip_features
from prednet.model import PredNet
from search.config_reader import load_config
from search.errors import UsageError
from search.feature_files import read_features
from search.hms_files import write_hms
from search.hms_target import HUMAN_IT, load_target, shown_stimuli
from search.hms_text import hms_text
from search.paths import data_root
from search.progress import Progress
from search.score import default_config, read_network, score_weights
from search.stimuli import stimuli_of


@dataclass(frozen=True)
class HmsOptions:
    """How HMS is reported. `reference` and `labels` as `load_target`; `out`: a folder to fill."""

    reference: str = HUMAN_IT
    labels: Path | None = None
    as_json: bool = False
    out: Path | None = None


def score_features_file(path: Path, options: HmsOptions, progress: Progress) -> str:
    """`hms hms FEATURES.npz`: compare the features in a file with the reference; text or JSON."""
    features = read_features(path)
    target = load_target(options.reference, options.labels, data_root(), progress)
    features = features.ordered(target.reference.labels, str(path))
    grid = GramGrid(len(features.labels))
    for layer, values in features.layers.items():
        grid.update(layer, values)
    return finish(path.stem, grid, target, options)


def score_weights_fully(
    weights: Path,
    config: Path | None,
    overrides: list[str] | None,
    convention: Convention | None,
    options: HmsOptions,
    progress: Progress,
) -> str:
    """`hms score WEIGHTS --full`: the three metrics and HMS in full of a PredNet, at the size of the configuration."""
    model = read_network(weights, convention)
    settings = load_config(config, overrides) if config else default_config(overrides)
    section = settings.metrics.hms
    if section.stimuli != STIMULI92 and options.reference == HUMAN_IT:
        options = replace(options, reference=section.stimuli)
    target = load_target(options.reference, options.labels, data_root(), progress)
    shown = stimuli_of(settings, data_root(), progress)
    if set(shown.labels) != set(target.reference.labels):
        shown = shown_stimuli(options.reference, target, data_root())
    images = resize_stimuli(shown.images, settings.data.height, settings.data.width, section.mapping)
    order = image_order(shown.labels, target)
    # The other metrics take minutes: by now the reference is known to fit.
    three = score_weights(weights, config, overrides, convention, as_json=options.as_json, progress=progress)
    grid = prednet_grid(model, images[order], section.frames)
    full = finish(weights.stem, grid, target, options)
    return (
        json.dumps(json.loads(three) | {"hms_report": json.loads(full)}, indent=1)
        if options.as_json
        else (f"{three}\n\n{full}")
    )


def image_order(labels: Sequence[str], target: HmsTarget) -> list[int]:
    """Places of the target's stimuli among the images of `labels`; UsageError when they are others."""
    try:
        return order_of(labels, target.reference.labels)
    except MetricError as error:
        raise UsageError(
            f"{target.reference.source}: {error} Where the images of a reference are not prepared, write the network's "
            "features to a file: hms hms FEATURES.npz --reference PATH"
        ) from None


def prednet_grid(model: PredNet, images: np.ndarray, frames: int) -> GramGrid:
    """Gram matrices of R, by layer (`R0` lowest) and time step (the first dropped), of static clips (n, H, W, 3)."""
    grid = GramGrid(len(images))
    for step, layer, features in static_clip_features(model, images, nt=frames):
        grid.update(f"R{layer}", features, step)
    return grid


def finish(name: str, grid: GramGrid, target: HmsTarget, options: HmsOptions) -> str:
    """The report as text or JSON; with `out`, its files too."""
    report: HmsReport = hms_report(name, grid, target)
    lines = []
    if options.out is not None:
        written = write_hms(report, grid.gram().rdm(), target, options.out)
        lines = [f"{len(written)} files in {options.out}"]
    if options.as_json:
        return json.dumps(report.to_dict(), indent=1, allow_nan=False)
    return "\n".join([hms_text(report), *lines])
