import tracemalloc

import numpy as np
import pytest

from metrics.comparators import spearman
from metrics.errors import MetricError
from metrics.rdm import StreamedGram, align, correlation_rdm, rescaled, square, upper


def exact_rdm(features: np.ndarray) -> np.ndarray:
    """1 - Pearson in extended precision, without a Gram matrix: half the squared distance of standardised patterns."""
    wide = features.astype(np.longdouble)
    wide -= wide.mean(axis=1, keepdims=True)
    wide /= np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return np.array([[((a - b) ** 2).sum() / 2 for b in wide] for a in wide], dtype=np.float64)


def in_pieces(features: np.ndarray, edges: list[int]) -> StreamedGram:
    gram = StreamedGram(len(features))
    for piece in np.split(features, edges, axis=1):
        gram.update(piece)
    return gram


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(12, 500)).astype(np.float32)


def test_equals_numpy_corrcoef(features: np.ndarray) -> None:
    expected = 1 - np.corrcoef(features.astype(np.float64))
    np.testing.assert_allclose(correlation_rdm(features), expected, atol=1e-13, rtol=0)


@pytest.mark.parametrize("edges", [[1], [250], [3, 4, 499], list(range(7, 500, 7)), [0, 500]])
def test_pieces_do_not_matter(features: np.ndarray, edges: list[int]) -> None:
    np.testing.assert_allclose(in_pieces(features, edges).rdm(), correlation_rdm(features), atol=1e-14, rtol=0)


def test_pieces_of_very_different_mean_and_scale_merge_exactly(features: np.ndarray) -> None:
    scaled = features.astype(np.float64)
    scaled[:, :10] += 1e3
    scaled[:, 200:] *= 1e-2
    np.testing.assert_allclose(in_pieces(scaled, [10, 200]).rdm(), exact_rdm(scaled), atol=1e-13, rtol=0)


def test_one_piece_of_many_blocks(monkeypatch: pytest.MonkeyPatch, features: np.ndarray) -> None:
    whole = correlation_rdm(features)
    monkeypatch.setattr("metrics.rdm._BLOCK_VALUES", 12 * 7)
    np.testing.assert_allclose(correlation_rdm(features), whole, atol=1e-14, rtol=0)


def test_symmetric_with_zero_diagonal_in_range(features: np.ndarray) -> None:
    features[1] = -features[0]
    rdm = correlation_rdm(features)
    assert (rdm == rdm.T).all()
    assert (np.diagonal(rdm) == 0).all()
    assert rdm.min() >= 0
    assert rdm.max() == rdm[0, 1] == 2


def test_near_identical_float32_patterns_get_the_right_rank_order() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=20_000)
    features = (base + 1e-2 * rng.normal(size=(30, 20_000)) * rng.uniform(0.5, 2, size=(30, 1))).astype(np.float32)
    truth = exact_rdm(features)
    rdm = in_pieces(features, [37, 9_000]).rdm()
    assert upper(truth).max() < 1e-3
    assert (np.argsort(upper(rdm)) == np.argsort(upper(truth))).all()
    assert spearman(upper(rdm), upper(truth)) == pytest.approx(1, abs=1e-12)


def test_far_closer_float32_patterns_keep_their_order_before_snapping() -> None:
    rng = np.random.default_rng(6)
    base = rng.normal(size=5_000)
    features = (base + 1e-4 * rng.normal(size=(30, 5_000)) * rng.uniform(0.5, 2, size=(30, 1))).astype(np.float32)
    truth, rdm = upper(exact_rdm(features)), upper(correlation_rdm(features))
    assert truth.max() < 1e-7
    np.testing.assert_allclose(rdm, truth, atol=2e-15, rtol=0)
    assert spearman(1e6 * rdm, 1e6 * truth) == pytest.approx(1, abs=1e-6)
    centred = features - features.mean(axis=1, keepdims=True)
    float32_gram = centred @ centred.T
    scale = np.sqrt(np.diagonal(float32_gram))
    float32_rdm = (1 - float32_gram / np.outer(scale, scale)).astype(np.float64)
    worst = spearman(1e6 * float32_rdm[np.triu_indices(30, 1)], 1e6 * truth)
    assert worst is None or abs(worst) < 0.9, "float32 arithmetic would have done: the test shows nothing"


def test_large_means_do_not_cancel_the_covariance() -> None:
    rng = np.random.default_rng(3)
    features = (4096 + rng.normal(size=(20, 8_000))).astype(np.float32)
    truth = exact_rdm(features)
    np.testing.assert_allclose(in_pieces(features, [1, 10, 5_000]).rdm(), truth, atol=1e-13, rtol=0)
    wide = features.astype(np.float64) + 1e9
    np.testing.assert_allclose(in_pieces(wide, [1, 10, 5_000]).rdm(), exact_rdm(wide), atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8, np.int64])
def test_every_real_type_and_memory_order_and_inputs_unmodified(dtype: type) -> None:
    values = np.random.default_rng(4).integers(0, 200, size=(6, 40)).astype(dtype)
    fortran = np.asfortranarray(values)
    for array in (values, fortran, values[:, ::-1]):
        array.flags.writeable = False
        before = array.copy()
        np.testing.assert_allclose(
            correlation_rdm(array), 1 - np.corrcoef(values.astype(np.float64)), atol=1e-13, rtol=0
        )
        assert (array == before).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_is_remembered(features: np.ndarray, bad: float) -> None:
    broken = features.copy()
    broken[3, 400] = bad
    gram = in_pieces(broken, [100, 450])
    assert not gram.finite
    assert np.isnan(gram.rdm()).all()


