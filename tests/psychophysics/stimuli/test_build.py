import json
import subprocess

import numpy as np
import pytest

from psychophysics.errors import StimuliError
from psychophysics.networks import open_network
from psychophysics.stimuli.build import build_stimuli
from psychophysics.stimuli.files import read_png
from psychophysics.stimuli.manifest import check_files, read_manifest
from psychophysics.stimuli.patches import Occluded, SharpOnly
from psychophysics.stimuli.pool import open_pool
from psychophysics.stimuli.summary import summary
from psychophysics.units import Unit


def quiet(what, done, total):
    assert 0 <= done <= total, what


def built(study):
    return build_stimuli(*study, quiet)


def test_a_build_holds_what_its_manifest_says(built_study):
    config, folder = built_study
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    assert [(unit.layer, unit.channel) for unit in manifest.units] == [("3", 1), ("0", 4)]
    assert (manifest.pool.photographs, manifest.pool.images) == (12, 48)
    record = manifest.networks["net"]
    assert (record.height, record.patch_side, record.strides) == (28, 12, (4, 2, 1))
    network, pool = open_network(config.networks[0]), open_pool(config.images, 5, folder.root)
    for unit in manifest.units:
        evaluated = Unit(unit.layer, unit.channel)
        whole = network.activation(pool.load(range(48), 28, 28), [evaluated])
        assert (unit.lowest, unit.highest) == pytest.approx((whole.min(), whole.max()), rel=1e-5)
        for found in unit.sets:
            _check_pair(found, folder, network, evaluated)
            natural = found.references["natural"]
            assert [picture.activation for picture in natural] == sorted(
                (picture.activation for picture in natural), reverse=True
            )
            assert found.references["mixed"][:5] == natural[:5]
            assert {picture.source for picture in found.references["mixed"][5:]} == {"synthetic"}
            assert {name: len(shown) for name, shown in found.references.items()} == {
                "natural": 9, "synthetic": 9, "mixed": 9, "blurred": 9, "none": 0,
            }  # fmt: skip
            photos = [picture.source.partition("#")[0] for picture in (found.pair.base, *natural)]
            assert photos[0] not in photos[1:]


def _check_pair(found, folder, network, unit):
    pair = found.pair
    base, low, high = (read_png(folder.root / p.file) for p in (pair.base, pair.minimum, pair.maximum))
    measured = network.activation(np.stack([base, low, high]), [unit])[:, 0]
    np.testing.assert_allclose(
        [pair.base.activation, pair.minimum.activation, pair.maximum.activation], measured, rtol=1e-5
    )
    tried = np.loadtxt(folder.root / pair.map, delimiter=",", skiprows=1)
    assert len(tried) == pair.evaluations
    assert (tried[:, 2].min(), tried[:, 2].max()) == pytest.approx(tuple(measured[1:]), rel=1e-4)
    occlude = Occluded(base, _geometry(network))
    assert (occlude([pair.minimum.place])[0] == low).all() and (occlude([pair.maximum.place])[0] == high).all()
    for sharp, blurred in zip(found.references["natural"], found.references["blurred"], strict=True):
        image = read_png(folder.root / sharp.file)
        assert (SharpOnly(image, _geometry(network))([blurred.place])[0] == read_png(folder.root / blurred.file)).all()


def _geometry(network):
    from psychophysics.config import OcclusionSection
    from psychophysics.stimuli.geometry import Geometry

    return Geometry.of(network.height, network.width, OcclusionSection(strides=(32, 16, 8)))


def test_a_second_build_makes_nothing_and_a_lost_or_altered_file_is_made_again(built_study):
    config, folder = built_study
    manifest = read_manifest(folder)
    pictures = {path: path.stat().st_mtime_ns for path in folder.root.rglob("set-*/*.png")}
    assert built((config, folder)) == manifest
    assert pictures == {path: path.stat().st_mtime_ns for path in pictures}
    unit = folder.unit("net", Unit("3", 1))
    (unit / "set-00" / "minimum.png").unlink()
    (unit / "mixed-2.png").write_bytes((unit / "mixed-1.png").read_bytes())
    with pytest.raises(StimuliError) as caught:
        check_files(folder, manifest)
    assert "1 missing: stimuli/net/3-1/set-00/minimum.png; 1 changed: stimuli/net/3-1/mixed-2.png" in str(caught.value)
    assert built((config, folder)) == manifest
    check_files(folder, manifest)


def test_an_interrupted_build_goes_on_where_it_stopped(make_study, built_once):
    whole = read_manifest(built_once[1])
    config, folder = make_study()

    def interrupting(what, done, total):
        if what == "synthesis steps" and done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_stimuli(config, folder, interrupting)
    assert not folder.manifest.exists()
    kept = {path: path.stat().st_mtime_ns for path in folder.root.rglob("*.npy")}
    assert kept and built((config, folder)) == whole
    assert kept == {path: path.stat().st_mtime_ns for path in folder.root.rglob("*.npy")}


