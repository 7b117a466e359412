from dataclasses import FrozenInstanceError

import pytest

from metrics.registry import METRICS


def test_the_three_metrics_with_direction_and_range() -> None:
    facts = {name: (metric.higher_is_better, metric.low, metric.high) for name, metric in METRICS.items()}
    assert facts == {
        "hms": (True, -1, 1),
        "mse": (False, 0, float("inf")),
        "accuracy": (True, 0, 1),
    }


def test_each_metric_says_what_it_is_and_where_it_comes_from() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.label and metric.unit
        assert "20" in metric.citation
        with pytest.raises(FrozenInstanceError):
            metric.low = 0.5  # type: ignore[misc]