def test_overflow_of_float64_counts_as_non_finite() -> None:
    gram = StreamedGram(2)
    gram.update(np.array([[1e200, -1e200], [1.0, 2.0]]))
    assert not gram.finite


@pytest.mark.parametrize("value", [0.0, 0.1, 1e4, -3e-20])
def test_constant_patterns_are_named_whatever_their_value(features: np.ndarray, value: float) -> None:
    features[[2, 5]] = value
    gram = in_pieces(features, [77, 333])
    assert np.flatnonzero(gram.constant).tolist() == [2, 5]
    assert np.isnan(gram.rdm()[2]).all() and np.isnan(gram.rdm()[:, 5]).all()
    assert np.isfinite(np.delete(np.delete(gram.rdm(), [2, 5], 0), [2, 5], 1)).all()


def test_constant_within_each_piece_but_not_over_pieces_is_a_pattern() -> None:
    gram = StreamedGram(3)
    gram.update(np.full((3, 4), 1.0))
    gram.update(np.array([[2.0], [2.0], [0.0]]))
    assert not gram.constant.any()
    np.testing.assert_allclose(gram.rdm(), [[0, 0, 2], [0, 0, 2], [2, 2, 0]], atol=1e-14)


def test_collapsed_up_to_rounding_of_the_features() -> None:
    rng = np.random.default_rng(5)
    pattern = (1 + 1e-3 * rng.normal(size=3_000)).astype(np.float32)
    noisy = np.stack([pattern * (1 + np.float32(1.2e-7) * rng.integers(-1, 2, size=3_000)) for _ in range(8)])
    gram = StreamedGram(8)
    gram.update(noisy.astype(np.float32))
    assert gram.collapsed and not gram.constant.any()
    distinct = StreamedGram(8)
    distinct.update((pattern + 1e-5 * rng.normal(size=(8, 3_000))).astype(np.float32))
    assert not distinct.collapsed


@pytest.mark.parametrize("shape", [(11, 5), (12,), (12, 5, 2)])
def test_wrong_shapes_are_refused_with_the_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(MetricError, match=r"\(12, d\)"):
        StreamedGram(12).update(np.zeros(shape))


def test_text_complex_nothing_and_one_stimulus_are_refused() -> None:
    with pytest.raises(MetricError, match="complex128"):
        StreamedGram(2).update(np.zeros((2, 3), dtype=complex))
    with pytest.raises(MetricError, match="Call update"):
        StreamedGram(2).rdm()
    with pytest.raises(MetricError, match="at least 2"):
        StreamedGram(1)


def test_upper_goes_row_by_row_and_square_undoes_it() -> None:
    rdm = square([1.0, 2, 3, 4, 5, 6])
    assert rdm[0].tolist() == [0, 1, 2, 3] and rdm[1].tolist() == [1, 0, 4, 5]
    assert upper(rdm).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(MetricError, match="5 pairs"):
        square(np.ones(5))


def test_upper_refuses_what_is_no_rdm() -> None:
    with pytest.raises(MetricError, match=r"\(2, 3\)"):
        upper(np.zeros((2, 3)))
    with pytest.raises(MetricError, match="not symmetric"):
        upper([[0, 1], [0.5, 0]])


def test_align_reorders_rows_and_columns_without_touching_the_input() -> None:
    rdm = square([1.0, 2, 3])
    before = rdm.copy()
    aligned = align(rdm, ["a", "b", "c"], ["c", "a", "b"])
    assert aligned.tolist() == [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    assert (rdm == before).all()


@pytest.mark.parametrize(
    ("labels", "reference", "message"),
    [
        (["a", "b", "x"], ["a", "b", "c"], r"1 missing \['c'\], 1 additional \['x'\]"),
        (["a", "b", "b"], ["a", "b", "c"], "repeat"),
        (["a", "b", "c"], ["a", "b", "b"], "reference labels repeat"),
        (["a", "b"], ["a", "b"], "2 labels .* 3 stimuli"),
        (["a", "b", "c"], ["a", "b"], "1 additional"),
    ],
)
def test_align_refuses_labels_that_do_not_match(labels: list[str], reference: list[str], message: str) -> None:
    with pytest.raises(MetricError, match=message):
        align(square([1.0, 2, 3]), labels, reference)


def test_memory_stays_far_below_a_float64_copy_of_the_features() -> None:
    features = np.random.default_rng(7).normal(size=(16, 1_000_000)).astype(np.float32)
    tracemalloc.start()
    correlation_rdm(features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6, "a float64 copy alone would be 128 MB"


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 3.0, 1e6])
def test_distances_of_another_unit_span_one_and_keep_their_ranks(unit: float) -> None:
    usual = np.random.default_rng(0).uniform(-0.2, 1.5, 45)
    found = rescaled(unit * usual)
    assert np.ptp(found) == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(np.argsort(found), np.argsort(usual))
    assert spearman(found, usual) == pytest.approx(1, abs=1e-12)


def test_distances_of_one_minus_correlation_stay_as_they_are() -> None:
    pairs = np.random.default_rng(1).uniform(0, 2, 45)
    np.testing.assert_array_equal(rescaled(pairs), pairs)
    np.testing.assert_array_equal(rescaled(np.full(3, 7.0)), np.full(3, 7.0))
