"""What the coarse-to-fine patch search misses of the exhaustive one, on query pairs of a study's own networks.

    python scripts/benchmarks/patch_search.py configs/study-demo.yaml [--pairs 6] [--strides 8,4,2] [--top 3]

Pairs are drawn with the study's seed from those of its units under study; a pair takes 4,624 passes at stride 2 of 224
pixels. Regret: share of the range (highest less lowest activation over all places) missed at the worse of the two ends.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from psychophysics.config import OcclusionSection
from psychophysics.config_reader import load_study
from psychophysics.stimuli.build import build_stimuli
from psychophysics.stimuli.summary import regret_lines
from psychophysics.study_folder import StudyFolder


def main() -> None:
    """Build the query pairs of the study elsewhere, with this search, and print what it missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--strides", default="8,4,2")
    parser.add_argument("--top", type=int, default=3)
    options = parser.parse_args()
    study = load_study(options.config)
    strides = tuple(int(stride) for stride in options.strides.split(","))
    occlusion = OcclusionSection(strides=strides, top=options.top, exhaustive_sample=options.pairs)
    design = study.design.model_copy(update={"conditions": ("natural",)})
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        manifest = build_stimuli(
            study.model_copy(update={"occlusion": occlusion, "design": design}),
            StudyFolder(Path(folder) / "study"),
            lambda what, done, total: None,
        )
    for measured in manifest.regret:
        print(
            f"{measured.set}: {measured.evaluations} of {measured.exhaustive_evaluations} places, "
            f"regret {measured.regret:.3%}"
        )
    print("\n".join(regret_lines(manifest)))
    print(f"{time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
