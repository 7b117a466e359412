from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.stats

from metrics import baselines as models
from metrics.comparators import ranks, rho_a, spearman
from metrics.errors import MetricError
from metrics.hms import HmsResult, hms, hms_from_gram, since_epoch_0
from metrics.rdm import StreamedGram, correlation_rdm, square, upper
from metrics.stimuli92 import Stimuli92

N = 10
PAIRS = N * (N - 1) // 2
LABELS = [f"stim{index}" for index in range(N)]


def random_rdm(seed: int) -> np.ndarray:
    return square(np.random.default_rng(seed).uniform(0.1, 1.9, PAIRS))


def gram_of(features: np.ndarray) -> StreamedGram:
    gram = StreamedGram(len(features))
    gram.update(features)
    return gram


def undefined(status: str) -> HmsResult:
    return HmsResult(None, status, None, PAIRS)  # type: ignore[arg-type]


# Every model whose features or images are at hand, with the tolerance of its oracle.
RECOMPUTED = {
    "pixels_rgb": models.pixel_rdm,
    "pixels_gray": models.grey_rdm,
    "pixels_blur_sigma8": models.blurred_pixel_rdm,
    "pixels_pool25": models.pooled_pixel_rdm,
    "silhouette": models.silhouette_rdm,
    "modelRDM_Silhouette": models.silhouette_rdm,
    "modelRDM_animacy": models.animacy_rdm,
    "modelRDM_FaceBodyManmadeNatobj": models.category_rdm,
    "modelRDM_monkeyIT": models.monkey_it_rdm,
}
FEATURES = ("random_conv_seed0", "pixels_pool25", "gauss_92x50", "rounded_ties")


def tolerance(name: str) -> float:
    return 1e-6 if name == "rounded_ties" else 1e-10


def deviation(model_rdm: np.ndarray, name: str, oracle: dict[str, Any], stimuli: Stimuli92) -> float:
    """Largest difference from the oracle: HMS, rho-a, and Spearman with each of the eight single RDMs."""
    numbers = oracle["models"][name]
    result = hms(model_rdm, stimuli.human_rdm)
    assert result.status == "ok" and result.n_pairs == 4186
    assert result.value is not None and result.rho_a is not None
    singles = [hms(model_rdm, rdm).value for rdm in stimuli.human_rdms.reshape(8, 92, 92)]
    return max(
        abs(result.value - numbers["spearman"]),
        abs(result.rho_a - numbers["rho-a"]),
        *np.abs(np.array(singles) - numbers["spearman_each_of_8"]),
    )


def report(name: str, found: float, record: Any) -> None:
    record("largest_oracle_deviation", f"{name}: {found:.3g}")
    print(f"{name}: largest deviation from the oracle {found:.3g}")
    assert found <= tolerance(name)


@pytest.mark.parametrize("name", RECOMPUTED)
def test_oracle_of_models_recomputed_from_images(
    name: str, oracle: dict[str, Any], stimuli92: Stimuli92, record_property: Any
) -> None:
    rdm = RECOMPUTED[name](stimuli92)
    assert rdm[0, 1:6] == pytest.approx(oracle["models"][name]["rdm_first5"], abs=1e-11)
    report(name, deviation(rdm, name, oracle, stimuli92), record_property)


@pytest.mark.parametrize("name", FEATURES)
def test_oracle_of_models_recomputed_from_features(
    name: str,
    oracle: dict[str, Any],
    oracle_arrays: dict[str, np.ndarray],
    stimuli92: Stimuli92,
    record_property: Any,
) -> None:
    rdm = correlation_rdm(oracle_arrays[f"features_{name}"])
    assert upper(rdm) == pytest.approx(oracle_arrays[f"rdm_{name}"], abs=1e-12)
    report(name, deviation(rdm, name, oracle, stimuli92), record_property)


