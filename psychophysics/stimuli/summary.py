"""What a build of stimuli found, in a few lines for the terminal."""

from collections.abc import Sequence

import numpy as np

from psychophysics.stimuli.curation import accepted_sets
from psychophysics.stimuli.manifest import Manifest, UnitRecord
from psychophysics.study_folder import StudyFolder


def summary(manifest: Manifest, folder: StudyFolder, command: str) -> str:
    """Counts, controls, regret of the patch search, what synthesis reached, and the next command."""
    then = "freeze" if accepted_sets(folder) else "curate"
    pool = manifest.pool
    lines = [
        f"pool: {pool.images} images of {pool.photographs} photographs",
        f"units under study: {len(manifest.units)}, sets {sum(len(unit.sets) for unit in manifest.units)}; "
        f"candidates for curated trials: {sum(len(unit.sets) for unit in manifest.candidates)}",
        *_controls(manifest.units),
        *_regret(manifest),
        *_synthesis(manifest.units),
        f"contact sheets: {folder.root}/stimuli/*/*/sheet.png",
        str(folder.manifest),
        f"next: hms study {then} {command}",
    ]
    return "\n".join(lines)


def _controls(units: Sequence[UnitRecord]) -> list[str]:
    found = [record.pair.controls for unit in units for record in unit.sets]
    lines = []
    overlap = [controls.label_overlap for controls in found if controls.label_overlap is not None]
    if overlap:
        lines.append(f"references with the query's label: {np.mean(overlap):.1%}")
    agree = [flag for controls in found for flag in (controls.top5_minimum, controls.top5_maximum) if flag is not None]
    if agree:
        lines.append(f"occluded images whose top 5 holds the query's class: {np.mean(agree):.1%} (97.8% in the paper)")
    both = [(controls.correlation_minimum, controls.correlation_maximum) for controls in found]
    correlations = [value for pair in both for value in pair if value is not None]
    if correlations:
        lines.append(f"whole-layer correlation of query and occluded image: mean {np.mean(correlations):.3f}")
    return lines


def _regret(manifest: Manifest) -> list[str]:
    if not manifest.regret:
        return []
    worst = max(measured.regret for measured in manifest.regret)
    mean = np.mean([measured.regret for measured in manifest.regret])
    tried = sum(measured.evaluations for measured in manifest.regret)
    full = sum(measured.exhaustive_evaluations for measured in manifest.regret)
    return [
        f"patch search: {full / tried:.1f} times fewer evaluations than exhaustive; of the range it missed "
        f"{mean:.2%} on average and {worst:.2%} at most ({len(manifest.regret)} pairs)"
    ]


def _synthesis(units: Sequence[UnitRecord]) -> list[str]:
    runs = [(unit, run) for unit in units for run in unit.synthesis.values()]
    if not runs:
        return []
    rose = sum(min(run["after"]) > max(run["before"]) for _, run in runs)
    above = sum(np.mean(run["after"]) > unit.highest for unit, run in runs)
    return [
        f"synthetic images: in {rose} of {len(runs)} runs all rose above all starts; in {above} their mean is above "
        "the best natural image"
    ]
