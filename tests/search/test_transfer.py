"""Networks tested on data that they were not trained on: real demo video for training, real clips to transfer to."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from metrics.registry import METRICS
from metrics.stimuli92 import prepare_stimuli92
from prednet.checkpoint import load_network
from prednet.data.demo import demo_clips
from prednet.data.video import prepare_videos
from prednet.data.vlog import prepare_vlog
from prednet.errors import DataError
from prednet.features import predict
from search.config_reader import load_config, parse_config
from search.errors import ConfigError
from search.logged_metrics import metric_columns
from search.materials import open_video, prepare
from search.order import TrialOrder
from search.paths import stimuli_path
from search.prednet_learner import PredNetLearner
from search.score import score_weights
from search.transfer import transfer_errors
from search.trial import Trial

SIZE = {"height": 24, "width": 32}
CONFIG = """
search: {name: t}
space: {learning_rate: {uniform: [0.001, 0.01]}}
data: {height: 24, width: 32, transfer: [clips, road]}
network: {channels: [3, 4, 8]}
training: {nt: 4, epochs: 1, batch_size: 2, train_sequences: 4, val_sequences: 2, device: cpu}
metrics:
  mse: {max_windows: 3}
  matching: {objects: 4, views: 2, gallery: 2, same_family: 1, trials: 2, frames: 2}
