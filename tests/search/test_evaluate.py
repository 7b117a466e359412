from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet, ObjectView
from metrics.gazoobian.views import kind_of, view_names
from metrics.matching import draw_trials, matching_accuracy
from metrics.matching_legacy import draw_legacy_trials
from metrics.measured.object_matching import measure_with_intervals
from metrics.metric import Metric
from metrics.registry import METRICS
from prednet.config import PredNetConfig
from prednet.features import top_layer_features
from prednet.model import PredNet
from search.evaluate import measured
from search.metric_sections import MetricsSection
from search.order import Preempted


@pytest.fixture
def materials():
    """What matching needs: 18 objects with 12 noisy views each, 16x24, and trials in which not all of them occur."""
    rng = np.random.default_rng(0)
    names = [f"f{family}-{member}" for family in range(2) for member in range(9)]
    looks = {name: rng.integers(0, 160, (16, 24, 3)) for name in names}
    rows, images = [], []
    for name in names:
        for view in view_names(12):
            rows.append(ObjectView(name, name[:2], view, kind_of(view) or "any", f"{name}/{view}"))
            images.append(looks[name] + rng.integers(0, 96, (16, 24, 3)))
    objects = ObjectSet(np.array(images, dtype=np.uint8), tuple(rows), "digest")
    trials = draw_trials(objects, n_trials=24, gallery=6, seed=0, same_family=3)
    return SimpleNamespace(objects=objects, trials=trials, config=SimpleNamespace(metrics=MetricsSection()))


def test_matching_that_streams_gives_the_accuracy_of_all_features_at_once(materials):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1).double()
    shown = []
    row = measured(METRICS["accuracy"], model, materials, lambda: shown.append(1))
    whole = matching_accuracy(top_layer_features(model, materials.objects.images), materials.trials)
    assert row["accuracy"] == whole.accuracy
    assert {kind: row[f"accuracy_{kind}"] for kind in whole.by_kind} == whole.by_kind
    assert 0 < row["accuracy"] < 1
    occurring = np.unique(np.append(materials.trials.gallery, materials.trials.probe))
    assert len(occurring) < len(materials.objects.images)
    assert len(shown) == -(-len(occurring) // 64)


def test_intervals_hold_what_they_are_of(materials):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    plain = measured(METRICS["accuracy"], model, materials)
    row = measured(replace(METRICS["accuracy"], measure=measure_with_intervals), model, materials)
    assert {name: row[name] for name in plain} == plain
    ends = {f"{name}_{end}" for name in plain if not name.endswith("_status") for end in ("low", "high")}
    assert set(row) - set(plain) == ends and len(ends) == 10
    for name in plain.keys() - {"accuracy_status"}:
        assert 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1
    assert row["accuracy_low"] < row["accuracy_high"]


def test_legacy_trials_come_with_their_floor(materials):
    materials.trials = draw_legacy_trials(materials.objects, n_trials=60, gallery=6, seed=0)
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    row = measured(METRICS["accuracy"], model, materials)
    assert row["accuracy_floor"] == (materials.trials.kind == "identical").mean()
    assert row["accuracy_identical"] == 1.0 and 0 < row["accuracy_distinct"] < 1


def test_a_broken_network_has_no_accuracy(materials):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    model.gates[2].bias.data[0] = np.nan
    row = measured(METRICS["accuracy"], model, materials)
    assert (row["accuracy"], row["accuracy_status"]) == (None, "diverged")
    assert row == measured(replace(METRICS["accuracy"], measure=measure_with_intervals), model, materials)


def metric(measure, **named):
    return Metric("blur", "Blur", "", False, 0.0, 1.0, "", measure, **named)


def raises(network, inputs):
    raise KeyError("no such layer")


def runs_out_of_memory(network, inputs):
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 TB")


def stops(network, inputs):
    network.top_features(inputs.objects.images[:1])


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (raises, "metric `blur` failed: KeyError: 'no such layer'"),
        (lambda network, inputs: None, "metric `blur` must give a mapping"),
        (lambda network, inputs: {"blur": 7}, "metric `blur` gave 7, which is outside"),
        (lambda network, inputs: {"blur": network.no_such_thing}, "metric `blur` failed: AttributeError"),
    ],
)
def test_a_metric_that_fails_is_named(materials, measure, message):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    with pytest.raises(MetricError, match=message):
        measured(metric(measure), model, materials)


def test_out_of_memory_and_pre_emption_pass_through_a_metric(materials):
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    with pytest.raises(RuntimeError, match="can't allocate"):
        measured(metric(runs_out_of_memory), model, materials)

    def between():
        raise Preempted

    with pytest.raises(Preempted):
        measured(metric(stops), model, materials, between)
