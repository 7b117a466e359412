import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.next_frame import mean_mse, next_frame_mse, previous_frame_mse

SHAPE = (3, 4, 5, 6, 3)


def random_frames(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, SHAPE)


def test_equals_a_hand_written_loop_that_leaves_out_the_first_frame() -> None:
    frames, predictions = random_frames(0), random_frames(1)
    expected = []
    for window in range(3):
        errors = [
            (predictions[window, t, i, j, c] - frames[window, t, i, j, c]) ** 2
            for t in range(1, 4)
            for i in range(5)
            for j in range(6)
            for c in range(3)
        ]
        expected.append(sum(errors) / len(errors))
    found = next_frame_mse(predictions, frames)
    assert found.dtype == np.float64
    assert found == pytest.approx(expected, abs=1e-15)
    predictions[:, 0] = 77
    assert next_frame_mse(predictions, frames) == pytest.approx(expected, abs=1e-15)


def test_previous_frame_is_the_prediction_shifted_by_one() -> None:
    frames = random_frames(2)
    shifted = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    np.testing.assert_array_equal(previous_frame_mse(frames), next_frame_mse(shifted, frames))
    assert previous_frame_mse(np.repeat(frames[:, :1], 4, axis=1)).tolist() == [0, 0, 0]


def test_uint8_frames_are_divided_by_255_in_float64() -> None:
    frames = np.random.default_rng(3).integers(0, 256, SHAPE).astype(np.uint8)
    predictions = random_frames(4).astype(np.float32)
    expected = next_frame_mse(predictions, frames / 255)
    assert next_frame_mse(predictions, frames) == pytest.approx(expected, abs=1e-15)
    assert previous_frame_mse(frames) == pytest.approx(previous_frame_mse(frames / 255), abs=1e-15)
    black_white = np.zeros((1, 2, 1, 1, 1), dtype=np.uint8)
    black_white[0, 1] = 255
    assert previous_frame_mse(black_white).tolist() == [1.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
def test_non_finite_predictions_mark_their_window_only(bad: float) -> None:
    frames, predictions = random_frames(5), random_frames(6).astype(np.float32)
    predictions[1, 2, 0, 0, 0] = bad
    found = next_frame_mse(predictions, frames)
    assert np.isfinite(found[[0, 2]]).all()
    assert np.isnan(found[1]) or found[1] > 1e60


def test_mean_over_windows_has_a_status() -> None:
    result = mean_mse([0.1, 0.3])
    assert (result.value, result.status, result.n_windows) == (pytest.approx(0.2), "ok", 2)
    result = mean_mse([0.1, np.nan])
    assert (result.value, result.status, result.n_windows) == (None, "diverged", 2)
    with pytest.raises(MetricError, match="B >= 1"):
        mean_mse([])


def test_inputs_are_not_modified() -> None:
    frames, predictions = random_frames(7), random_frames(8)
    copies = frames.copy(), predictions.copy()
    next_frame_mse(predictions, frames)
    previous_frame_mse(frames)
    np.testing.assert_array_equal(frames, copies[0])
    np.testing.assert_array_equal(predictions, copies[1])


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.zeros((3, 4, 5, 6)), r"\(3, 4, 5, 6\)"),
        (np.zeros((3, 1, 5, 6, 3)), "T >= 2"),
        (np.zeros(SHAPE, dtype=np.int64), "int64"),
        (np.full(SHAPE, 128.0), "span 128 to 128"),
        (np.full(SHAPE, np.nan), "span nan"),
    ],
)
def test_wrong_frames_are_refused(frames: np.ndarray, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        previous_frame_mse(frames)
    with pytest.raises(MetricError, match=message):
        next_frame_mse(frames, frames)


def test_predictions_of_another_shape_are_refused() -> None:
    with pytest.raises(MetricError, match="must agree"):
        next_frame_mse(np.zeros((3, 4, 5, 6, 1)), random_frames(0))
