import h5py
import pytest
import torch

from prednet.checkpoint import load_network, save_checkpoint
from prednet.config import PredNetConfig
from prednet.errors import CheckpointError
from prednet.keras_weights import load_keras_weights
from prednet.model import PredNet
from search.errors import UsageError
from search.weights import convert_weights


def network(tmp_path, **settings):
    """A checkpoint as a trial leaves it, and its network."""
    model = PredNet(PredNetConfig((3, 4, 5), (2, 6, 3), (3, 5), (1, 3, 3), (3, 5, 7), **settings), seed=4)
    path = tmp_path / "network.pt"
    save_checkpoint(path, {"config": model.config.to_dict(), "model": model.state_dict(), "frame_size": [16, 24]})
    return path, model


def assert_same_network(model, other):
    assert model.config == other.config
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name


@pytest.mark.parametrize("convention", ["tensorflow", "theano"])
def test_there_and_back_is_exact(tmp_path, convention):
    path, model = network(tmp_path, convention=convention)
    told = convert_weights(path, tmp_path / "w.hdf5")
    assert "3 layers" in told and "stack_sizes: [3, 4, 5]" in told and f"wrote {tmp_path / 'w.json'}" in told
    assert_same_network(model, load_keras_weights(tmp_path / "w.hdf5"))
    assert "24,\n" in (tmp_path / "w.json").read_text()
    convert_weights(tmp_path / "w.hdf5", tmp_path / "back.pt")
    assert_same_network(model, load_network(tmp_path / "back.pt"))
    convert_weights(tmp_path / "back.pt", tmp_path / "again.hdf5")
    with h5py.File(tmp_path / "w.hdf5") as first, h5py.File(tmp_path / "again.hdf5") as second:
        names = list(first["pred_net_1"].attrs["weight_names"])
        assert names == list(second["pred_net_1"].attrs["weight_names"])
        for name in names:
            assert first["pred_net_1"][name][()].tobytes() == second["pred_net_1"][name][()].tobytes()


def test_theano_weights_are_written_for_tensorflow(tmp_path):
    path, model = network(tmp_path, convention="theano")
    convert_weights(path, tmp_path / "w.hdf5", backend="tensorflow", size="32x40")
    loaded = load_keras_weights(tmp_path / "w.hdf5")
    assert loaded.config.convention == "tensorflow"
    assert torch.equal(loaded.a[0].weight, model.a[0].weight)
    assert "32,\n" in (tmp_path / "w.json").read_text()


def test_without_a_target_nothing_is_written(tmp_path):
    path, _ = network(tmp_path)
    assert "r_filter_sizes: [3, 5, 7]" in convert_weights(path, None)
    assert list(tmp_path.iterdir()) == [path]


def test_mistakes(tmp_path):
    path, _ = network(tmp_path)
    with pytest.raises(UsageError, match=r"none.pt does not exist"):
        convert_weights(tmp_path / "none.pt", None)
    with pytest.raises(UsageError, match=r"w.txt has no known suffix: give .hdf5"):
        convert_weights(path, tmp_path / "w.txt")
    with pytest.raises(UsageError, match=r"network.pt exists already"):
        convert_weights(path, path)
    (tmp_path / "w.json").write_text("{}")
    with pytest.raises(UsageError, match=r"w.json exists already"):
        convert_weights(path, tmp_path / "w.hdf5")
    with pytest.raises(UsageError, match=r"describes an architecture: give the weights"):
        convert_weights(tmp_path / "w.json", None)
    with pytest.raises(CheckpointError, match="can't write the checkpoint"):
        convert_weights(path, path / "no-folder" / "w.pt")
