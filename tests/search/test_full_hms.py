import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from metrics.errors import StimuliError
from metrics.hms import hms
from metrics.rdm import correlation_rdm
from metrics.references import load_reference
from metrics.stimuli92 import load_stimuli92, resize_stimuli
from metrics.stimulus_sets import open_stimuli, prepare_brain
from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.features import static_clip_features
from prednet.model import PredNet
from search.cli_score import app
from search.errors import UsageError
from search.feature_files import read_features
from search.full_hms import HmsOptions, prednet_grid, score_features_file, score_weights_fully
from search.hms_target import load_target
from search.paths import brain_path, data_root
from search.score_features import load_function_network, score_function

NETWORKS = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Conv2d(3, 6, 5, stride=4)
        self.drop = torch.nn.Dropout(0.5)
        self.second = torch.nn.Conv2d(6, 8, 3, stride=2)

    def forward(self, images):
        assert images.dtype == torch.float32 and 0 <= images.min() and images.max() <= 1
        first = self.drop(self.first(images).relu())
        return {"first": first, "second": self.second(first).relu()}

def net():
    return Net()

def pixels():
    return lambda images: images.flatten(1)

def number():
    return 7

def broken():
    raise RuntimeError("no weights")

def leaves():
    raise SystemExit(3)

def picky():
    return torch.nn.Conv2d(5, 2, 3)

def words():
    return lambda images: "features"

def flat():
    return lambda images: images.mean(dim=(1, 2, 3))

def constant():
    return lambda images: torch.ones(len(images), 4)

table = {}
"""

CONFIG = """\
search: {name: tiny}
space: {learning_rate: {choice: [1e-3]}}
data: {dataset: demo, height: 24, width: 32}
training: {nt: 4}
metrics: {mse: {max_windows: 2}, matching: {objects: 16, views: 12, trials: 20, gallery: 12, same_family: 3, frames: 3}}
"""


def quiet(what, done, total):
    """Progress that nobody sees."""


@pytest.fixture
def home(small_data, tmp_path, monkeypatch):
    """The 92 stimuli are prepared; the current folder is one of the test's own."""
    monkeypatch.setenv("HMS_DATA", str(small_data))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A prepared brain `small`: 18 images, two batches of a network, and two people's two sessions."""
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    labels = [f"s{number}" for number in range(18, 0, -1)]
    (tmp_path / "shown").mkdir()
    for label in labels:
        Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)).save(tmp_path / "shown" / f"{label}.png")
    pairs = rng.random((4, 18 * 17 // 2))
    np.savez(tmp_path / "small.npz", labels=np.array(labels), rdms=pairs, subjects=np.array(["ann", "ann", "bo", "bo"]))
    folder = brain_path(tmp_path / "data", "small")
    prepare_brain(folder.parent, tmp_path / "small.npz", name="small", images=tmp_path / "shown")
    return open_stimuli(folder)


@pytest.fixture
def networks(tmp_path, monkeypatch):
    """`networks_of_the_test` in the current folder."""
    (tmp_path / "networks_of_the_test.py").write_text(NETWORKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "networks_of_the_test", raising=False)
    return "networks_of_the_test"


def features_file(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_features_in_any_order_have_the_oracles_hms(home):
    data = Path(os.environ["HMS_TEST_DATA"]) / "human92"
    oracle = json.loads((data / "oracle.json").read_text())["models"]
    labels = np.array(load_stimuli92(data).labels)
    order = np.random.default_rng(0).permutation(92)
    with np.load(data / "oracle_features.npz") as arrays:
        pool, conv = arrays["features_pixels_pool25"][order], arrays["features_random_conv_seed0"][order]
    path = features_file(home / "f.npz", labels=labels[order], pool=pool.reshape(92, 7, 7, 3), conv=conv)
    found = json.loads(score_features_file(path, HmsOptions(as_json=True), quiet))
    by_layer = {part["layer"]: part["result"]["value"] for part in found["parts"]}
    assert by_layer["pool"] == pytest.approx(oracle["pixels_pool25"]["spearman"], abs=1e-10)
    assert by_layer["conv"] == pytest.approx(oracle["random_conv_seed0"]["spearman"], abs=1e-10)
    against = found["against_baseline"]
    assert against["baseline"] == "silhouette" and against["baseline_hms"] == pytest.approx(0.1247, abs=5e-5)
    monkey = load_target("monkey_it", None, data_root(), quiet)
    assert len(monkey.reference.people) == 1 and np.array_equal(monkey.models["monkey IT"], monkey.reference.rdm)


def test_the_text_and_the_files_of_a_report(small, tmp_path):
    features = np.random.default_rng(1).normal(size=(18, 30))
    path = features_file(tmp_path / "f.npz", labels=np.array(small.labels)[::-1], features=features)
    text = score_features_file(path, HmsOptions("small", out=tmp_path / "out"), quiet)
    found = json.loads((tmp_path / "out" / "hms.json").read_text())
    assert f"HMS  {found['hms']['value']:.4f}" in text and "compared with small (people: 2, RDMs: 4" in text
    assert f"best image baseline, {found['against_baseline']['baseline']} (" in text
    written = {path.name for path in (tmp_path / "out").iterdir()}
    figures = {f"{name}.{suffix}" for name in ("rdms", "mds", "dendrogram") for suffix in ("png", "pdf")}
    assert figures | {"hms.json", "layers.csv", "comparators.csv", "rdm.npz"} <= written
    rows = list(csv.DictReader((tmp_path / "out" / "people.csv").open()))
    assert len(rows) == 4 + 2


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.zeros((3, 4))}, "no array `labels`, but features: write it with numpy.savez"),
        ({"labels": np.array(["a", "b"])}, "has labels and nothing else"),
        (
            {"labels": np.arange(3), "features": np.zeros((3, 4))},
            r"`labels` is int64 of shape \(3,\); give \(n,\) text",
        ),
        ({"labels": np.array(["a", "b"]), "x": np.zeros((3, 4))}, r"`x` has shape \(3, 4\) beside 2 labels"),
        ({"labels": np.array(["a", "b"]), "x": np.zeros((2, 4), complex)}, "`x` is of type complex128"),
        ({"labels": np.array(["a", "b"]), "x": np.zeros((2, 1))}, "`x` has 1 value a stimulus"),
        ({"labels": np.array([b"caf\xe9", b"b"]), "x": np.zeros((2, 3))}, "`labels` are bytes that are no UTF-8"),
    ],
)
def test_a_file_that_does_not_fit_is_told_how_to_be(tmp_path, arrays, message):
    with pytest.raises(UsageError, match=message):
        score_features_file(features_file(tmp_path / "f.npz", **arrays), HmsOptions(), quiet)


