"""Object-matching accuracy on Gazoobian objects or others, overall and by kind of nuisance."""

from typing import Any

from metrics.matching import IMAGES_AT_ONCE, MatchingResult, StreamedMatching
from metrics.matching_intervals import OVERALL, intervals_of
from metrics.matching_legacy import identical_share
from metrics.metric import Inputs, Metric, Network


def measure(network: Network, inputs: Inputs) -> dict[str, Any]:
    """Accuracy of the top layer's R. Only images that occur in trials are shown, and only features of probes kept.

    Of legacy trials also `accuracy_floor`, the share of trials whose probe and target are the same picture.
    """
    return _columns(_answers(network, inputs), inputs)


def measure_with_intervals(network: Network, inputs: Inputs) -> dict[str, Any]:
    """`measure`, and 95 % intervals over objects: `accuracy_low`, `accuracy_high`, `accuracy_KIND_low`, ..."""
    result = _answers(network, inputs)
    row = _columns(result, inputs)
    for kind, interval in intervals_of(result, inputs.objects, inputs.trials).items():
        name = "accuracy" if kind == OVERALL else f"accuracy_{kind}"
        row |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return row


def _answers(network: Network, inputs: Inputs) -> MatchingResult:
    streamed = StreamedMatching(inputs.trials)
    for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
        images = inputs.objects.images[streamed.images[start : start + IMAGES_AT_ONCE]]
        streamed.update(network.top_features(images, frames=inputs.object_frames))
    return streamed.result()


def _columns(result: MatchingResult, inputs: Inputs) -> dict[str, Any]:
    row: dict[str, Any] = {"accuracy": result.accuracy, "accuracy_status": result.status}
    if inputs.trials.mode == "legacy":
        row["accuracy_floor"] = identical_share(inputs.trials)
    return row | {f"accuracy_{kind}": value for kind, value in result.by_kind.items()}


METRIC = Metric(
    "accuracy",
    "Object-matching accuracy",
    "share of trials",
    True,
    0.0,
    1.0,
    "Blanchard, Kinnison, RichardWebster, Bashivan & Scheirer (2019). "
    "A Neurobiological Evaluation Metric for Neural Network Model Search. CVPR.",
    measure,
    title="Accuracy",
    timed_as="matching",
)