"""


def config(**data):
    document = yaml.safe_load(CONFIG)
    document["data"] |= data
    return parse_config(document, source="the test")


@pytest.fixture(scope="module")
def samples():
    given = os.environ.get("HMS_TEST_DATA")
    if not given:
        pytest.skip("HMS_TEST_DATA is not set: it holds the 92 stimuli, .hkl files and footage")
    return Path(given)


@pytest.fixture(scope="module")
def root(samples, tmp_path_factory):
    """`clips`: all for the test, of real .hkl files; `road`: one recording, so no test split."""
    root = tmp_path_factory.mktemp("data")
    prepare_stimuli92(stimuli_path(root), source=samples / "human92")
    source = tmp_path_factory.mktemp("clips")
    for name in ("a", "b"):
        (source / name).mkdir()
        shutil.copy(samples / "hickle" / "h2.0.5_X_test.hkl", source / name / "clip.hkl")
    prepare_vlog(source, root / "video" / "clips", **SIZE, test=1.0, resize="legacy")
    prepare_videos([demo_clips()["val"]], root / "video" / "road", **SIZE)
    return root


@pytest.fixture(scope="module")
def finished(root, tmp_path_factory):
    """A real trial to its end: (result, its folder, its materials)."""
    folder = tmp_path_factory.mktemp("trial")
    order = TrialOrder("t", 0, 3, {"learning_rate": 2e-3}, config(), folder, root, "cpu", threads=1)
    learner = PredNetLearner(order)
    return Trial(order, learner, lambda kind, payload: None, lambda: False).run(), folder, learner.materials


def test_a_trial_ends_with_the_errors_of_its_last_network_on_each_dataset(finished):
    result, folder, materials = finished
    model = load_network(folder / "network.pt")
    assert {name: (w.split.name, len(w)) for name, w in materials.transfer_windows.items()} == {
        "mse_clips": ("test", 3),
        "mse_road": ("val", 3),
    }
    for column, windows in materials.transfer_windows.items():
        frames = windows.take(range(len(windows)))
        truth = frames[:, 1:] / 255.0
        assert result[column] == pytest.approx(np.square(predict(model, frames)[:, 1:] - truth).mean(), rel=1e-5)
        assert result[f"{column}_status"] == "ok"
        before = np.square(frames[:, :-1] / 255.0 - truth).mean()
        assert result[f"{column}_previous_frame"] == pytest.approx(before, rel=1e-5)
    assert len({result[column] for column in ("mse", "mse_test", "mse_clips", "mse_road")}) == 4


def test_the_columns_are_exported_as_the_error_metrics_own(finished):
    result, _, _ = finished
    exported = metric_columns(METRICS, result)
    for column in ("mse_clips", "mse_road"):
        assert {column, f"{column}_status", f"{column}_previous_frame"} <= exported.keys()


def test_what_was_transferred_to_is_described_and_told_from_other_data(finished, root, samples, tmp_path):
    _, _, materials = finished
    facts = materials.describe()
    assert facts["transfer"]["mse_clips"]["video"]["fingerprint"] == materials.transfer["mse_clips"].fingerprint
    assert {"mse_clips", "mse_road"} <= facts["digests"].keys()
    (tmp_path / "one").mkdir()
    shutil.copy(samples / "hickle" / "h5.0.3_X_test.hkl", tmp_path / "one" / "clip.hkl")
    other = prepare_vlog(tmp_path / "one", tmp_path / "other", **SIZE, test=1.0)
    changed = replace(materials, transfer={**materials.transfer, "mse_clips": other}).describe()
    assert {key for key, digest in changed["digests"].items() if digest != facts["digests"][key]} == {"mse_clips"}


def test_frames_resized_by_another_rule_are_warned_of(finished):
    _, _, materials = finished
    (warning,) = materials.warnings  # `road` was resized as the demo was
    assert "mse_clips is of frames resized by another rule (legacy) than mse and mse_test (antialias)" in warning
    assert materials.describe()["warnings"] == [warning]


def test_scoring_gives_the_same_errors(finished, root, monkeypatch, tmp_path):
    result, folder, _ = finished
    monkeypatch.setenv("HMS_DATA", str(root))
    (tmp_path / "t.yaml").write_text(CONFIG)
    said = score_weights(
        folder / "network.pt", tmp_path / "t.yaml", None, None, as_json=False, progress=lambda *_: None
    )
    repeated = result["mse_clips_previous_frame"]
    assert f"mse_clips  {result['mse_clips']:.5f} (repeating the previous frame: {repeated:.5f})" in said
    assert "warning: mse_clips is of frames resized by another rule" in said


def test_a_broken_network_has_no_error(finished):
    _, folder, materials = finished
    model = load_network(folder / "network.pt")
    model.gates[0].bias.data[0] = np.nan
    row = transfer_errors(model, materials)
    assert (row["mse_clips"], row["mse_clips_status"]) == (None, "diverged")


def test_data_that_do_not_fit_are_refused_with_the_next_command(root, tmp_path):
    with pytest.raises(
        DataError, match=r"`nowhere` \(data.transfer\) are not prepared.*--name nowhere.*or hkl, video, v"
    ):
        prepare(config(transfer=["nowhere"]), root)
    data = config(transfer=["clips"]).data
    larger = data.model_copy(update={"dataset": "clips", "height": 48, "width": 64})
    with pytest.raises(
        DataError, match=r"frames of 24x32.*asks for 48x64.*`hms data vlog \.\.\. --height 48 --width 64`"
    ):
        open_video(larger, root, key="transfer")
    shutil.copytree(root / "video" / "clips", tmp_path / "two")
    meta = (tmp_path / "two" / "meta.json").read_text().replace('"test": {', '"train": {')
    (tmp_path / "two" / "meta.json").write_text(meta)
    with pytest.raises(DataError, match=r"neither test nor validation recordings.*--test 1"):
        open_video(data.model_copy(update={"dataset": str(tmp_path / "two")}), root, key="transfer")


@pytest.mark.parametrize("names", [["demo"], ["test"], ["x", "elsewhere/x"], ["x", "x_status"], ["best"], ["a b"]])
def test_names_without_columns_of_their_own_are_refused(names):
    with pytest.raises(ConfigError, match="transfer"):
        config(transfer=names)


def test_only_a_search_with_transfer_has_other_hashes():
    old = {"dataset": "demo", "height": 24, "width": 32}
    assert config(transfer=[]).document()["data"] == {**old, "transfer": []}
    assert config(transfer=["x"]).hashes()["training"] != config(transfer=[]).hashes()["training"]
    assert config(transfer=["x"]).hashes()["space"] == config(transfer=[]).hashes()["space"]
    paper = load_config(Path(__file__).parents[2] / "configs" / "paper.yaml")  # as searches before `transfer` stored it
    assert paper.hashes()["training"] == "4c05c662d5cb8dc206514f4465e161fe8f79fd53a2223549e43dc56f3ede1bc8"
