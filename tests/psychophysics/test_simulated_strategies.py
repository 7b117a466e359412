"""What simulated participants answer to pictures, against what the study says and what the baselines say."""

from pathlib import Path

import numpy as np
import pytest

from psychophysics.baselines.pictures import manifest_baselines
from psychophysics.errors import StudyError
from psychophysics.session_plan import Place, session_plan
from psychophysics.simulated_strategies import preference
from psychophysics.stimuli.files import file_sha256, write_png
from psychophysics.stimuli.manifest import Manifest


@pytest.fixture
def noisy(drawn_study):
    """The drawn study with noise for pictures: what a patch covers differs in every strategy; the hashes are right."""
    frozen, manifest, folder = drawn_study
    rng = np.random.default_rng(8)
    for unit in (*manifest.units, *manifest.candidates):
        side = manifest.networks[unit.network].patch_side
        for record in unit.sets:
            scale = rng.uniform(0.2, 1, (60, 60, 1))
            base = (scale * rng.integers(256, size=(60, 60, 3))).astype(np.uint8)
            write_png(folder.root / record.pair.base.file, base)
            for picture in (record.pair.minimum, record.pair.maximum):
                top, left = picture.place
                occluded = base.copy()
                covered = base[top : top + side, left : left + side]
                occluded[top : top + side, left : left + side] = covered.mean(axis=(0, 1)).round()
                write_png(folder.root / picture.file, occluded)
    document = manifest.model_dump(mode="json")
    return frozen, Manifest.model_validate(_hashed(document, folder.root)), folder


def _hashed(value, root: Path):
    if isinstance(value, list):
        return [_hashed(item, root) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _hashed(item, root) for key, item in value.items()}
    return found | ({"sha256": file_sha256(root / found["file"])} if "file" in found else {})


def decisions(name, study, condition):
    """(trial, side) of all main and catch trials of a place."""
    frozen, manifest, folder = study
    prefer = preference(name, manifest)
    for trial in session_plan(frozen, manifest, Place(condition, 1, 0)).main:
        sent = {"base": trial.base, "left": trial.left, "right": trial.right}
        decided = prefer(sent, lambda file: (folder.root / file).read_bytes())
        yield trial, "undecided" if decided == 0 else "right" if decided > 0 else "left"


@pytest.mark.parametrize("condition", ["natural", "none"])
def test_the_perfect_are_right_and_the_random_undecided(noisy, condition):
    assert all(side == trial.target_side for trial, side in decisions("perfect", noisy, condition))
    assert all(side == "undecided" for _, side in decisions("random", noisy, condition))


@pytest.mark.parametrize("name", ["centre", "variance", "saliency"])
def test_strategies_see_in_the_pictures_what_the_baselines_know_from_the_manifest(noisy, name):
    _, manifest, folder = noisy
    table = manifest_baselines(folder, manifest).set_index(["baseline", "unit", "image_set"])["correct"]
    seen = [
        (float(side == trial.target_side), table[name, str(trial.channel), trial.image_set])
        for trial, side in decisions(name, noisy, "none")
        if trial.kind == "main"
    ]
    assert len(seen) == 4 and all(own == expected for own, expected in seen)


def test_another_photograph_is_no_occlusion(noisy):
    """The distractor of a catch trial without references: every strategy takes the query of the base image."""
    for name in ("centre", "variance", "saliency"):
        catch = [(trial, side) for trial, side in decisions(name, noisy, "none") if trial.kind == "catch"]
        assert len(catch) == 2 and all(side == trial.target_side for trial, side in catch)


def test_an_unknown_strategy_is_told_which_there_are(drawn_once):
    with pytest.raises(StudyError, match=r"`centr`.*`centre`.*random, perfect, centre, variance, saliency"):
        preference("centr", drawn_once[1])
