from typing import Any

import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.noise_ceiling import ceiling, noise_ceiling, person_pairs, self_similarity, subject_similarity
from metrics.rdm import square
from metrics.stimuli92 import Stimuli92


def random_people(subjects: int, sessions: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([[square(rng.uniform(0, 2, 28)) for _ in range(sessions)] for _ in range(subjects)])


def test_oracle_of_four_subjects(oracle: dict[str, Any], stimuli92: Stimuli92, record_property: Any) -> None:
    expected = oracle["human"]["noise_ceiling_rsatoolbox_4subjects"]
    found = noise_ceiling(stimuli92.human_rdms)
    pairs = {
        "spearman": (found.lower, found.upper),
        "rho-a": (found.lower_rho_a, found.upper_rho_a),
        "raw_average_spearman": (found.lower_raw_average, found.upper_raw_average),
    }
    worst = max(
        max(abs(low - expected[name]["lower"]), abs(high - expected[name]["upper"]))
        for name, (low, high) in pairs.items()
    )
    record_property("largest_oracle_deviation", f"{worst:.3g}")
    print(f"noise ceiling: largest deviation from the oracle {worst:.3g}")
    assert worst <= 1e-10
    assert found.subjects == 4
    assert (round(found.lower, 3), round(found.upper, 3)) == (0.372, 0.666)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("spearman", "spearman"), ("rho-a", "rho-a"), ("tau-a", "tau-a"), ("pearson", "corr"), ("cosine", "cosine")],
)
def test_ceilings_of_rsatoolbox(
    name: str, theirs: str, oracle: dict[str, Any], stimuli92: Stimuli92, deviations: Any
) -> None:
    expected = oracle["human"]["noise_ceiling_rsatoolbox_4subjects"][theirs]
    found = ceiling(person_pairs(stimuli92.human_rdms), name)
    apart = max(abs(found.lower - expected["lower"]), abs(found.upper - expected["upper"]))
    deviations(f"noise ceiling of 4 people, {name}", apart, 1e-9)
    single = stimuli92.human_rdms.reshape(8, 1, 92, 92)
    eight = oracle["human"]["noise_ceiling_rsatoolbox_8rdms_leave_one_rdm"].get(theirs)
    if eight:
        found = ceiling(person_pairs(single), name)
        apart = max(abs(found.lower - eight["lower"]), abs(found.upper - eight["upper"]))
        deviations(f"noise ceiling of 8 RDMs, {name}", apart, 1e-9)


@pytest.mark.filterwarnings("ignore:Noise ceiling for tau")
@pytest.mark.parametrize("seed", [0, 1])
def test_ceilings_of_rsatoolbox_as_installed(seed: int, deviations: Any) -> None:
    inference = pytest.importorskip("rsatoolbox.inference", reason="pip install 'hms-search[rsa]'")
    rdm = pytest.importorskip("rsatoolbox.rdm")
    rng = np.random.default_rng(seed)
    common = rng.uniform(0.2, 1.8, 66)
    people = np.clip(common + rng.normal(0, 0.3, (5, 66)), 0, 2).round(1 if seed else 9)
    for name, theirs in (("spearman", "spearman"), ("rho-a", "rho-a"), ("tau-a", "tau-a"), ("cosine", "cosine")):
        low, high = inference.boot_noise_ceiling(rdm.RDMs(people), method=theirs)
        found = ceiling(people, name)
        deviations(
            f"noise ceiling of 5 random people, {name}", max(abs(found.lower - low), abs(found.upper - high)), 1e-9
        )


def test_eight_single_rdms_as_people_match_their_own_oracle(oracle: dict[str, Any], stimuli92: Stimuli92) -> None:
    expected = oracle["human"]["noise_ceiling_rsatoolbox_8rdms_leave_one_rdm"]
    found = noise_ceiling(stimuli92.human_rdms.reshape(8, 1, 92, 92))
    assert found.lower == pytest.approx(expected["spearman"]["lower"], abs=1e-10)
    assert found.upper == pytest.approx(expected["spearman"]["upper"], abs=1e-10)
    assert found.lower_rho_a == pytest.approx(expected["rho-a"]["lower"], abs=1e-10)
    assert found.lower_raw_average == pytest.approx(expected["raw_average_spearman"]["lower"], abs=1e-10)


