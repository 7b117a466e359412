import json
import re

import pytest

from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.errors import CheckpointError
from prednet.keras_export import save_keras_weights
from prednet.model import PredNet
from search.errors import UsageError
from search.score import score_weights

CONFIG = """\
search: {name: tiny}
space: {learning_rate: {choice: [1e-3]}}
data: {dataset: demo, height: 24, width: 32}
training: {nt: 4}
metrics: {mse: {max_windows: 2}, matching: {objects: 16, views: 12, trials: 20, gallery: 12, same_family: 3, frames: 3}}
"""


def quiet(what, done, total):
    """Progress that nobody sees."""


def score(weights, config=None, **options):
    return score_weights(weights, config, options.pop("overrides", None), None, as_json=True, progress=quiet)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def keras(tmp_path):
    """Writes a network as Keras does and gives the path of its weights."""

    def write(*stack_sizes):
        model = PredNet(PredNetConfig(stack_sizes), seed=3)
        clips = (10, 2 ** len(stack_sizes), 2 ** len(stack_sizes))
        save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json", clips=clips)
        return tmp_path / "w.hdf5"

    return write


def test_original_weights_score_as_the_checkpoint_does(small_data, tmp_path, monkeypatch, config, keras):
    monkeypatch.setenv("HMS_DATA", str(small_data))
    model = PredNet(PredNetConfig((3, 4, 5)), seed=3)
    save_checkpoint(tmp_path / "network.pt", {"config": model.config.to_dict(), "model": model.state_dict()})
    rows = []
    for weights in (tmp_path / "network.pt", keras(3, 4, 5)):
        row = json.loads(score(weights, config))
        assert row["weights"] == str(weights)
        assert -1 <= row["hms"] <= 1 and row["mse"] > 0 and 0 <= row["accuracy"] <= 1
        rows.append({name: value for name, value in row.items() if not name.startswith(("seconds", "weights"))})
    assert rows[0] == rows[1]
    (tmp_path / "w.json").unlink()
    text = score_weights(tmp_path / "w.hdf5", config, None, None, as_json=False, progress=quiet)
    assert f"HMS       {rows[0]['hms']:.5f}" in text and "evaluated on demo at 24x32" in text
    for name, label in (("accuracy", "accuracy  "), ("accuracy_light", "  light  ")):
        low, high = rows[0][f"{name}_low"], rows[0][f"{name}_high"]
        assert f"[{low:.3f}, {high:.3f}]" in next(line for line in text.splitlines() if line.startswith(label))
    config.write_text(CONFIG.replace("views: 12", "views: 12, mode: legacy"))
    text = score_weights(tmp_path / "w.hdf5", config, None, None, as_json=False, progress=quiet)
    assert re.search(r"\naccuracy .*; probe and target alike: 0\.\d{3}\)\n  distinct  .*\n  identical  ", text)


def test_mistakes_are_told_before_data_are_prepared(tmp_path, config, keras):
    with pytest.raises(UsageError, match=r"none.hdf5 does not exist"):
        score(tmp_path / "none.hdf5", config)
    weights = keras(3, 4, 5, 5, 5)
    with pytest.raises(UsageError, match=r"w.hdf5: frames of 24x32 .*multiples of 16.*--set data.height=H"):
        score(weights, config)
    with pytest.raises(UsageError, match="name it with --config"):
        score(weights, overrides=["data.height=32"])
    with pytest.raises(UsageError, match=r"w.json describes an architecture"):
        score(tmp_path / "w.json", config)
    other = (tmp_path / "w.json").read_text()
    with pytest.raises(UsageError, match=r"frames of 1 channels: the metrics are those of RGB"):
        score(keras(1, 4), config)
    (tmp_path / "w.json").write_text(other)
    with pytest.raises(CheckpointError, match="two networks"):
        score(tmp_path / "w.hdf5", config)
