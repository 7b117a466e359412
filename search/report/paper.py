"""The published numbers of Blanchard, Kinnison, RichardWebster, Bashivan and Scheirer (CVPR 2019), beside ours."""

import math

from metrics.stimulus_sets import STIMULI92
from search.report.record import SearchRecord

NETWORKS = 95

# Table 1: mean and SD of each metric, by group. Accuracy is of the published matching protocol (`legacy`).
TABLE_1: dict[str, dict[str, tuple[float, float]]] = {
    "all": {"mse": (0.092, 0.148), "accuracy": (0.367, 0.134), "hms": (0.106, 0.055)},
    "top": {"mse": (0.009, 0.003), "accuracy": (0.459, 0.049), "hms": (0.178, 0.011)},
    "bottom": {"mse": (0.314, 0.138), "accuracy": (0.13, 0.15), "hms": (-0.008, 0.027)},
}

# Table 2: Spearman correlations over the 95 networks.
TABLE_2: dict[frozenset[str], float] = {
    frozenset({"mse", "accuracy"}): -0.791,
    frozenset({"mse", "hms"}): -0.646,
    frozenset({"mse", "learning_rate"}): 0.635,
    frozenset({"accuracy", "hms"}): 0.575,
    frozenset({"accuracy", "learning_rate"}): -0.517,
    frozenset({"hms", "learning_rate"}): -0.452,
    frozenset({"mse", "epochs"}): -0.332,
}

# Early stopping: epochs (mean, SD) after which a metric was stable, over 10 networks of a second sample, trained for
# 150; training time saved, and networks above the HMS threshold, computed afterwards on the 95.
STABLE_EPOCH: dict[str, tuple[float, float]] = {"hms": (32.0, math.nan), "accuracy": (66.5, 36.0)}
STABLE_NETWORKS = 10
WINDOW_POINTS = 6  # evaluations in its 25 epochs, one every 5, both ends included
TIME_SAVED = 0.67
THRESHOLD, ABOVE_THRESHOLD = 0.161, 13

# Share of matching trials whose probe and target were the same picture: what a blind network scores.
LEGACY_FLOOR = 0.236


def clean_accuracy(mean: float, sd: float) -> tuple[float, float] | None:
    """The paper's accuracy converted to distinct pairs, (a - floor) / (1 - floor); None below that floor."""
    if mean < LEGACY_FLOOR:
        return None
    return (mean - LEGACY_FLOOR) / (1 - LEGACY_FLOOR), sd / (1 - LEGACY_FLOOR)


def published_correlation(x: str, y: str) -> float | None:
    """The paper's rho of a pair; names as in `correlations.csv`, with or without `param.`."""
    return TABLE_2.get(frozenset(name.split(".")[-1] for name in (x, y)))


def published_partial(x: str, y: str) -> float | None:
    """The partial correlation of two metrics, controlling learning rate, that the paper's Table 2 implies."""
    between = published_correlation(x, y)
    with_x, with_y = published_correlation(x, "learning_rate"), published_correlation(y, "learning_rate")
    if between is None or with_x is None or with_y is None or "learning_rate" in x + y:
        return None
    return (between - with_x * with_y) / ((1 - with_x**2) * (1 - with_y**2)) ** 0.5


def same_protocol(record: SearchRecord) -> bool:
    """True when footage (KITTI), frame size (128 x 160), stimuli and all sizes are the paper's, so values compare."""
    size = [int(edge) for edge in record.data.get("size") or []]
    kitti = "kitti" in record.data_name.lower()
    hms = (record.config.get("metrics") or {}).get("hms") or {}
    same_brain = hms.get("stimuli", STIMULI92) == STIMULI92
    return kitti and same_brain and size[:2] == [128, 160] and not record.reduced_sizes