def test_oracle_of_every_rdm_in_the_file(
    oracle: dict[str, Any],
    oracle_arrays: dict[str, np.ndarray],
    stimuli92: Stimuli92,
    record_property: Any,
) -> None:
    names = [key.removeprefix("rdm_") for key in oracle_arrays if key.startswith("rdm_")]
    assert len(names) == 16
    found = {name: deviation(square(oracle_arrays[f"rdm_{name}"]), name, oracle, stimuli92) for name in names}
    for name, value in found.items():
        report(name, value, record_property)
    exact = {name: value for name, value in found.items() if name != "rounded_ties"}
    worst = max(exact, key=lambda name: exact[name])
    record_property("worst_model", worst)
    print(f"worst of {len(exact)} tie-free or exact models: {worst} {exact[worst]:.3g}")


def test_the_human_average_is_the_published_one(
    human92: Any, oracle_arrays: dict[str, np.ndarray], stimuli92: Stimuli92
) -> None:
    ours = upper(stimuli92.human_rdm)
    np.testing.assert_allclose(ours, oracle_arrays["human_average"], atol=1e-15, rtol=0)
    published = scipy.io.loadmat(human92 / "ave_hum_rdm.mat")
    structs = [value for key, value in published.items() if not key.startswith("__")]
    np.testing.assert_allclose(stimuli92.human_rdm, structs[0]["RDM"][0, 0], atol=1.2e-7, rtol=0)


def test_an_rdm_of_itself_is_1_and_of_its_reverse_minus_1() -> None:
    rdm = random_rdm(0)
    assert hms(rdm, rdm).value == pytest.approx(1, abs=1e-14)
    assert hms(square(2 - upper(rdm)), rdm).value == pytest.approx(-1, abs=1e-14)


def test_spearman_equals_scipy_with_and_without_ties() -> None:
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=200), rng.integers(0, 7, 200).astype(float)):
        other = rng.integers(0, 40, 200) + values
        assert spearman(values, other) == pytest.approx(scipy.stats.spearmanr(values, other)[0], abs=1e-14)
        np.testing.assert_array_equal(ranks(values), scipy.stats.rankdata(values))


def test_rho_a_is_the_mean_over_all_ways_to_break_ties() -> None:
    tied, other = [1.0, 1.0, 2.0, 3.0], [0.3, 0.1, 0.2, 0.9]
    broken = [spearman(order, other) for order in ([1.0, 1.1, 2, 3], [1.1, 1.0, 2, 3])]
    assert rho_a(tied, other) == pytest.approx(np.mean(np.array(broken, dtype=float)), abs=1e-15)


def test_both_correlations_are_reported_for_a_binary_model(stimuli92: Stimuli92) -> None:
    result = hms(models.animacy_rdm(stimuli92), stimuli92.human_rdm)
    assert (round(result.value or 0, 3), round(result.rho_a or 0, 3)) == (0.588, 0.509)


def test_values_closer_than_1e_10_share_a_rank() -> None:
    assert ranks([0.5, 0.5 + 9e-11, 0.1, 0.7]).tolist() == [2.5, 2.5, 1, 4]
    assert ranks([0.5, 0.5 + 1.1e-10, 0.1, 0.7]).tolist() == [2, 3, 1, 4]


@pytest.mark.parametrize("step", [1.1e-11, 6e-11, 1.5e-10])
def test_ranks_equal_a_plain_loop_over_groups(step: float) -> None:
    values = np.random.default_rng(20).integers(0, 90, 300) * step
    expected = np.empty(300)
    order, start = np.argsort(values), 0
    while start < 300:
        group = [i for i in order[start:] if values[i] - values[order[start]] < 1e-10]
        expected[group] = start + (1 + len(group)) / 2
        start += len(group)
    np.testing.assert_array_equal(ranks(values), expected)
    np.testing.assert_array_equal(ranks(values, snap=0), scipy.stats.rankdata(values))