def test_labels_are_the_same_however_their_accents_are_spelled(tmp_path):
    labels = ["cafe\u0301", "b", "c"]
    path = features_file(tmp_path / "f.npz", labels=np.array(labels), x=np.eye(3))
    np.savez(tmp_path / "it.npz", labels=np.array(["caf\u00e9", "b", "c"]), rdm=[[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    read = read_features(path)
    assert read.labels == load_reference(tmp_path / "it.npz").labels == ("caf\u00e9", "b", "c")


def test_no_file_and_no_archive(tmp_path):
    with pytest.raises(UsageError, match=r"none\.npz does not exist"):
        score_features_file(tmp_path / "none.npz", HmsOptions(), quiet)
    (tmp_path / "text.npz").write_text("features")
    with pytest.raises(UsageError, match=r"text\.npz cannot be read"):
        score_features_file(tmp_path / "text.npz", HmsOptions(), quiet)
    np.save(tmp_path / "bare.npy", np.zeros((92, 3)))
    with pytest.raises(UsageError, match="one array without labels"):
        score_features_file(tmp_path / "bare.npy", HmsOptions(), quiet)


def test_other_labels_and_other_references(small, tmp_path):
    labels = np.array([f"item {number}" for number in range(12)])
    features = np.random.default_rng(1).normal(size=(12, 30))
    path = features_file(tmp_path / "mine.npz", labels=labels, features=features)
    with pytest.raises(UsageError, match=r"Labels do not match .* has 18 stimuli, 's18' to 's1', the file 12"):
        score_features_file(path, HmsOptions("small"), quiet)
    rdm = 1 - np.corrcoef(features)
    np.savez(tmp_path / "brain.npz", labels=labels[::-1], rdm=rdm[::-1, ::-1])
    found = json.loads(score_features_file(path, HmsOptions(str(tmp_path / "brain.npz"), as_json=True), quiet))
    assert found["hms"]["value"] == pytest.approx(1, abs=1e-12)
    assert found["categories"] == [] and found["baselines"] == {}
    with pytest.raises(StimuliError, match="the brain `nobody` is not prepared"):
        score_features_file(path, HmsOptions("nobody"), quiet)


def test_a_torch_network_has_the_hms_of_its_features(small, networks, tmp_path):
    given = f"{networks}:net"
    found = json.loads(score_function(given, "24x28", "stretch", HmsOptions("small", as_json=True), quiet))
    images = resize_stimuli(small.images, 24, 28)
    with torch.inference_mode():
        shown = torch.from_numpy(images.transpose(0, 3, 1, 2).copy()).float() / 255
        layers = load_function_network(given)(shown)
    features = np.concatenate([values.flatten(1).numpy() for values in layers.values()], axis=1)
    assert found["hms"]["value"] == pytest.approx(hms(correlation_rdm(features), small.human_rdm).value, abs=1e-6)
    assert [part["layer"] for part in found["parts"]] == ["first", "second"]
    options = HmsOptions("small", out=tmp_path / "out")
    text = score_function(f"{networks}:constant", "8x8", "stretch", options, quiet)
    assert "undefined (undefined_constant)" in text and not (tmp_path / "out" / "rdms.png").exists()
    assert json.loads((tmp_path / "out" / "hms.json").read_text())["hms"]["value"] is None


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("nowhere:net", "nowhere cannot be imported from .*ModuleNotFoundError"),
        ("networks_of_the_test:nothing", "has no function nothing; it has: .*net"),
        ("networks_of_the_test:table", "has no function table"),
        ("networks_of_the_test:", "give module:function"),
        ("networks_of_the_test:number", "returned int; return a torch network"),
        ("networks_of_the_test:broken", "raised RuntimeError: no weights"),
        ("networks_of_the_test:leaves", "raised SystemExit: 3"),
    ],
)
def test_functions_that_make_no_network(networks, named, message):
    with pytest.raises(UsageError, match=message):
        load_function_network(named)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("picky", r"raised RuntimeError: .*images of shape \(16, 3, 16, 16\); another size: --size"),
        ("words", "the network returned str; return a tensor"),
        ("flat", r"layer 'features' is torch.float32 of shape \(16,\) for 16 images"),
    ],
)
def test_networks_that_return_no_features(small, networks, function, message):
    with pytest.raises(UsageError, match=message):
        score_function(f"{networks}:{function}", "16x16", "stretch", HmsOptions("small"), quiet)
    with pytest.raises(UsageError, match="--size 16 is no size"):
        score_function(f"{networks}:{function}", "16", "stretch", HmsOptions("small"), quiet)


