"""What every trial of a search needs and none may change: video, brain data, objects, matching trials.

`prepare` builds what is missing (idempotent, safe to call from several processes); `Materials` is what a trial gets.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.dataset import prepare_gazoobian
from metrics.gazoobian.objects import ObjectSet
from metrics.matching import MatchingTrials, draw_trials
from metrics.stimuli92 import Stimuli92, prepare_stimuli92, resize_stimuli
from prednet.data.cache import VideoDataset, describe
from prednet.data.demo import prepare_demo
from prednet.data.sequences import Windows, evaluation_windows, windows_digest
from prednet.errors import DataError
from search.config import SearchConfig
from search.paths import gazoobian_path, stimuli_path, video_path
from search.progress import Progress


@dataclass(frozen=True)
class Materials:
    """Prepared inputs at the size of the network. Arrays are uint8 images (n, H, W, 3)."""

    config: SearchConfig
    dataset: VideoDataset
    stimuli: Stimuli92
    objects: ObjectSet
    trials: MatchingTrials

    @cached_property
    def stimulus_images(self) -> NDArray[np.uint8]:
        """The 92 stimuli at the network's size, (92, H, W, 3)."""
        height, width = self.dataset.size
        return resize_stimuli(self.stimuli.images, height, width, self.config.metrics.hms.mapping)

    @cached_property
    def mse_windows(self) -> Windows:
        """The fixed windows on which every network's next-frame MSE is measured: disjoint, of the validation split."""
        return self._fixed("val")

    @cached_property
    def test_windows(self) -> Windows | None:
        """The disjoint windows of the test recordings, touched once when a trial ends; None without a test split."""
        return self._fixed("test") if self.dataset.has_split("test") else None

    def _fixed(self, split: str) -> Windows:
        """Disjoint windows, at most `metrics.mse.max_windows`, evenly spaced: the same for all networks."""
        return evaluation_windows(
            self.dataset.split(split), self.config.training.nt, self.config.metrics.mse.max_windows
        )

    def describe(self) -> dict[str, Any]:
        """Plain facts for provenance and the report: data, sizes, digests."""
        return {
            "video": describe(self.dataset),
            "train_windows": len(Windows(self.dataset.split("train"), self.config.training.nt, "all")),
            "mse_windows": len(self.mse_windows),
            "test_windows": len(self.test_windows) if self.test_windows is not None else 0,
            "stimuli": {"count": len(self.stimulus_images), "mapping": self.config.metrics.hms.mapping},
            "objects": {"images": len(self.objects.images), "trials": len(self.trials.probe)},
            "digests": {
                "video": self.dataset.fingerprint,
                "mse_windows": windows_digest(self.mse_windows),
                "objects": self.objects.digest,
            },
        }


def prepare(config: SearchConfig, root: Path, progress: Progress | None = None) -> Materials:
    """Open what `config` needs under `root` (`HMS_DATA`); build the demo, the stimuli and the objects where missing.

    Raises:
        DataError, StimuliError, MetricError: a source is missing or broken; the message names the next command.
    """
    height, width = config.data.height, config.data.width
    dataset = open_video(config, root, progress)
    stimuli = prepare_stimuli92(stimuli_path(root), progress=progress)
    matching = config.metrics.matching
    pool = prepare_gazoobian(
        gazoobian_path(root, matching, height, width),
        preset=matching.preset,
        objects=matching.objects,
        views=matching.views,
        height=height,
        width=width,
        seed=matching.seed,
        progress=progress,
    )
    trials = draw_trials(
        pool,
        n_trials=matching.trials,
        gallery=matching.gallery,
        seed=matching.seed,
        same_family=matching.same_family,
    )
    return Materials(config, dataset, stimuli, pool, trials)


def open_video(config: SearchConfig, root: Path, progress: Progress | None = None) -> VideoDataset:
    """The prepared video of a configuration; only the demo is built here, everything else by `hms data`."""
    path = video_path(root, config.data)
    height, width = config.data.height, config.data.width
    if config.data.dataset == "demo":
        dataset = prepare_demo(path, height=height, width=width, progress=progress)
    elif not path.exists():
        raise DataError(
            f"the video data `{config.data.dataset}` are not prepared: {path} does not exist. Prepare them with "
            f"`hms data kitti DIR --name {config.data.dataset}` (or hkl, video), or pass --set data.dataset=demo"
        )
    else:
        dataset = VideoDataset.open(path)
    if dataset.size != (height, width):
        raise DataError(
            f"{path} holds frames of {dataset.size[0]}x{dataset.size[1]}, the configuration asks for {height}x{width}. "
            f"Pass --set data.height={dataset.size[0]} --set data.width={dataset.size[1]}, or prepare them at that size"
        )
    return dataset