def test_a_dense_run_of_values_is_not_melted_into_one_tie() -> None:
    run = np.arange(1000) * 6e-11
    assert spearman(run, np.arange(1000)) == pytest.approx(1, abs=1e-5)


def test_rounding_noise_does_not_change_the_hms() -> None:
    reference = random_rdm(1)
    model = np.round(random_rdm(2), 1)
    noise = square(np.random.default_rng(3).uniform(0, 9e-11, PAIRS))
    assert hms(model + noise, reference) == hms(model, reference)
    assert spearman(1e3 * upper(model + noise), upper(reference)) != hms(model, reference).value


def test_distances_are_clipped_to_0_and_2() -> None:
    reference = random_rdm(4)
    pairs = upper(random_rdm(5))
    pairs[:3], pairs[3:6] = 0.0, 2.0
    outside = pairs.copy()
    outside[:3], outside[3:6] = [-1e-7, -2e-7, -1e-9], [2 + 1e-7, 2 + 2e-7, 2 + 1e-9]
    assert hms(square(outside), reference) == hms(square(pairs), reference)
    with pytest.raises(MetricError, match=r"spans .* to 5"):
        hms(square(np.linspace(0, 5, PAIRS)), reference)


def test_near_identical_float32_patterns_score_as_their_exact_distances_do() -> None:
    rng = np.random.default_rng(6)
    scale = 1e-3 * rng.uniform(0.5, 2, size=(N, 1))
    features = (rng.normal(size=40_000) + scale * rng.normal(size=(N, 40_000))).astype(np.float32)
    wide = features.astype(np.longdouble)
    wide -= wide.mean(axis=1, keepdims=True)
    wide /= np.sqrt((wide**2).sum(axis=1, keepdims=True))
    truth = [[float(((a - b) ** 2).sum()) for b in wide] for a in wide]
    # Doubling and scaling leaves the order of the exact distances, far from the snapping step.
    reference = np.array(truth) / np.max(truth)
    assert (hms_from_gram(gram_of(features), reference).value or 0) > 1 - 1e-9


def test_a_constant_pattern_is_undefined() -> None:
    features = np.random.default_rng(7).normal(size=(N, 30)).astype(np.float32)
    features[4] = 0.3
    assert hms_from_gram(gram_of(features), random_rdm(0)) == undefined("undefined_constant")
    assert hms_from_gram(gram_of(np.zeros((N, 30))), random_rdm(0)) == undefined("undefined_constant")


def test_a_network_that_ignores_its_input_is_undefined() -> None:
    pattern = np.random.default_rng(8).normal(size=30).astype(np.float32)
    same = np.tile(pattern, (N, 1))
    assert hms_from_gram(gram_of(same), random_rdm(0)) == undefined("undefined_collapsed")
    noisy = same + np.float32(1e-7) * np.random.default_rng(9).normal(size=same.shape).astype(np.float32)
    assert hms_from_gram(gram_of(noisy.astype(np.float32)), random_rdm(0)) == undefined("undefined_collapsed")
    scaled = same * np.linspace(1, 2, N)[:, None]
    assert hms_from_gram(gram_of(scaled), random_rdm(0)) == undefined("undefined_collapsed")
    assert hms(square(np.full(PAIRS, 0.7)), random_rdm(0)) == undefined("undefined_collapsed")


def test_rounding_noise_on_a_large_offset_is_collapsed_too() -> None:
    rng = np.random.default_rng(10)
    pattern = (1 + 1e-3 * rng.normal(size=4_000)).astype(np.float32)
    same = np.tile(pattern, (N, 1))
    noisy = np.where(rng.random(same.shape) < 0.5, same, np.nextafter(same, np.float32(2)))
    assert upper(correlation_rdm(noisy)).max() > 1e-10, "snapping alone would have caught it"
    assert hms_from_gram(gram_of(noisy), random_rdm(0)) == undefined("undefined_collapsed")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_activation_is_diverged(bad: float) -> None:
    features = np.random.default_rng(11).normal(size=(N, 30)).astype(np.float32)
    features[0, 0] = bad
    features[1] = 0
    assert hms_from_gram(gram_of(features), random_rdm(0)) == undefined("diverged")
    rdm = random_rdm(1)
    rdm[0, 1] = rdm[1, 0] = bad
    assert hms(rdm, random_rdm(0)) == undefined("diverged")