def test_a_network_is_shown_the_images_that_a_reference_was_prepared_with(small, networks, tmp_path):
    rdm = correlation_rdm(small.images.transpose(0, 3, 1, 2).reshape(18, -1))
    np.savez(tmp_path / "it.npz", labels=np.array(small.labels), rdm=rdm)
    folder = brain_path(tmp_path / "data", "it").parent
    prepare_brain(folder, tmp_path / "it.npz", name="it", images=tmp_path / "shown")
    prepare_brain(folder, tmp_path / "it.npz", name="unseen")
    found = json.loads(score_function(f"{networks}:pixels", "12x12", "stretch", HmsOptions("it", as_json=True), quiet))
    assert found["hms"]["value"] == pytest.approx(1, abs=1e-9) and found["reference"]["stimuli"] == 18
    assert found["baselines"]["pixels"] == pytest.approx(1, abs=1e-9)
    assert "silhouette" not in found["baselines"] and list(found["controlled"]) == ["pixels"]
    with pytest.raises(StimuliError, match="unseen has no images, which a network must be shown"):
        score_function(f"{networks}:pixels", "12x12", "stretch", HmsOptions("unseen"), quiet)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a:b", "--config", "c.yaml"], "--config is for WEIGHTS, not for MODULE:FUNCTION"),
        (["a:b", "--set", "data.height=8"], "--set is for WEIGHTS"),
        (["w.pt", "--size", "8x8"], "--size is for MODULE:FUNCTION; of WEIGHTS the configuration says it"),
        (["w.pt", "--reference", "monkey_it"], "--reference is for HMS in full: add --full"),
    ],
)
def test_an_option_that_would_mean_nothing_is_refused(words, message):
    outcome = CliRunner().invoke(app, ["score", *words])
    assert isinstance(outcome.exception, UsageError) and message in str(outcome.exception)


def test_a_prednet_is_scored_by_layer_and_step():
    model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)
    images = np.random.default_rng(0).integers(0, 256, (12, 16, 24, 3), dtype=np.uint8)
    grid = prednet_grid(model, images, frames=4)
    assert grid.layers == ["R0", "R1", "R2"] and grid.steps == [1, 2, 3]
    everything = [features for _, _, features in static_clip_features(model, images, nt=4)]
    expected = np.corrcoef(np.concatenate(everything, axis=1).astype(np.float64))
    assert grid.gram().rdm() == pytest.approx(1 - expected, abs=1e-9)


def test_our_own_network_in_full_has_the_hms_of_the_three_metrics(home):
    (home / "tiny.yaml").write_text(CONFIG)
    model = PredNet(PredNetConfig((3, 4, 5)), seed=3)
    save_checkpoint(home / "network.pt", {"config": model.config.to_dict(), "model": model.state_dict()})
    options = HmsOptions(as_json=True)
    row = json.loads(score_weights_fully(home / "network.pt", home / "tiny.yaml", None, None, options, quiet))
    full = row["hms_report"]
    assert full["hms"]["value"] == pytest.approx(row["hms"], abs=1e-12)
    assert {(part["layer"], part["step"]) for part in full["parts"]} >= {("R2", None), (None, 4), ("R0", 1)}
    assert row["mse"] > 0 and row["accuracy"] is not None
