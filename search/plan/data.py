"""What the plan knows of the video: numbers of windows, from the prepared data, or assumed where there are none."""

from dataclasses import dataclass
from pathlib import Path

from prednet.data.cache import VideoDataset
from prednet.data.sequences import Windows, evaluation_windows
from search.config import SearchConfig
from search.paths import video_path

# Frames of KITTI's validation drive and test drives, as Lotter et al. 2017 split it.
ASSUMED_VAL_FRAMES, ASSUMED_TEST_FRAMES = 154, 832


@dataclass(frozen=True)
class DataFacts:
    """Windows of the video: every start of the validation split, and the disjoint ones that metrics are taken on.

    `prepared`: they were counted in the data on this machine, not assumed. Windows of `data.transfer` count as test
    windows; where such a dataset is not prepared, as many as the test split has are assumed for it.
    """

    val_windows: int
    mse_windows: int
    test_windows: int
    prepared: bool


def data_facts(config: SearchConfig, root: Path) -> DataFacts:
    """Count the windows of the prepared video; where it is missing, assume those of KITTI. Nothing is prepared.

    Raises:
        DataError: the data are there and can't be read, or are too short.
    """
    path, nt, limit = video_path(root, config.data), config.training.nt, config.metrics.mse.max_windows
    if not path.exists():
        val, test = ASSUMED_VAL_FRAMES // nt, ASSUMED_TEST_FRAMES // nt
        tested = (1 + len(config.data.transfer)) * min(limit or test, test)
        return DataFacts(ASSUMED_VAL_FRAMES - nt + 1, min(limit or val, val), tested, prepared=False)
    dataset = VideoDataset.open(path)

    def disjoint(video: VideoDataset, split: str) -> int:
        return len(evaluation_windows(video.split(split), nt, limit)) if video.has_split(split) else 0

    every_start = len(Windows(dataset.split("val"), nt, "all"))
    tested = own = disjoint(dataset, "test")
    for name in config.data.transfer:
        place = video_path(root, config.data.model_copy(update={"dataset": name}))
        other = VideoDataset.open(place) if place.exists() else None
        tested += own if other is None else disjoint(other, "test") or disjoint(other, "val")
    return DataFacts(every_start, disjoint(dataset, "val"), tested, prepared=True)
