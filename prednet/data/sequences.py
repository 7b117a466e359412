"""Windows of consecutive frames, and the order in which an epoch takes them."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prednet.data.cache import Recording, Split
from prednet.errors import DataError

WindowMode = Literal["all", "unique"]


def window_starts(recordings: Sequence[Recording], nt: int, mode: WindowMode) -> NDArray[np.int64]:
    """First rows of all windows of nt frames; none crosses a recording.

    Mode "all" takes every start, the last valid one included (training, validation); "unique" takes
    disjoint windows from the start of each recording (test), as Lotter et al. do.
    """
    if nt < 1:
        raise DataError(f"a window of nt={nt} frames is impossible; use 2 or more")
    if mode not in ("all", "unique"):
        raise DataError(f"window mode {mode!r} is unknown; choose all or unique")
    step = 1 if mode == "all" else nt
    starts = [
        np.arange(recording.offset, recording.offset + recording.length - nt + 1, step, dtype=np.int64)
        for recording in recordings
    ]
    return np.concatenate(starts) if starts else np.zeros(0, np.int64)


class Windows:
    """All windows of a split, or a chosen few, in the order of the recordings.

    Pickles like its `Split`: without frames.

    Raises:
        DataError: no recording holds nt frames.
    """

    def __init__(
        self, split: Split, nt: int, mode: WindowMode = "all", starts: NDArray[np.int64] | None = None
    ) -> None:
        self.split = split
        self.nt = nt
        self.mode: WindowMode = mode
        self.starts = window_starts(split.recordings, nt, mode) if starts is None else starts
        if not len(self.starts):
            longest = max((recording.length for recording in split.recordings), default=0)
            raise DataError(
                f"the {split.name} split of {split.file.parent.name} has no window of {nt} frames: its longest"
                f" recording has {longest}. Next: lower the sequence length (nt) or add longer recordings"
            )

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
        """(B, nt, H, W, 3) uint8, a fresh array. Raises IndexError for an index outside 0 .. len - 1."""
        wanted = np.asarray(indices, np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"window index outside 0..{len(self) - 1}: {wanted.min()}..{wanted.max()}")
        frames = self.split.frames
        batch = np.empty((len(wanted), self.nt, *frames.shape[1:]), np.uint8)
        for row, start in enumerate(self.starts[wanted]):
            batch[row] = frames[start : start + self.nt]
        return batch

    def first(self, n: int) -> "Windows":
        """The first n windows (validation: every start, truncated); all of them when there are fewer."""
        return Windows(self.split, self.nt, self.mode, self.starts[:n])

    def spread(self, n: int) -> "Windows":
        """n windows spread evenly over all of them; all of them when there are fewer."""
        if n >= len(self):
            return self
        chosen = np.round(np.linspace(0, len(self) - 1, n)).astype(np.int64)
        return Windows(self.split, self.nt, self.mode, self.starts[chosen])


def evaluation_windows(split: Split, nt: int, limit: int | None = None) -> Windows:
    """The fixed windows on which every network of a search is compared: disjoint, spread over the split.

    They depend on the dataset, nt and limit alone; `windows_digest` identifies them.
    """
    windows = Windows(split, nt, "unique")
    return windows if limit is None else windows.spread(limit)


def epoch_batches(
    windows: Windows, n_sequences: int, batch_size: int, seed: int, epoch: int
) -> Iterator[NDArray[np.uint8]]:
    """Batches (B, nt, H, W, 3) uint8 of one epoch, B = batch_size but for a smaller last batch.

    The order depends on (seed, epoch) alone, on no global state. No window comes twice unless more
    sequences are asked for than windows exist; then all come equally often, to within one.
    """
    for indices in epoch_order(len(windows), n_sequences, batch_size, seed, epoch):
        yield windows.take(indices)


def epoch_order(n_windows: int, n_sequences: int, batch_size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """Window indices of each batch of `epoch_batches`."""
    if n_windows < 1 or n_sequences < 1 or batch_size < 1 or seed < 0 or epoch < 0:
        raise DataError(
            f"impossible epoch: {n_windows} windows, {n_sequences} sequences, batch size {batch_size},"
            f" seed {seed}, epoch {epoch}; the first three must be positive, the others not negative"
        )
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch])))
    passes = -(-n_sequences // n_windows)
    order = np.concatenate([rng.permutation(n_windows) for _ in range(passes)])[:n_sequences]
    return [order[start : start + batch_size] for start in range(0, n_sequences, batch_size)]


def windows_digest(windows: Windows) -> str:
    """sha256 of the dataset's fingerprint, the split, nt and the starts: equal digests, equal frames."""
    split = windows.split
    digest = hashlib.sha256(f"{split.dataset_fingerprint}\0{split.name}\0{windows.nt}\0".encode())
    digest.update(windows.starts.astype("<i8").tobytes())
    return digest.hexdigest()
