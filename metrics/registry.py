"""The metrics that a search logs: one line each, with unit, direction, range and source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """How to read one metric. `low` and `high` bound its values; infinity where there is no bound."""

    name: str
    label: str
    unit: str
    higher_is_better: bool
    low: float
    high: float
    citation: str


_BLANCHARD = (
    "Blanchard, Kinnison, RichardWebster, Bashivan & Scheirer (2019). "
    "A Neurobiological Evaluation Metric for Neural Network Model Search. CVPR."
)
_LOTTER = (
    "Lotter, Kreiman & Cox (2017). "
    "Deep Predictive Coding Networks for Video Prediction and Unsupervised Learning. ICLR."
)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("hms", "Human-model similarity", "Spearman rho", True, -1.0, 1.0, _BLANCHARD),
        Metric("mse", "Next-frame error", "squared intensity, black 0 to white 1", False, 0.0, float("inf"), _LOTTER),
        Metric("accuracy", "Object-matching accuracy", "share of trials", True, 0.0, 1.0, _BLANCHARD),
    )
}
