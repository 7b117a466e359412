"""What the plan knows of the data: windows of video, stimuli, images of objects; counted where they are prepared."""

from dataclasses import dataclass
from pathlib import Path

from metrics.stimuli92 import LABELS92
from metrics.stimulus_sets import STIMULI92, open_reference
from prednet.data.cache import VideoDataset
from prednet.data.sequences import Windows, evaluation_windows
from search.config import SearchConfig
from search.metric_sections import MatchingSection
from search.paths import brain_path, video_path

# Frames of KITTI's validation drive and test drives, as Lotter et al. 2017 split it.
ASSUMED_VAL_FRAMES, ASSUMED_TEST_FRAMES = 154, 832


@dataclass(frozen=True)
class DataFacts:
    """Windows of the video: every start of the validation split, and the disjoint ones that metrics are taken on.

    `prepared`: they were counted in the data on this machine, not assumed. Windows of `data.transfer` count as test
    windows; where such a dataset is not prepared, as many as the test split has are assumed for it. `stimuli`: how many
    HMS shows (92 are assumed of a set that is not prepared: `stimuli_prepared`); `object_images`: of the matching pool.
    """

    val_windows: int
    mse_windows: int
    test_windows: int
    prepared: bool
    stimuli: int
    object_images: int
    stimuli_prepared: bool = True


def data_facts(config: SearchConfig, root: Path) -> DataFacts:
    """Count windows, stimuli and images; where the video is missing, assume KITTI's. Nothing is prepared.

    Raises:
        DataError: the data are there and can't be read, or are too short.
        StimuliError: the stimuli are there and can't be read.
    """
    shown, known = _stimuli(config.metrics.hms.stimuli, root)
    objects = _object_images(config.metrics.matching)
    path, nt, limit = video_path(root, config.data), config.training.nt, config.metrics.mse.max_windows
    if not path.exists():
        val, test = ASSUMED_VAL_FRAMES // nt, ASSUMED_TEST_FRAMES // nt
        tested = (1 + len(config.data.transfer)) * min(limit or test, test)
        every_start, disjoint_ones = ASSUMED_VAL_FRAMES - nt + 1, min(limit or val, val)
        return DataFacts(every_start, disjoint_ones, tested, False, shown, objects, known)
    dataset = VideoDataset.open(path)

    def disjoint(video: VideoDataset, split: str) -> int:
        return len(evaluation_windows(video.split(split), nt, limit)) if video.has_split(split) else 0

    every_start = len(Windows(dataset.split("val"), nt, "all"))
    tested = own = disjoint(dataset, "test")
    for name in config.data.transfer:
        place = video_path(root, config.data.model_copy(update={"dataset": name}))
        other = VideoDataset.open(place) if place.exists() else None
        tested += own if other is None else disjoint(other, "test") or disjoint(other, "val")
    return DataFacts(every_start, disjoint(dataset, "val"), tested, True, shown, objects, known)


def _stimuli(name: str, root: Path) -> tuple[int, bool]:
    """(how many stimuli a network is shown, whether that is known)."""
    if name == STIMULI92 or not brain_path(root, name).exists():
        return len(LABELS92), name == STIMULI92
    return len(open_reference(brain_path(root, name)).labels), True


def _object_images(matching: MatchingSection) -> int:
    if matching.folder is None:
        return matching.objects * matching.views
    return sum(1 for _ in (matching.folder / "objects").glob("*/*.png"))
