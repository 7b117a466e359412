"""The metrics of one network at one moment, each with its seconds: a loop over those that the search logs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet
from metrics.matching_trials import MatchingTrials
from metrics.measured.prediction_error import over_windows
from metrics.metric import Metric, checked
from metrics.rdm import FloatArray
from prednet.data.sequences import Windows
from prednet.errors import Diverged
from prednet.features import predict, static_clip_features, top_layer_features
from prednet.model import PredNet
from search.materials import Materials
from search.out_of_memory import ran_out_of_memory

Between = Callable[[], None]


class SeenNetwork:
    """A PredNet as metrics see it (`metrics.metric.Network`): its R units are the features.

    `between` is called after each batch; it may raise to stop (pre-emption).
    """

    def __init__(self, model: PredNet, between: Between = lambda: None) -> None:
        self._model, self._between = model, between

    @property
    def layers(self) -> int:
        """How many layers it has."""
        return self._model.config.n_layers

    def features(
        self, images: NDArray[np.uint8], *, frames: int = 5, layers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
        """See `prednet.features.static_clip_features`."""
        for t, layer, features in static_clip_features(self._model, images, nt=frames, layers=layers):
            yield t, layer, features
            self._between()

    def top_features(self, images: NDArray[np.uint8], *, frames: int = 5) -> NDArray[np.float32]:
        """See `prednet.features.top_layer_features`."""
        features = top_layer_features(self._model, images, nt=frames)
        self._between()
        return features

    def predict(self, clips: NDArray[np.uint8]) -> NDArray[np.float32]:
        """See `prednet.features.predict`."""
        predictions = predict(self._model, clips)
        self._between()
        return predictions


class SearchInputs:
    """The materials of a search as metrics see them (`metrics.metric.Inputs`)."""

    def __init__(self, materials: Materials) -> None:
        self._materials, self._metrics = materials, materials.config.metrics

    @property
    def stimulus_images(self) -> NDArray[np.uint8]:
        """The stimuli at the network's size, (n, H, W, 3)."""
        return self._materials.stimulus_images

    @property
    def stimulus_labels(self) -> tuple[str, ...]:
        """Their labels, in order."""
        return tuple(self._materials.stimuli.labels)

    @property
    def human_rdm(self) -> FloatArray:
        """The mean human RDM, (n, n)."""
        return self._materials.stimuli.human_rdm

    @property
    def references(self) -> Mapping[str, FloatArray]:
        """The further reference RDMs, (n, n) each."""
        return {name: reference.rdm for name, reference in self._materials.references.items()}

    @property
    def stimulus_frames(self) -> int:
        """Frames for which a stimulus is shown."""
        return self._metrics.hms.frames

    @property
    def windows(self) -> Windows:
        """The fixed windows of the validation split."""
        return self._materials.mse_windows

    @property
    def objects(self) -> ObjectSet:
        """The Gazoobian pool."""
        return self._materials.objects

    @property
    def trials(self) -> MatchingTrials:
        """The matching trials drawn from it."""
        return self._materials.trials

    @property
    def object_frames(self) -> int:
        """Frames for which an object is shown."""
        return self._metrics.matching.frames


def evaluate(
    model: PredNet, materials: Materials, metrics: Mapping[str, Metric], *, between: Between = lambda: None
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    """A row with all of `metrics`, and the network's RDM over the stimuli (None where it is undefined).

    Raises:
        MetricError: a metric failed or gave what is no row; the message names it.
    """
    row: dict[str, Any] = {}
    for metric in metrics.values():
        if metric.measure is None:  # measured with another
            continue
        started = time.perf_counter()
        columns = measured(metric, model, materials, between)
        if twice := sorted(row.keys() & columns):
            raise MetricError(f"metric `{metric.name}` gave the column `{twice[0]}`, which another metric gave.")
        row |= columns
        row[f"seconds_{metric.part}"] = time.perf_counter() - started
    return row, row.pop("rdm", None)


def measured(metric: Metric, model: PredNet, materials: Materials, between: Between = lambda: None) -> dict[str, Any]:
    """The columns that one metric gives for `model`.

    Raises:
        MetricError: see `evaluate`.
    """
    assert metric.measure is not None
    try:
        columns = metric.measure(SeenNetwork(model, between), SearchInputs(materials))
    except Diverged:
        raise
    except Exception as error:  # whatever a metric of another package raises
        if ran_out_of_memory(error):
            raise
        raise MetricError(f"metric `{metric.name}` failed: {type(error).__name__}: {error}") from error
    return checked(metric, columns)


def next_frame_error(model: PredNet, windows: Windows, between: Between = lambda: None) -> dict[str, Any]:
    """`mse`, `mse_status` and `mse_previous_frame` over other windows than those of the search's metric."""
    return over_windows(SeenNetwork(model, between), windows)
