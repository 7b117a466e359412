"""The baselines of a study's own query pairs, from the pictures that its manifest names."""

from collections.abc import Mapping

import pandas as pd

from psychophysics.baselines.strategies import STRATEGIES, Image, Strategy, predictions
from psychophysics.stimuli.files import read_png
from psychophysics.stimuli.manifest import Manifest
from psychophysics.study_folder import StudyFolder


def manifest_baselines(
    folder: StudyFolder, manifest: Manifest, strategies: Mapping[str, Strategy] = STRATEGIES
) -> pd.DataFrame:
    """The table `BASELINES` of every query pair under study; the base images are read from `folder`."""
    rows = []
    for unit in manifest.units:
        for record in unit.sets:
            high, low = record.pair.maximum.place, record.pair.minimum.place
            assert high is not None and low is not None  # occluded images always have a place
            rows.append(
                {
                    "network": unit.network,
                    "layer": unit.layer,
                    "unit": str(unit.channel),
                    "image_set": record.number,
                    "side": manifest.networks[unit.network].patch_side,
                    "top_max": high[0],
                    "left_max": high[1],
                    "top_min": low[0],
                    "left_min": low[1],
                    "base": record.pair.base.file,
                }
            )

    def image(row: pd.Series) -> Image:
        return read_png(folder.root / row["base"]) / 255.0

    return predictions(pd.DataFrame(rows), image, strategies)
