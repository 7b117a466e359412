"""Other stimuli and further references in a search: what networks are shown, compared with, and refused for."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from typer.testing import CliRunner

from metrics.errors import StimuliError
from metrics.stimuli92 import LABELS92, prepare_stimuli92
from search.brain_export import write_brain
from search.cli_data import app
from search.config_reader import parse_config
from search.order import TrialOrder
from search.paths import brain_path, stimuli_path
from search.prednet_learner import PredNetLearner
from search.report.artifacts import read_brain
from search.stimuli import references_of, stimuli_of

LABELS = ("cup", "dog", "face", "stim10", "stim2", "tree")
PLAIN = {
    "search": {"name": "t"},
    "space": {"learning_rate": {"uniform": [0.001, 0.01]}},
    "data": {"height": 24, "width": 32},
    "network": {"channels": [3, 4, 8]},
    "training": {"nt": 4, "epochs": 3, "device": "cpu"},
}
MATCHING = {"objects": 4, "views": 2, "gallery": 2, "same_family": 1, "trials": 2, "frames": 2}


def config(matching=None, **hms):
    metrics = {"hms": hms, "mse": {"max_windows": 2}, "matching": matching or {}}
    return parse_config({**PLAIN, "metrics": metrics}, source="the test")


def distances(seed):
    return squareform(pdist(np.random.default_rng(seed).normal(size=(len(LABELS), 3))))


def write_table(path, rdm, labels=LABELS):
    rows = [[label, *map(str, row)] for label, row in zip(labels, rdm, strict=True)]
    path.write_text("\n".join(",".join(row) for row in [["", *labels], *rows]))


@pytest.fixture
def brain(tmp_path, monkeypatch):
    """HMS_DATA with the stimuli `mine`, prepared by the command."""
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    shown = tmp_path / "shown"
    shown.mkdir()
    rng = np.random.default_rng(7)
    for label in LABELS:
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(shown / f"{label}.png")
    write_table(tmp_path / "it.csv", distances(0))
    outcome = CliRunner().invoke(app, ["brain", str(tmp_path / "it.csv"), "--name", "mine", "--images", str(shown)])
    assert outcome.exit_code == 0, outcome.output
    assert "1 RDMs of 1 subjects (subject1), 6 stimuli (cup ... tree)" in outcome.output
    return tmp_path / "data"


def test_a_network_is_shown_other_stimuli_and_compared_with_several_references(brain, tmp_path):
    turned = [3, 0, 5, 1, 4, 2]
    write_table(tmp_path / "v1.csv", distances(1)[np.ix_(turned, turned)] * 1e4, [LABELS[i] for i in turned])
    hms = {"stimuli": "mine", "references": {"early": str(tmp_path / "v1.csv"), "again": "mine"}}
    order = TrialOrder(
        "t", 0, 3, {"learning_rate": 5e-3}, config(MATCHING, **hms), tmp_path / "trial", brain, "cpu", threads=1
    )
    order.folder.mkdir()
    learner = PredNetLearner(order)
    row = learner.evaluate(lambda: None)
    model = squareform(learner.rdm.astype(float), checks=False)
    assert learner.rdm.shape == (6, 6) and learner.materials.stimulus_images.shape == (6, 24, 32, 3)
    for column, seed in (("hms", 0), ("hms_early", 1), ("hms_again", 0)):
        assert row[column] == pytest.approx(spearmanr(model, squareform(distances(seed))).statistic, abs=1e-12)
        assert row[f"{column}_status"] == "ok"
    facts = learner.materials.describe()
    assert facts["stimuli"]["count"] == 6
    assert facts["digests"]["stimuli"] == learner.materials.stimuli.digest
    assert {"reference early", "reference again"} <= set(facts["digests"])


def test_references_by_path_by_prepared_name_and_of_the_92_stimuli(tmp_path):
    given = os.environ.get("HMS_TEST_DATA")
    if not given:
        pytest.skip("HMS_TEST_DATA is not set: it holds the 92 stimuli and the human RDMs")
    prepare_stimuli92(stimuli_path(tmp_path), source=Path(given) / "human92")
    np.savez(tmp_path / "people.npz", rdms=np.random.default_rng(0).random((2, 4186)), labels=np.array(LABELS92[::-1]))
    references = {
        "monkey": "monkey_it",
        "one": "human_it_2",
        "random": str(tmp_path / "people.npz"),
        "human": {"path": f"{given}/human92/92_brainRDMs.mat", "labels": str(tmp_path / "labels.txt")},
    }
    (tmp_path / "labels.txt").write_text("\n".join(LABELS92))
    chosen = config(references=references)
    stimuli = stimuli_of(chosen, tmp_path)
    found = references_of(chosen, tmp_path, stimuli)
    assert list(found) == list(references) and {r.labels for r in found.values()} == {LABELS92}
    np.testing.assert_array_equal(found["monkey"].rdm, stimuli.monkey_rdm)
    assert (found["random"].name, len(found["random"].people), len(found["one"].people)) == ("random", 2, 1)
    np.testing.assert_allclose(found["human"].rdm, stimuli.human_rdm, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("hms", "message"),
    [
        ({"stimuli": "other"}, "the brain `other` is not prepared: .*hms data brain PATH --name other"),
        ({"stimuli": "mine", "references": {"x": "monkey_it"}}, "the brain `monkey_it` is not prepared"),
        ({"stimuli": "mine", "references": {"x": "./none.csv"}}, "none.csv: no such file or folder"),
    ],
)
def test_what_is_missing_is_named_with_the_command(brain, hms, message):
    chosen = config(**hms)
    with pytest.raises(StimuliError, match=message):
        references_of(chosen, brain, stimuli_of(chosen, brain))


def test_a_reference_of_other_stimuli_is_refused(brain, tmp_path):
    write_table(tmp_path / "v1.csv", distances(1), ("cup", "dog", "face", "stim10", "stim2", "bush"))
    chosen = config(stimuli="mine", references={"v1": str(tmp_path / "v1.csv")})
    with pytest.raises(StimuliError, match=r"1 \('tree'\) missing, 1 \('bush'\) additional"):
        references_of(chosen, brain, stimuli_of(chosen, brain))


def test_stimuli_and_references_are_of_the_hash_only_where_they_are_set():
    plain = config()
    assert plain.hashes() == config(stimuli="stimuli92", references={}).hashes()
    assert plain.hashes() != config(stimuli="mine").hashes()
    assert plain.hashes() != config(references={"monkey": "monkey_it"}).hashes()


def test_the_commands_list_verify_and_remove_a_brain(brain):
    run = CliRunner().invoke
    assert "mine" in run(app, ["list"]).output
    assert run(app, ["verify", "mine"]).exit_code == 0
    file = brain_path(brain, "mine") / "brain.npz"
    file.write_bytes(file.read_bytes()[:-100])
    verdict = run(app, ["verify", "mine"])
    assert verdict.exit_code != 0 and "is damaged" in str(verdict.exception)
    assert run(app, ["remove", "mine", "--yes"]).exit_code == 0
    assert not file.parent.exists()


def test_the_exported_brain_is_that_of_the_stimuli(brain, tmp_path):
    found, warnings = write_brain(tmp_path, brain, config(stimuli="mine").document())
    assert warnings == []
    assert set(found) == {"hms_baselines"}  # one person has no noise ceiling
    shown = read_brain(SimpleNamespace(directory=tmp_path))
    assert shown.title == "mine" and tuple(shown.labels) == LABELS and set(shown.categories) == {""}
    np.testing.assert_allclose(shown.rdm, distances(0), rtol=1e-6)
    assert set(shown.images) >= set(found["hms_baselines"])


def test_further_references_are_exported_with_what_image_models_score(brain, tmp_path):
    write_table(tmp_path / "v1.csv", distances(1) * 1e4)
    hms = {"stimuli": "mine", "references": {"early": str(tmp_path / "v1.csv"), "gone": str(tmp_path / "gone.csv")}}
    found, warnings = write_brain(tmp_path, brain, config(**hms).document())
    assert len(warnings) == 1 and "the reference gone cannot be shown" in warnings[0] and "gone.csv" in warnings[0]
    shown = read_brain(SimpleNamespace(directory=tmp_path))
    assert list(shown.beside) == ["early"] and found["references"]["early"]["subjects"] == 1
    np.testing.assert_allclose(shown.beside["early"], distances(1) * 1e4, rtol=1e-6)
    for name, value in found["references"]["early"]["baselines"].items():
        image = squareform(shown.images[name], checks=False)
        assert value == pytest.approx(spearmanr(image, squareform(distances(1))).statistic, abs=1e-6)
