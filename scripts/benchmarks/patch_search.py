"""What the coarse-to-fine patch search misses of the exhaustive one, on query pairs of a study's own networks.

    python scripts/benchmarks/patch_search.py configs/study-demo.yaml [--pairs 6] [--strides 8,4,2] [--top 3,8,12]

Pairs are drawn from those of the units under study; each takes 4,624 passes at stride 2 of 224 pixels. Regret: share of
the range (highest less lowest activation over all places) missed at the worse of the two ends.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychophysics.config import OcclusionSection, StudyConfig
from psychophysics.config_reader import load_study
from psychophysics.networks import open_network
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.occlusion import Found, PatchSearch, regret
from psychophysics.stimuli.patches import Occluded, Place
from psychophysics.stimuli.plan import PlannedUnit, plan_units
from psychophysics.stimuli.pool import ImagePool, open_pool
from psychophysics.study_folder import StudyFolder


def main() -> None:
    """Search some pairs exhaustively, and print what the coarse-to-fine search would have missed of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--strides", default="8,4,2")
    parser.add_argument("--top", default="3,8,12", help="places refined at each end; several are compared")
    options = parser.parse_args()
    study = load_study(options.config)
    section = OcclusionSection(strides=tuple(int(stride) for stride in options.strides.split(",")))
    tops = [int(top) for top in options.top.split(",")]
    measured: dict[int, list[tuple[int, float]]] = {top: [] for top in tops}
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for name, full, geometry in searched(study, section, options.pairs, StudyFolder(Path(folder) / "study")):
            for top in tops:
                found = recall(full, geometry).coarse_to_fine(top)
                measured[top].append((len(found.activations), regret(found, full)))
            told = ", ".join(f"top {top} {measured[top][-1][1]:.2%}" for top in tops)
            print(f"{name}: range {np.subtract(*full.span[::-1]):.4g}, regret {told}", flush=True)
    for top in tops:
        places, shares = np.array(measured[top]).T
        fewer = len(full.activations) / places.mean()
        told = f"regret {shares.mean():.2%} on average, {shares.max():.2%} at most"
        print(f"top {top}: {fewer:.1f} times fewer places; {told}")
    print(f"{time.process_time() - began:.0f} s of CPU")


def searched(
    study: StudyConfig, section: OcclusionSection, pairs: int, folder: StudyFolder
) -> Iterator[tuple[str, Found, Geometry]]:
    """Name, exhaustive search and geometry of some query pairs."""
    pool = open_pool(study.images, study.study.seed, folder.root)
    networks = {name: open_network(source) for name, source in study.network_sections.items()}
    planned = plan_units(study, folder, networks, pool, frozenset(), lambda what, done, total: None)
    every = [(plan, number) for plan in planned if not plan.candidate for number in range(len(plan.sets))]
    rng = np.random.default_rng(study.study.seed)
    for index in sorted(rng.choice(len(every), min(pairs, len(every)), replace=False)):
        plan, number = every[index]
        geometry = Geometry.of(plan.stimuli.network.height, plan.stimuli.network.width, section)
        yield plan.set_id(number), exhaustive(plan, number, pool, geometry), geometry


def exhaustive(plan: PlannedUnit, number: int, pool: ImagePool, geometry: Geometry) -> Found:
    """Every place of the finest lattice."""
    image = pool.load([plan.sets[number].query], geometry.height, geometry.width)[0]
    return PatchSearch(Occluded(image, geometry), plan.stimuli.evaluate, geometry, 64).exhaustive()


def recall(full: Found, geometry: Geometry) -> PatchSearch:
    """A search that looks up what the exhaustive one has evaluated."""

    asked: list[Place] = []

    def remember(places: Sequence[Place]) -> NDArray[np.uint8]:
        asked[:] = places
        return np.empty((len(places), 0, 0, 3), np.uint8)

    def look_up(images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.array([full.activations[place] for place in asked], np.float32)

    return PatchSearch(remember, look_up, geometry, 64)


if __name__ == "__main__":
    main()
