"""A real PredNet on real stimuli: the example of docs/metrics.md as somebody else's package, and further references."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from metrics.errors import StimuliError
from metrics.stimuli92 import prepare_stimuli92
from prednet.features import predict, static_clip_features
from search.config_reader import parse_config
from search.materials import prepare
from search.order import TrialOrder
from search.paths import stimuli_path
from search.prednet_learner import PredNetLearner
from search.trial import Trial

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "### Add a metric", "docs/metrics.md": "# Add a metric"}
CONFIG = {
    "search": {"name": "t", "guide": "sharpness"},
    "space": {"learning_rate": {"uniform": [0.001, 0.01]}},
    "data": {"height": 24, "width": 32},
    "network": {"channels": [3, 4, 8]},
    "training": {
        "nt": 4, "epochs": 2, "batch_size": 2, "train_sequences": 4, "val_sequences": 2, "device": "cpu",
    },
    "stopping": {"metric": "sharpness", "window": 2, "tolerance": 10.0},
}  # fmt: skip
METRICS = {
    "every": 1,
    "mse": {"max_windows": 2},
    "matching": {"objects": 4, "views": 2, "gallery": 2, "same_family": 1, "trials": 2, "frames": 2},
}


def example(page: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", text.split(PAGES[page])[1], re.DOTALL)[1]


@pytest.fixture
def root(small_data):
    return small_data


@pytest.fixture
def installed(install_metric, monkeypatch):
    monkeypatch.syspath_prepend(install_metric(example("docs/metrics.md")))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "sharp_metric", raising=False)


@pytest.fixture
def references(root, tmp_path):
    """The monkey's RDM as a file, in the opposite order of stimuli and in another unit: only ranks count."""
    stimuli = prepare_stimuli92(stimuli_path(root))
    path = tmp_path / "monkey.npz"
    shuffled = np.arange(92)[::-1]
    rdm = 40 * stimuli.monkey_rdm[np.ix_(shuffled, shuffled)]
    np.savez(path, rdms=rdm[None], labels=np.array(stimuli.labels)[shuffled])
    return {"monkey_it": str(path)}


def test_the_example_is_at_most_ten_lines():
    assert len([line for line in example("docs/metrics.md").splitlines() if line.strip()]) <= 10


def test_the_readme_shows_the_same_example():
    assert example("README.md") == example("docs/metrics.md")


def test_a_trial_logs_it_stops_on_it_and_compares_with_other_brains(root, tmp_path, installed, references):
    logged = METRICS | {"also": ["sharpness"], "hms": {"references": references}}
    config = parse_config({**CONFIG, "metrics": logged}, source="the test")
    order = TrialOrder("t", 0, 5, {"learning_rate": 5e-3, "epochs": 9}, config, tmp_path / "t", root, "cpu", threads=1)
    learner, told = PredNetLearner(order), []
    result = Trial(order, learner, lambda kind, row: told.append((kind, row)), lambda: False).run()

    rows = [row for kind, row in told if kind == "epoch"]
    assert result["finish"] == "stable" and result["epochs_trained"] == 3 and len(rows) == 4
    assert result["sharpness"] == rows[-1]["sharpness"] == -result["loss"] and result["sharpness_best"] > 0
    assert rows[-1]["sharpness_status"] == "ok" and rows[-1]["seconds_sharpness"] > 0
    assert "rdm" not in rows[-1] and (order.folder / "rdm.npz").exists()

    clips = learner.materials.mse_windows.take(np.arange(2))
    shown, true = predict(learner.model, clips).astype(np.float64), clips / 255.0
    edges = [np.abs(x[:, 1:, :, 1:] - x[:, 1:, :, :-1]).mean() for x in (shown, true)]
    assert result["sharpness"] == pytest.approx(edges[0] / edges[1], rel=1e-5)

    stimuli = learner.materials.stimuli
    features = [f for _, _, f in static_clip_features(learner.model, learner.materials.stimulus_images, nt=5)]
    upper = np.triu_indices(92, 1)
    pairs = 1 - np.corrcoef(np.concatenate(features, axis=1).astype(np.float64))[upper]
    for name, rdm in (("hms", stimuli.human_rdm), ("hms_monkey_it", stimuli.monkey_rdm)):
        assert result[name] == pytest.approx(spearmanr(pairs, rdm[upper])[0], abs=1e-9)

    kept = np.load(order.folder / "rdm.npz")
    places = zip(kept["part_layer"].tolist(), kept["part_step"].tolist(), strict=True)
    parts = dict(zip(places, kept["part_hms"], strict=True))
    seen = list(static_clip_features(learner.model, learner.materials.stimulus_images, nt=5))
    layers, steps = {layer for _, layer, _ in seen}, {step for step, _, _ in seen}
    assert len(parts) == len(layers) + len(steps) + len(layers) * len(steps)
    for layer, step in (("R1", 3), ("R0", -1), ("", 2)):
        chosen = [f for t, own, f in seen if layer in ("", f"R{own}") and step in (-1, t)]
        pairs = 1 - np.corrcoef(np.concatenate(chosen, axis=1).astype(np.float64))[upper]
        assert parts[layer, step] == pytest.approx(spearmanr(pairs, stimuli.human_rdm[upper])[0], abs=1e-9)
    assert result["hms_monkey_it_status"] == "ok" and -1 <= result["hms_monkey_it_rho_a"] <= 1
    assert result["hms_monkey_it_best"] is not None and "seconds_hms_monkey_it" not in rows[-1]


def test_a_reference_of_other_stimuli_is_refused_before_anything_runs(root, tmp_path, references):
    path = Path(references["monkey_it"])
    with np.load(path) as file:
        rdms, labels = file["rdms"], file["labels"].astype("<U40")
    labels[3] = "93_unheard_of"
    np.savez(path, rdms=rdms, labels=labels)
    config = parse_config({**CONFIG_PLAIN, "metrics": METRICS | {"hms": {"references": references}}}, source="the test")
    with pytest.raises(StimuliError, match="93_unheard_of"):
        prepare(config, root)


def test_what_a_search_was_begun_with_is_described(root, installed, references):
    logged = METRICS | {"also": ["sharpness"], "hms": {"references": references}}
    digests = prepare(parse_config({**CONFIG, "metrics": logged}, source="the test"), root).describe()["digests"]
    assert digests["metric sharpness"] == "sharp 1.2" and len(digests["reference monkey_it"]) == 64
    plain = prepare(parse_config({**CONFIG_PLAIN, "metrics": METRICS}, source="the test"), root).describe()["digests"]
    assert plain.keys() == digests.keys() - {"metric sharpness", "reference monkey_it"}


CONFIG_PLAIN = CONFIG | {"search": {"name": "t"}, "stopping": {"window": 2}}
