"""Object-matching accuracy on Gazoobian objects (mode `clean`), overall and by kind of nuisance."""

from typing import Any

from metrics.matching import IMAGES_AT_ONCE, StreamedMatching
from metrics.metric import Inputs, Metric, Network


def measure(network: Network, inputs: Inputs) -> dict[str, Any]:
    """Accuracy of the top layer's R. Only images that occur in trials are shown, and only features of probes kept."""
    streamed = StreamedMatching(inputs.trials)
    for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
        images = inputs.objects.images[streamed.images[start : start + IMAGES_AT_ONCE]]
        streamed.update(network.top_features(images, frames=inputs.object_frames))
    result = streamed.result()
    row: dict[str, Any] = {"accuracy": result.accuracy, "accuracy_status": result.status}
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
