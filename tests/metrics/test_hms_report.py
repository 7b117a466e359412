import json
import time

import numpy as np
import pytest
import scipy.stats

from metrics.baselines import IMAGE_BASELINES, REFERENCE_MODELS
from metrics.decomposition import GramGrid
from metrics.hms_report import HmsReport, HmsTarget, hms_report
from metrics.rdm import square, upper
from metrics.references import make_reference
from metrics.stimuli92 import Stimuli92
from metrics.stimulus_sets import references92


@pytest.fixture(scope="module")
def target92(stimuli92: Stimuli92) -> HmsTarget:
    return HmsTarget(
        references92(stimuli92)["human_it"],
        stimuli92.categories,
        {name: rdm(stimuli92) for name, rdm in IMAGE_BASELINES.items()},
        {name: rdm(stimuli92) for name, rdm in REFERENCE_MODELS.items()},
        ("pixels", "silhouette"),
    )


@pytest.fixture(scope="module")
def report(target92: HmsTarget, oracle_arrays: dict[str, np.ndarray]) -> HmsReport:
    grid = GramGrid(92)
    grid.update("conv", oracle_arrays["features_random_conv_seed0"])
    grid.update("pool", oracle_arrays["features_pixels_pool25"])
    return hms_report("two layers", grid, target92, resamples=200, permutations=500)


def target_of(rdms: np.ndarray, subjects: list[str] | None = None) -> HmsTarget:
    labels = [f"s{index}" for index in range(rdms.shape[1])]
    return HmsTarget(make_reference("mine", labels, rdms, subjects=subjects), None, {}, {}, ())


def grid_of(features: np.ndarray) -> GramGrid:
    grid = GramGrid(len(features))
    grid.update("features", features)
    return grid


def test_parts_have_the_oracles_numbers(report: HmsReport, oracle: dict) -> None:
    by_layer = {part.layer: part.result.value for part in report.parts}
    assert by_layer["conv"] == pytest.approx(oracle["models"]["random_conv_seed0"]["spearman"], abs=1e-10)
    assert by_layer["pool"] == pytest.approx(oracle["models"]["pixels_pool25"]["spearman"], abs=1e-10)
    for name, theirs in (("pixels", "pixels_rgb"), ("animacy", "modelRDM_animacy"), ("monkey IT", "modelRDM_monkeyIT")):
        assert report.baselines[name] == pytest.approx(oracle["models"][theirs]["spearman"], abs=1e-10)
    ceilings = oracle["human"]["noise_ceiling_rsatoolbox_4subjects"]
    for name, theirs in (("spearman", "spearman"), ("tau-a", "tau-a"), ("pearson", "corr")):
        ceiling = report.comparators[name].ceiling
        assert ceiling is not None
        assert (ceiling.lower, ceiling.upper) == pytest.approx(
            (ceilings[theirs]["lower"], ceilings[theirs]["upper"]), abs=1e-9
        )


def test_values_fit_together(report: HmsReport) -> None:
    value = report.hms.value
    assert value is not None
    assert report.comparators["spearman"].value == pytest.approx(value, abs=1e-15)
    assert report.permutation.value == pytest.approx(value, abs=1e-15)
    assert set(report.intervals) == {"stimuli", "subjects", "both", "subject_mean"}
    for name in ("stimuli", "subjects", "both"):
        assert report.intervals[name].value == pytest.approx(value, abs=1e-15)
    mean = report.subjects.mean
    assert mean == pytest.approx(report.comparators["spearman"].subject_mean, abs=1e-15)
    assert mean == pytest.approx(report.intervals["subject_mean"].value, abs=1e-15)
    # The mean RDM is less noisy than any person's, so that the score with it is no value for the ceiling.
    assert mean is not None and mean < value
    for interval in report.intervals.values():
        assert interval.low is not None and interval.high is not None and interval.low < interval.high
    assert set(report.controlled) == {"pixels", "silhouette", "pixels and silhouette"}
    against = report.against_baseline
    assert against is not None and against.baseline == "silhouette"
    assert against.differences["two layers"].value == pytest.approx(value - (report.baselines["silhouette"] or 0))
    assert len(report.categories) == 23 and len(report.subjects.sessions) == 8


def test_the_json_form_holds_it_all(report: HmsReport) -> None:
    read = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert read["hms"]["value"] == report.hms.value
    assert read["comparators"]["rho-a"]["ceiling"]["lower"] == pytest.approx(0.37231323, abs=1e-8)
    assert read["reference"] | {"digest": ""} == {
        "name": "human_it",
        "source": "92 stimuli, human_it",
        "digest": "",
        "stimuli": 92,
        "people": 4,
        "rdms": 8,
    }


def test_a_thousand_resamples_take_seconds(target92: HmsTarget, oracle_arrays: dict[str, np.ndarray]) -> None:
    grid = grid_of(oracle_arrays["features_pixels_pool25"])
    started = time.perf_counter()
    hms_report("quick", grid, target92)
    seconds = time.perf_counter() - started
    print(f"report of 1,000 resamples and 10,000 permutations of 92 stimuli: {seconds:.1f} s")
    assert seconds < 10


@pytest.mark.parametrize(
    ("features", "status"),
    [(np.ones((12, 5)), "undefined_constant"), (np.full((12, 5), np.nan), "diverged")],
)
def test_an_undefined_network_has_an_undefined_report(features: np.ndarray, status: str) -> None:
    target = target_of(np.stack([square(np.random.default_rng(seed).uniform(0, 2, 66)) for seed in range(3)]))
    found = hms_report("broken", grid_of(features), target, resamples=20, permutations=20)
    assert (found.hms.value, found.hms.status) == (None, status)
    assert found.intervals == {} and found.permutation.p is None and found.subjects.mean is None
    assert found.comparators["rho-a"].value is None and found.comparators["rho-a"].ceiling is not None
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_person_has_no_ceiling_and_any_unit_will_do() -> None:
    rng = np.random.default_rng(6)
    # Cross-validated distances: negative ones, and a unit of their own.
    truth = rng.normal(3e-5, 2e-5, 66)
    target = target_of(np.stack([square(truth), square(truth + 1e-6)]), ["A", "A"])
    features = rng.normal(size=(12, 40))
    found = hms_report("mine", grid_of(features), target, resamples=50, permutations=50)
    expected = scipy.stats.spearmanr(upper(1 - np.corrcoef(features)), truth).statistic
    assert found.hms.value == pytest.approx(expected, abs=1e-12)
    assert set(found.intervals) == {"stimuli", "subject_mean"}
    assert found.comparators["spearman"].ceiling is None and found.against_baseline is None
    assert found.categories == () and found.controlled == {}


def test_the_same_seed_gives_the_same_report() -> None:
    target = target_of(np.stack([square(np.random.default_rng(seed).uniform(0, 2, 66)) for seed in range(3)]))
    grid = grid_of(np.random.default_rng(7).normal(size=(12, 40)))
    several = [hms_report("n", grid, target, resamples=50, permutations=50, seed=seed) for seed in (0, 0, 1)]
    assert several[0] == several[1]
    assert several[0].intervals != several[2].intervals