def test_self_similarity_of_28_pairs(oracle: dict[str, Any], stimuli92: Stimuli92) -> None:
    found = self_similarity(stimuli92.human_rdms)
    pearson = oracle["human"]["self_similarity_28pairs_pearson"]
    rank = oracle["human"]["self_similarity_28pairs_spearman"]
    assert found.pairs == 28
    assert found.pearson_mean == pytest.approx(pearson["mean"], abs=1e-10)
    assert found.pearson_sd == pytest.approx(pearson["sd1"], abs=1e-10)
    assert found.spearman_mean == pytest.approx(rank["mean"], abs=1e-10)
    assert found.spearman_sd == pytest.approx(rank["sd1"], abs=1e-10)
    assert (round(found.pearson_mean, 2), round(found.pearson_sd, 2)) == (0.19, 0.09)


def test_sessions_are_not_people() -> None:
    with pytest.raises(MetricError, match="at least 2 people, got 1 with 8 sessions"):
        noise_ceiling(random_people(1, 8))


def test_two_people_are_enough_and_the_lower_bound_is_their_correlation() -> None:
    found = noise_ceiling(random_people(2, 3))
    assert found.subjects == 2
    assert found.lower == pytest.approx(found.lower_raw_average, abs=1e-12)
    assert found.lower < found.upper


def test_identical_people_have_a_ceiling_of_one() -> None:
    found = noise_ceiling(np.repeat(random_people(1, 2), 3, axis=0))
    assert (found.lower, found.upper) == pytest.approx((1, 1), abs=1e-14)


def test_subject_similarity_matches_the_single_rdms_of_the_oracle(
    oracle: dict[str, Any], oracle_arrays: dict[str, np.ndarray], stimuli92: Stimuli92
) -> None:
    name = "modelRDM_monkeyIT"
    rdms, subjects = stimuli92.human_rdms.reshape(8, 92, 92), np.repeat(["A", "B", "C", "D"], 2)
    found = subject_similarity(square(oracle_arrays[f"rdm_{name}"]), rdms, list(subjects))
    values = [row.value for row in found.sessions]
    assert values == pytest.approx(oracle["models"][name]["spearman_each_of_8"], abs=1e-10)
    assert [(row.subject, row.session) for row in found.sessions[:3]] == [("A", 1), ("A", 2), ("B", 1)]
    assert list(found.subjects) == ["A", "B", "C", "D"]
    assert found.mean == pytest.approx(np.mean(np.array(list(found.subjects.values()), dtype=float)), abs=1e-15)
    assert found.mean is not None and found.mean < noise_ceiling(stimuli92.human_rdms).upper


def test_subject_similarity_of_an_undefined_model_is_undefined() -> None:
    found = subject_similarity(square(np.full(28, 0.4)), random_people(2, 1)[:, 0], ["A", "B"])
    assert found.mean is None
    assert found.subjects == {"A": None, "B": None}


def test_sessions_of_one_person_need_not_stand_beside_each_other() -> None:
    rdms = random_people(3, 1)[:, 0]
    found = subject_similarity(rdms[0], rdms, ["A", "B", "A"])
    assert [(row.subject, row.session) for row in found.sessions] == [("A", 1), ("A", 2), ("B", 1)]
    with pytest.raises(MetricError, match="2 subjects"):
        subject_similarity(rdms[0], rdms, ["A", "B"])


@pytest.mark.parametrize("function", [noise_ceiling, self_similarity])
def test_wrong_arrays_are_refused_and_right_ones_not_modified(function: Any) -> None:
    people = random_people(3, 2)
    before = people.copy()
    function(people)
    np.testing.assert_array_equal(people, before)
    with pytest.raises(MetricError, match=r"\(3, 8, 8\)"):
        function(people[:, 0])
    people[0, 0, 1, 2] = np.nan
    with pytest.raises(MetricError, match="NaN"):
        function(people)
    with pytest.raises(MetricError, match="same distance"):
        function(np.stack([np.stack([square(np.full(28, 0.5))] * 2)] * 3))
