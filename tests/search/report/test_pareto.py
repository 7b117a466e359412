import numpy as np
import pandas as pd
import pytest

from metrics.registry import METRICS
from search.report.figures import pareto as figure
from search.report.figures.style import print_settings
from search.report.pareto import front, pareto_table, towards_better
from search.report.sample import Sample


def sample_of(hms: list[float], mse: list[float], accuracy: list[float] | None = None) -> Sample:
    frame = pd.DataFrame({"tid": range(10, 10 + len(hms)), "hms": hms, "mse": mse})
    frame = frame.assign(epochs_planned=20.0, epochs_trained=10.0, **{"param.learning_rate": 0.1})
    measured = ("hms", "mse")
    if accuracy is not None:
        frame["accuracy"], measured = accuracy, ("hms", "mse", "accuracy")
    return Sample(frame, "network", measured, (), "", False, METRICS)


def dominated(point: np.ndarray, others: np.ndarray) -> bool:
    """By the definition, one comparison after the other."""
    for other in others:
        no_worse = all(theirs >= own for own, theirs in zip(point, other, strict=True))
        if no_worse and any(theirs > own for own, theirs in zip(point, other, strict=True)):
            return True
    return False


@pytest.mark.parametrize("metrics", [2, 3])
@pytest.mark.parametrize("levels", [4, 1000])
def test_membership_is_that_of_the_definition(metrics: int, levels: int) -> None:
    values = np.random.default_rng(metrics).integers(0, levels, (60, metrics)).astype(float)  # few levels: many ties
    expected = [not dominated(point, values) for point in values]
    assert list(front(values)) == expected and 0 < sum(expected) < 60


def test_equal_points_are_both_on_it_and_one_point_is() -> None:
    assert list(front(np.array([[1.0, 2], [1, 2], [0, 2]]))) == [True, True, False]
    assert list(front(np.array([[3.0, 1]]))) == [True]


def test_lower_error_is_better() -> None:
    sample = sample_of([0.1, 0.2, 0.1], [0.5, 0.9, 0.6])
    assert towards_better(sample.frame, ("hms", "mse"), METRICS).tolist() == [[0.1, -0.5], [0.2, -0.9], [0.1, -0.6]]
    table = pareto_table(sample)
    assert list(table["tid"]) == [11, 10] and set(table["epoch_rule"]) == {"last"}
    assert list(table.columns) == ["tid", "hms", "mse", "epochs_planned", "epochs_trained", "param.learning_rate",
                                   "epoch_rule"]  # fmt: skip


def test_one_metric_or_no_network_has_no_front() -> None:
    sample = sample_of([0.1, 0.2], [0.5, 0.9])
    alone = Sample(sample.frame, "network", ("hms",), (), "", False, METRICS)
    for given in (alone, sample_of([], [])):
        assert pareto_table(given).empty and figure.prepare(given) is None


def test_lines_bound_what_each_pair_dominates() -> None:
    """On a line between two members neither is dominated; a point inside it is, one outside is not."""
    rng = np.random.default_rng(2)
    sample = sample_of(list(rng.random(40)), list(rng.random(40)), list(rng.random(40)))
    drawn = figure.prepare(sample)
    assert drawn is not None and drawn.pairs == (("mse", "hms"), ("accuracy", "hms"), ("mse", "accuracy"))
    for pair in drawn.pairs:
        signs = np.array([1.0 if METRICS[name].higher_is_better else -1.0 for name in pair])
        members = towards_better(sample.frame, pair, METRICS)
        for place in drawn.lines[pair].to_numpy() * signs:
            assert any((point >= place).all() for point in members)
            assert not dominated(place + 1e-9, members)


def test_every_panel_marks_the_front_of_all() -> None:
    rng = np.random.default_rng(3)
    sample = sample_of(list(rng.random(30)), list(rng.random(30)), list(rng.random(30)))
    drawn = figure.prepare(sample)
    assert drawn is not None
    spec = figure.interactive(drawn)
    members = [trace for trace in spec["data"] if trace["name"] == "front of all metrics"]
    assert len(members) == spec["panels"] == 3
    tids = {f"trial {tid}" for tid in pareto_table(sample)["tid"]}
    assert all(set(trace["text"]) == tids for trace in members)
    with print_settings():
        printed = figure.printed(drawn)
    titles = [ax.get_xlabel() for ax in printed.axes]
    assert titles[0].startswith("MSE (") and titles[0].endswith("\nlower is better")
