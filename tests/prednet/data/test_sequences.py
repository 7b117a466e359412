import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prednet.data.cache import Recording, VideoDataset
from prednet.data.sequences import (
    Windows,
    epoch_batches,
    epoch_order,
    evaluation_windows,
    window_starts,
    windows_digest,
)
from prednet.errors import DataError


def recordings(*lengths: int, gap: int = 0) -> list[Recording]:
    offsets = np.cumsum([0, *(length + gap for length in lengths)])
    return [Recording(f"r{i}", int(offset), n) for i, (offset, n) in enumerate(zip(offsets, lengths, strict=False))]


def test_all_takes_every_start_with_the_last_valid_one() -> None:
    assert window_starts(recordings(12, 9, 10), 10, "all").tolist() == [0, 1, 2, 21]


def test_unique_takes_disjoint_windows_from_each_recording() -> None:
    assert window_starts(recordings(35, 9, 20), 10, "unique").tolist() == [0, 10, 20, 44, 54]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
    st.integers(1, 12),
    st.sampled_from(["all", "unique"]),
    st.integers(0, 2),
)
def test_no_window_crosses_a_recording(lengths: list[int], nt: int, mode: str, gap: int) -> None:
    spans = recordings(*lengths, gap=gap)
    owner = np.full(sum(lengths) + gap * len(lengths), -1)
    for index, span in enumerate(spans):
        owner[span.offset : span.offset + span.length] = index
    starts = window_starts(spans, nt, mode)  # type: ignore[arg-type]
    for start in starts:
        assert owner[start] >= 0 and len(set(owner[start : start + nt])) == 1
    per = (lambda n: max(0, n - nt + 1)) if mode == "all" else (lambda n: n // nt)
    assert len(starts) == sum(per(length) for length in lengths)
    if mode == "unique" and len(starts) > 1:
        assert np.diff(starts).min() >= nt


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(DataError, match="nt=0"):
        window_starts(recordings(5), 0, "all")
    with pytest.raises(DataError, match="'some'"):
        window_starts(recordings(5), 5, "some")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="5 windows, 0 sequences"):
        epoch_order(5, 0, 2, 0, 0)


def test_take_returns_the_frames_of_the_windows(dataset: VideoDataset) -> None:
    split = dataset.split("train")
    windows = Windows(split, 10)
    batch = windows.take([8, 0])
    assert batch.shape == (2, 10, 16, 20, 3) and batch.dtype == np.uint8
    np.testing.assert_array_equal(batch[1], split.frames[:10])
    np.testing.assert_array_equal(batch[0], split.frames[17:27])
    batch[:] = 0
    assert split.frames[:10].any()
    assert windows.take([]).shape == (0, 10, 16, 20, 3)
    for wrong in (-1, len(windows)):
        with pytest.raises(IndexError, match=str(wrong)):
            windows.take([wrong])


def test_too_short_for_a_window_names_the_longest(dataset: VideoDataset) -> None:
    with pytest.raises(DataError, match=r"val split of dataset has no window of 12 frames.*has 11"):
        Windows(dataset.split("val"), 12)


def test_epochs_depend_on_seed_and_epoch_alone(dataset: VideoDataset) -> None:
    windows = Windows(dataset.split("train"), 10)

    def epoch(seed: int, number: int) -> bytes:
        return b"".join(batch.tobytes() for batch in epoch_batches(windows, 6, 4, seed, number))

    first = epoch(3, 5)
    np.random.seed(99)
    random.seed(99)
    np.random.rand(7)
    assert epoch(3, 5) == first
    before = np.random.get_state()[1].copy()
    epoch(3, 6)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    assert len({first, epoch(3, 6), epoch(4, 5), epoch(5, 3)}) == 4


def test_the_order_is_pinned() -> None:
    assert [batch.tolist() for batch in epoch_order(8, 6, 4, 1, 2)] == [[6, 0, 7, 5], [1, 4]]


def test_the_last_batch_is_smaller_not_padded(dataset: VideoDataset) -> None:
    windows = Windows(dataset.split("train"), 10)
    batches = list(epoch_batches(windows, 9, 4, 0, 0))
    assert [len(batch) for batch in batches] == [4, 4, 1]
    assert all(batch.any(axis=(1, 2, 3, 4)).all() for batch in batches)


def test_windows_repeat_only_when_more_are_asked_for_than_exist() -> None:
    once = np.concatenate(epoch_order(9, 9, 4, 0, 0))
    assert sorted(once) == list(range(9))
    often = np.bincount(np.concatenate(epoch_order(9, 22, 4, 0, 0)), minlength=9)
    assert often.sum() == 22 and set(often) == {2, 3}


def test_evaluation_windows_are_fixed_and_disjoint(dataset: VideoDataset) -> None:
    split = dataset.split("test")
    assert evaluation_windows(split, 10).starts.tolist() == [0, 10]
    assert evaluation_windows(split, 5).starts.tolist() == [0, 5, 10, 15]
    assert evaluation_windows(split, 5, limit=2).starts.tolist() == [0, 15]
    assert evaluation_windows(split, 5, limit=9).starts.tolist() == [0, 5, 10, 15]
    assert Windows(split, 5).first(3).starts.tolist() == [0, 1, 2]


def test_the_digest_tells_windows_apart(dataset: VideoDataset) -> None:
    split = dataset.split("test")
    digests = {
        windows_digest(windows)
        for windows in (
            Windows(split, 10),
            Windows(split, 10, "unique"),
            Windows(split, 9),
            evaluation_windows(split, 10, 1),
            Windows(dataset.split("train"), 10),
        )
    }
    assert len(digests) == 5
    assert windows_digest(Windows(split, 10)) == windows_digest(
        Windows(VideoDataset.open(dataset.path).split("test"), 10)
    )


def test_windows_pickle_without_frames(dataset: VideoDataset, tmp_path: Path) -> None:
    windows = Windows(dataset.split("test"), 10)
    expected = windows.take([3])
    data = pickle.dumps(windows)
    assert len(data) < 4000 < windows.split.frames.nbytes
    np.testing.assert_array_equal(pickle.loads(data).take([3]), expected)
