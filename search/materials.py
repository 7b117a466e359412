"""What every trial of a search needs and none may change: video, brain data, objects, matching trials.

`prepare` builds what is missing (idempotent, safe to call from several processes); `Materials` is what a trial gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metrics.gazoobian.objects import ObjectSet
from metrics.matching import MatchingTrials
from metrics.references import Reference
from metrics.stimuli92 import Stimuli92, resize_stimuli
from metrics.stimulus_sets import StimulusSet
from prednet.data.cache import VideoDataset, describe
from prednet.data.demo import prepare_demo
from prednet.data.sequences import Windows, evaluation_windows, windows_digest
from prednet.errors import DataError
from search.config import SearchConfig
from search.logged_metrics import metric_versions
from search.matching_pool import open_pool, pool_trials
from search.paths import video_path
from search.progress import Progress
from search.stimuli import references_of, stimuli_of
from search.trial_sections import DataSection


@dataclass(frozen=True)
class Materials:
    """Prepared inputs at the size of the network. Arrays are uint8 images (n, H, W, 3)."""

    config: SearchConfig
    dataset: VideoDataset
    stimuli: Stimuli92 | StimulusSet
    objects: ObjectSet
    trials: MatchingTrials
    references: Mapping[str, Reference] = field(default_factory=dict)
    transfer: Mapping[str, VideoDataset] = field(default_factory=dict)

    @cached_property
    def stimulus_images(self) -> NDArray[np.uint8]:
        """The stimuli at the network's size, (n, H, W, 3)."""
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

    @cached_property
    def transfer_windows(self) -> dict[str, Windows]:
        """Column -> the disjoint windows of that transfer dataset's test recordings (without them: validation)."""
        return {
            column: self._fixed("test" if dataset.has_split("test") else "val", dataset)
            for column, dataset in self.transfer.items()
        }

    @property
    def warnings(self) -> list[str]:
        """What forbids to set numbers of this search side by side."""
        mine = self.dataset.meta["resize"]
        return [
            f"{column} is of frames resized by another rule ({dataset.meta['resize']}) than mse and mse_test ({mine}): "
            "the rule alone changes such errors up to twofold, so compare each with its previous-frame error only"
            for column, dataset in self.transfer.items()
            if dataset.meta["resize"] != mine
        ]

    def _fixed(self, split: str, dataset: VideoDataset | None = None) -> Windows:
        """Disjoint windows, at most `metrics.mse.max_windows`, evenly spaced: the same for all networks."""
        frames = (dataset or self.dataset).split(split)
        return evaluation_windows(frames, self.config.training.nt, self.config.metrics.mse.max_windows)

    def describe(self) -> dict[str, Any]:
        """Plain facts for provenance and the report: data, sizes, digests."""
        return {
            "video": describe(self.dataset),
            "train_windows": len(Windows(self.dataset.split("train"), self.config.training.nt, "all")),
            "mse_windows": len(self.mse_windows),
            "test_windows": len(self.test_windows) if self.test_windows is not None else 0,
            "transfer": {
                column: {
                    "video": describe(self.transfer[column]),
                    "split": windows.split.name,
                    "windows": len(windows),
                }
                for column, windows in self.transfer_windows.items()
            },
            "warnings": self.warnings,
            "stimuli": {"count": len(self.stimulus_images), "mapping": self.config.metrics.hms.mapping},
            "objects": {"images": len(self.objects.images), "trials": len(self.trials.probe)},
            "digests": {
                "video": self.dataset.fingerprint,
                "mse_windows": windows_digest(self.mse_windows),
                "objects": self.objects.digest,
                **({"stimuli": self.stimuli.digest} if isinstance(self.stimuli, StimulusSet) else {}),
                **{f"reference {name}": reference.digest for name, reference in self.references.items()},
                **{column: windows_digest(windows) for column, windows in self.transfer_windows.items()},
                **metric_versions(self.config),
            },
        }


def prepare(config: SearchConfig, root: Path, progress: Progress | None = None) -> Materials:
    """Open what `config` needs under `root` (`HMS_DATA`); build the demo, the stimuli and the objects where missing.

    Raises:
        DataError, StimuliError, MetricError: a source is missing or broken; the message names the next command.
    """
    height, width = config.data.height, config.data.width
    dataset = open_video(config.data, root, progress)
    stimuli = stimuli_of(config, root, progress)
    matching = config.metrics.matching
    pool = open_pool(matching, root, height, width, progress)
    references = references_of(config, root, stimuli)
    trials = pool_trials(pool, matching)
    transfer = {
        column: open_video(config.data.model_copy(update={"dataset": name}), root, progress, key="transfer")
        for column, name in config.data.transfer_columns.items()
    }
    return Materials(config, dataset, stimuli, pool, trials, references, transfer)


def open_video(
    data: DataSection, root: Path, progress: Progress | None = None, *, key: Literal["dataset", "transfer"] = "dataset"
) -> VideoDataset:
    """The prepared video `data.dataset`; only the demo is built here, everything else by `hms data`.

    `key`: where the configuration names it, for the message.
    """
    path = video_path(root, data)
    height, width = data.height, data.width
    if data.dataset == "demo":
        dataset = prepare_demo(path, height=height, width=width, progress=progress)
    elif not path.exists():
        other = "pass --set data.dataset=demo" if key == "dataset" else "do without: --set data.transfer=[]"
        raise DataError(
            f"the video data `{data.dataset}` (data.{key}) are not prepared: {path} does not exist. Prepare them with "
            f"`hms data kitti DIR --name {data.dataset}` (or hkl, video, vlog), or {other}"
        )
    else:
        dataset = VideoDataset.open(path)
    if dataset.size != (height, width):
        size = f"--height {height} --width {width}"
        other = f"--set data.height={dataset.size[0]} --set data.width={dataset.size[1]}"
        mend = f"Pass {other}, or prepare them at that size" if key == "dataset" else "Prepare them at that size"
        raise DataError(
            f"{path} (data.{key}) holds frames of {dataset.size[0]}x{dataset.size[1]}, the configuration asks for "
            f"{height}x{width}. {mend}: `hms data {dataset.meta['kind']} ... {size}`"
        )
    if key == "transfer" and not (dataset.has_split("test") or dataset.has_split("val")):
        raise DataError(
            f"{path} (data.transfer) has neither test nor validation recordings to test on. Prepare it again with some "
            "held out, for example `hms data vlog DIR --test 1`"
        )
    return dataset