def test_labels_align_the_model_whatever_its_order() -> None:
    model, reference = random_rdm(12), random_rdm(13)
    expected = hms(model, reference)
    order = np.random.default_rng(19).permutation(N)
    shuffled = model[np.ix_(order, order)]
    labels = [LABELS[index] for index in order]
    assert hms(shuffled, reference).value != expected.value
    assert hms(shuffled, reference, labels=labels, reference_labels=LABELS) == expected
    features = np.random.default_rng(14).normal(size=(N, 30))
    result = hms_from_gram(gram_of(features[order]), reference, labels=labels, reference_labels=LABELS)
    assert result.value == pytest.approx(hms_from_gram(gram_of(features), reference).value, abs=1e-14)


def test_text_order_of_numbered_labels_is_put_right() -> None:
    labels = [f"stim{index}" for index in range(1, 13)]
    rng = np.random.default_rng(15)
    model, reference = (square(rng.uniform(0.1, 1.9, 66)) for _ in range(2))
    as_text = sorted(range(12), key=lambda index: labels[index])
    sorted_model = model[np.ix_(as_text, as_text)]
    assert sorted(labels)[1] == "stim10"
    assert abs((hms(sorted_model, reference).value or 0) - (hms(model, reference).value or 0)) > 1e-3
    assert hms(sorted_model, reference, labels=sorted(labels), reference_labels=labels) == hms(model, reference)


def test_labels_that_do_not_match_are_errors() -> None:
    with pytest.raises(MetricError, match="1 missing"):
        hms(random_rdm(0), random_rdm(1), labels=[*LABELS[:-1], "other"], reference_labels=LABELS)
    with pytest.raises(MetricError, match="1 missing"):
        hms_from_gram(
            gram_of(np.zeros((N, 30))), random_rdm(1), labels=[*LABELS[:-1], "other"], reference_labels=LABELS
        )
    with pytest.raises(MetricError, match="Only one"):
        hms(random_rdm(0), random_rdm(1), labels=LABELS)


def test_an_unusable_reference_is_an_error() -> None:
    broken = random_rdm(0)
    broken[2, 3] = broken[3, 2] = np.nan
    for reference, message in (
        (broken, "NaN"),
        (square(np.full(PAIRS, 0.5)), "All pairs"),
        (np.zeros((3, 3)), "10 stimuli, the reference RDM 3"),
    ):
        with pytest.raises(MetricError, match=message):
            hms(random_rdm(1), reference)


def test_inputs_are_not_modified() -> None:
    model, reference = random_rdm(16), random_rdm(17)
    model[0, 1] = model[1, 0] = -1e-8
    features = np.random.default_rng(18).normal(size=(N, 30)).astype(np.float32)
    copies = model.copy(), reference.copy(), features.copy()
    hms(model, reference, labels=LABELS[::-1], reference_labels=LABELS)
    hms_from_gram(gram_of(features), reference)
    for array, copy in zip((model, reference, features), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_what_training_added() -> None:
    rows = [
        {"tid": 0, "epoch": 5, "hms": 0.15},
        {"tid": 0, "epoch": 0, "hms": 0.1},
        {"tid": 1, "epoch": 0, "hms": None},
        {"tid": 1, "epoch": 5, "hms": 0.2},
        {"tid": 2, "epoch": 5, "hms": 0.3},
    ]
    assert since_epoch_0(rows) == [pytest.approx(0.05), 0, None, None, None]