def test_what_a_step_was_made_from_decides_whether_it_is_made_again(built_study, make_study):
    _, folder = built_study
    blurred = folder.unit("net", Unit("3", 1)) / "set-00" / "blurred-1.png"
    synthetic = folder.unit("net", Unit("3", 1)) / "synthetic-1.png"
    before = blurred.stat().st_mtime_ns, synthetic.stat().st_mtime_ns
    config, _ = make_study(synthesis={"steps": 3})
    built((config, folder))
    assert blurred.stat().st_mtime_ns == before[0] and synthetic.stat().st_mtime_ns > before[1]


def test_a_unit_that_is_negative_for_all_images_gets_the_same_synthetic_images(make_study):
    pictures = {}
    for source in ("network", "lowered"):  # the same unit, but for a constant
        config, folder = make_study(
            network={"source": f"small_networks:{source}", "units": {"listed": ["3/1", "0/4"]}},
            design={"conditions": ["synthetic"]},
            synthesis={"steps": 8, "diversity": 2.0, "diversity_layer": "0"},
        )
        folder = type(folder)(folder.root.with_name(source))
        unit = built((config, folder)).units[0]
        assert unit.lowest < 0 and (unit.highest < 0) == (source == "lowered")
        shown = unit.sets[0].references["synthetic"]
        pictures[source] = np.stack([read_png(folder.root / picture.file) for picture in shown]).astype(float)
    assert np.abs(pictures["network"] - pictures["lowered"]).mean() < 0.05


def test_conditions_that_are_not_asked_for_are_not_made(make_study):
    config, folder = make_study(design={"conditions": ["natural", "none"]})
    manifest = built((config, folder))
    assert all(set(s.references) == {"natural", "none"} for unit in manifest.units for s in unit.sets)
    assert not list(folder.root.rglob("synthetic*")) and not list(folder.root.rglob("blurred*"))


def test_candidates_get_query_pairs_of_units_that_are_not_studied(built_study):
    manifest = read_manifest(built_study[1])
    assert len(manifest.candidates) == 3
    assert not {(u.layer, u.channel) for u in manifest.candidates} & {(u.layer, u.channel) for u in manifest.units}
    assert all(set(s.references) == {"natural"} for unit in manifest.candidates for s in unit.sets)


def test_silent_units_and_small_pools_and_wrong_counts_stop_before_any_picture(make_study):
    silent = make_study(network={"source": "small_networks:half_dead", "units": {"listed": ["3/5", "0/4"]}})
    with pytest.raises(StimuliError, match=r"net: over the 48 images of the pool 3/5 is constant at -1"):
        built(silent)
    with pytest.raises(StimuliError, match="12 photographs, of which 12 can be used"):
        built(make_study(images={"crops_per_photo": 1}))
    with pytest.raises(StimuliError, match=r"trials.main is 5, but the networks give 2 units under study \(net 2\)"):
        built(make_study(trials={"main": 5}))
    assert not list(make_study()[1].root.rglob("base.png"))


def test_a_photograph_that_goes_missing_is_named(make_study, photographs, tmp_path):
    import shutil

    pool = tmp_path / "pool"
    shutil.copytree(photographs, pool)
    config, folder = make_study(images={"pool": str(pool)})

    def removing(what, done, total):
        if what == "query pairs":
            for path in pool.iterdir():
                path.unlink()

    with pytest.raises(StimuliError, match=r"/pool/\w+\.png is missing: it was in the pool"):
        build_stimuli(config, folder, removing)


def test_a_full_disk_is_told_and_the_build_goes_on_after_it_was_freed(make_study, tmp_path):
    config, folder = make_study()
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        small = type(folder)(disk / "study")
        with pytest.raises(StimuliError, match=r"cannot be written \(No space left on device\): free some space"):
            build_stimuli(config, small, quiet)
        assert not small.manifest.exists()
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        check_files(small, build_stimuli(config, small, quiet))
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_the_regret_and_the_controls_are_reported(built_study):
    _, folder = built_study
    manifest = read_manifest(folder)
    assert len(manifest.regret) == 1 and manifest.regret[0].exhaustive_evaluations == 17 * 17
    assert 0 <= manifest.regret[0].regret < 1
    told = summary(manifest, folder, "study.yaml")
    assert "pool: 48 images of 12 photographs" in told and "of the range it missed" in told
    assert "occluded images whose top 5 holds the query's class" in told
    controls = json.loads(folder.manifest.read_text())["units"][0]["sets"][0]["pair"]["controls"]
    assert 0 <= controls["label_overlap"] <= 1 and controls["top5_minimum"] in (True, False)
    assert controls["correlation_minimum"] is None  # a network with classes
