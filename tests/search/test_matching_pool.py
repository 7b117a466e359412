import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from metrics.errors import MetricError, StimuliError
from metrics.matching_legacy import draw_legacy_trials
from metrics.matching_trials import TooFewObjects
from search.cli import app
from search.config import SearchConfig
from search.config_reader import load_config
from search.errors import ConfigError, UsageError
from search.matching_pool import folder_summary, open_pool, parsed_dials, pool_trials
from search.metric_sections import MatchingSection
from search.paths import gazoobian_path

MINIMAL = "search: {name: t}\nspace: {learning_rate: {choice: [1e-3]}}\n"


@pytest.fixture
def own(tmp_path):
    """A folder of six objects with three pictures each, 12x10 pixels."""
    rng = np.random.default_rng(0)
    for name in "abcdef":
        (tmp_path / "own" / "objects" / name).mkdir(parents=True)
        for view in ("left", "front", "right"):
            pixels = rng.integers(0, 256, (10, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "own" / "objects" / name / f"{view}.png")
    return tmp_path / "own"


@pytest.fixture
def config(tmp_path):
    """Reads the minimal configuration with overrides."""
    file = tmp_path / "search.yaml"
    file.write_text(MINIMAL)
    return lambda *overrides: load_config(file, list(overrides))


def test_new_keys_that_are_not_set_change_no_hash(config):
    base = config()
    document = base.document()
    for key in ("dials", "folder", "mode"):
        del document["metrics"]["matching"][key]  # as an earlier version stored it
    assert SearchConfig.model_validate(document).hashes() == base.hashes()
    changes = ["dials={yaw: 40}", "folder=/somewhere/else", "mode=legacy"]
    hashes = [config(f"metrics.matching.{change}").hashes()["training"] for change in changes]
    assert len({base.hashes()["training"], *hashes}) == 4
    moved = config("metrics.matching.folder=/another/place").hashes()["training"]
    assert moved == hashes[1]  # its content is compared, not its place


def test_mistakes_in_the_configuration_are_named(config):
    with pytest.raises(ConfigError, match=r"metrics\.matching\.dials: No kind of view moves a dial 'yam'"):
        config("metrics.matching.dials={yam: 3}")
    with pytest.raises(ConfigError, match="elevation is 40; give a width from 0 to 15"):
        config("metrics.matching.dials={mixed.elevation: 40}")
    with pytest.raises(ConfigError, match="mode"):
        config("metrics.matching.mode=dirty")
    assert config("metrics.matching.folder=/x", "metrics.matching.objects=3").metrics.matching.gallery == 50


def test_dials_and_version_name_the_folder(tmp_path):
    plain = gazoobian_path(tmp_path, MatchingSection(), 64, 80).name
    turned = gazoobian_path(tmp_path, MatchingSection(dials={"yaw": 40, "mixed.hue": 0.2}), 64, 80).name
    assert plain == "mix_l-100x12-64x80-seed0-v2" and turned == f"{plain}-mixed.hue=0.2-yaw=40"


def test_a_rendered_pool_follows_its_dials(tmp_path):
    section = MatchingSection(objects=2, views=2, gallery=2, dials={"yaw": 7})
    pool = open_pool(section, tmp_path, 16, 20)
    assert pool.images.shape == (4, 16, 20, 3)
    assert all(abs(row.dials.yaw) <= 7 for row in pool.rows)
    generator = json.loads((gazoobian_path(tmp_path, section, 16, 20) / "generator.json").read_text())
    assert generator["dials"] == {"yaw": 7.0}


def test_own_pictures_are_read_and_fitted_into_the_frame(tmp_path, own):
    section = MatchingSection(folder=own, gallery=4, trials=12)
    same = open_pool(section, tmp_path / "nothing", 10, 12)
    fitted = open_pool(section, tmp_path / "nothing", 10, 20)
    assert np.array_equal(fitted.images[:, :, 4:16], same.images)
    assert (fitted.images[:, :, :4] == 128).all() and (fitted.images[:, :, 16:] == 128).all()
    assert fitted.digest == same.digest and not (tmp_path / "nothing").exists()
    trials = pool_trials(fitted, section)
    assert trials.gallery.shape == (12, 4) and set(trials.kind) == {"any"} and trials.same_family is None


def test_the_mode_decides_how_trials_are_drawn(tmp_path, own):
    with pytest.raises(TooFewObjects, match="Mode legacy shows 12 images of each object; a has 3"):
        pool_trials(open_pool(MatchingSection(folder=own), tmp_path, 10, 12), MatchingSection(mode="legacy"))
    section = MatchingSection(objects=3, views=12, gallery=3, trials=30, mode="legacy", seed=4)
    pool = open_pool(section, tmp_path, 8, 10)
    trials = pool_trials(pool, section)
    assert trials.mode == "legacy"
    assert np.array_equal(trials.gallery, draw_legacy_trials(pool, n_trials=30, gallery=3, seed=4).gallery)


def test_what_is_wrong_with_own_pictures_is_said(tmp_path, own):
    small = MatchingSection(folder=own)
    with pytest.raises(MetricError, match=r"gallery of 50 needs 49 other objects.*has 6 such objects"):
        pool_trials(open_pool(small, tmp_path, 10, 12), small)
    _, text = folder_summary(own)
    assert "18 images of 6 objects, 10x12 pixels (18 any)" in text and "metrics.matching.gallery=6" in text
    for view in ("left", "right"):
        (own / "objects" / "b" / f"{view}.png").unlink()
    _, text = folder_summary(own)
    assert "note: one image only of b: distractors, never targets" in text
    trials = pool_trials(open_pool(small, tmp_path, 10, 12), MatchingSection(folder=own, gallery=6, trials=50))
    assert 3 not in trials.probe  # the only image of b, in the order a/front, a/left, a/right, b/front
    for name in "acdef":
        for view in ("left", "right"):
            (own / "objects" / name / f"{view}.png").unlink()
    assert "warning: no object has two different images" in folder_summary(own)[1]
    (own / "objects" / "c" / "front.png").write_bytes(b"\x89PNG no more")
    with pytest.raises(StimuliError, match=r"c.front\.png cannot be read as an image"):
        folder_summary(own)
    Image.new("RGB", (9, 9)).save(own / "objects" / "c" / "front.png")
    with pytest.raises(StimuliError, match=r"c.front\.png is 9x9 pixels, the images before it 12x10"):
        folder_summary(own)


def test_dials_on_the_command_line():
    assert parsed_dials(["yaw=40", "mixed.hue=0.2"]) == {"yaw": 40.0, "mixed.hue": 0.2}
    for wrong in ("yaw", "yaw=wide"):
        with pytest.raises(UsageError, match=f"--dial {wrong}: expected a name and a width"):
            parsed_dials([wrong])
    with pytest.raises(StimuliError, match="yaw is 181"):
        parsed_dials(["yaw=181"])


def test_the_command_renders_with_dials_and_looks_at_own_folders(tmp_path, own, monkeypatch):
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    runner = CliRunner()
    size = ["--objects", "2", "--views", "2", "--height", "16", "--width", "20"]
    done = runner.invoke(app, ["data", "gazoobian", *size, "--dial", "yaw=9"], catch_exceptions=False)
    assert done.exit_code == 0 and "4 images of 2 objects" in done.stdout and "yaw=9" in done.stdout
    sheet = tmp_path / "sheet.png"
    done = runner.invoke(
        app, ["data", "gazoobian", "--from", str(own), "--contact-sheet", str(sheet)], catch_exceptions=False
    )
    assert done.exit_code == 0 and "18 images of 6 objects" in done.stdout and sheet.is_file()
    assert [folder.name for folder in (tmp_path / "data" / "gazoobian").iterdir()] == [
        "mix_l-2x2-16x20-seed0-v2-yaw=9"
    ]  # nothing was rendered
