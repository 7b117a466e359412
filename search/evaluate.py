"""The three metrics of one network at one moment: HMS, next-frame MSE, object matching; each with its seconds."""

import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.hms import hms_from_gram
from metrics.matching import IMAGES_AT_ONCE, StreamedMatching
from metrics.next_frame import mean_mse, next_frame_mse, previous_frame_mse
from metrics.rdm import StreamedGram
from prednet.data.sequences import Windows
from prednet.features import predict, static_clip_features, top_layer_features
from prednet.model import PredNet
from search.materials import Materials

BATCH = 16


def evaluate(
    model: PredNet, materials: Materials, *, between: Callable[[], None] = lambda: None
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    """All metrics of `model`, and its RDM over the 92 stimuli (None where it is undefined).

    `between` is called between evaluation batches; it may raise to stop (pre-emption).
    """
    row: dict[str, Any] = {}
    with _timed(row, "seconds_hms"):
        values, rdm = human_model_similarity(model, materials, between)
        row.update(values)
    with _timed(row, "seconds_mse"):
        row.update(next_frame_error(model, materials.mse_windows, between))
    with _timed(row, "seconds_matching"):
        row.update(object_matching(model, materials, between))
    return row, rdm


def human_model_similarity(
    model: PredNet, materials: Materials, between: Callable[[], None] = lambda: None
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    """HMS over R of all layers and time steps but the first (spec: five-frame static clips)."""
    gram = StreamedGram(len(materials.stimulus_images))
    clips = static_clip_features(model, materials.stimulus_images, nt=materials.config.metrics.hms.frames)
    for _, _, features in clips:
        gram.update(features)
        between()
    labels = materials.stimuli.labels  # of the images shown, and of the human RDM: both come in this order
    result = hms_from_gram(gram, materials.stimuli.human_rdm, labels=labels, reference_labels=labels)
    values = {"hms": result.value, "hms_status": result.status, "rho_a": result.rho_a}
    return values, gram.rdm().astype(np.float32) if result.value is not None else None


def next_frame_error(model: PredNet, windows: Windows, between: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Mean next-frame MSE over fixed windows, frames 1.., all pixels; beside it the MSE of repeating the last frame."""
    errors, previous = [], []
    for start in range(0, len(windows), BATCH):
        frames = windows.take(np.arange(start, min(start + BATCH, len(windows))))
        scaled = frames.astype(np.float32) / 255.0
        errors.append(next_frame_mse(predict(model, frames), scaled))
        previous.append(previous_frame_mse(scaled))
        between()
    result = mean_mse(np.concatenate(errors))
    return {
        "mse": result.value,
        "mse_status": result.status,
        "mse_previous_frame": mean_mse(np.concatenate(previous)).value,
    }


def object_matching(model: PredNet, materials: Materials, between: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Object-matching accuracy (mode `clean`) on the top layer's R, overall and by type of nuisance.

    Only images that occur in trials are shown, and only the features of probes are kept.
    """
    streamed = StreamedMatching(materials.trials)
    for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
        images = materials.objects.images[streamed.images[start : start + IMAGES_AT_ONCE]]
        streamed.update(top_layer_features(model, images, nt=materials.config.metrics.matching.frames))
        between()
    result = streamed.result()
    row: dict[str, Any] = {"accuracy": result.accuracy, "accuracy_status": result.status}
    row.update({f"accuracy_{kind}": value for kind, value in result.by_kind.items()})
    return row


@contextmanager
def _timed(row: dict[str, Any], key: str) -> Any:
    started = time.perf_counter()
    yield
    row[key] = time.perf_counter() - started
