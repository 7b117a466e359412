import json

import h5py
import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.errors import CheckpointError, ModelError
from prednet.keras_export import save_keras_weights
from prednet.keras_weights import load_keras_weights
from prednet.model import PredNet

MIXED = {"stack_sizes": (3, 4, 5), "r_stack_sizes": (2, 6, 3)}
FILTERS = {"a_filter_sizes": (2, 5), "ahat_filter_sizes": (4, 1, 6), "r_filter_sizes": (8, 2, 3)}


def trained(config):
    """A network whose biases are not zero, as training leaves them."""
    model = PredNet(config, seed=4)
    for bias in (p for p in model.parameters() if p.ndim == 1):
        torch.nn.init.normal_(bias, generator=torch.Generator().manual_seed(5))
    return model


def assert_same_weights(model, other):
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name


@pytest.mark.parametrize("convention", ["tensorflow", "theano"])
@pytest.mark.parametrize("without_json", [False, True])
def test_a_network_survives_the_round_trip_exactly(tmp_path, convention, without_json):
    config = PredNetConfig(**MIXED, **FILTERS, pixel_max=1.0 if without_json else 0.25, convention=convention)
    model = trained(config)
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.hdf5", "w.json"]
    if without_json:
        (tmp_path / "w.json").unlink()
    loaded = load_keras_weights(tmp_path / "w.hdf5")
    assert loaded.config == config
    assert_same_weights(model, loaded)


@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
def test_a_file_survives_the_round_trip_exactly(tmp_path, oracle, backend):
    """The arrays of the original code, through a network, to a file: the same names, shapes and bits."""
    case = oracle("even")
    with h5py.File(tmp_path / "original.hdf5", "w") as file:
        file.attrs["backend"] = backend
        group = file.create_group("pred_net_1")
        group.attrs["weight_names"] = [f"pred_net_1/{name}:0" for name in case.weight_names]
        for name in case.weight_names:
            group[f"pred_net_1/{name}:0"] = case.arrays[f"w/{name}"]
    model = load_keras_weights(tmp_path / "original.hdf5")
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json")
    with h5py.File(tmp_path / "original.hdf5") as original, h5py.File(tmp_path / "w.hdf5") as written:
        assert written.attrs["backend"].decode() == backend
        names = [name.decode() for name in written["pred_net_1"].attrs["weight_names"]]
        assert names == list(original["pred_net_1"].attrs["weight_names"])
        for name in names:
            ours, theirs = written["pred_net_1"][name][()], original["pred_net_1"][name][()]
            assert ours.dtype == np.float32 and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def test_odd_filters_can_be_written_for_the_other_backend(tmp_path):
    model = trained(PredNetConfig(**MIXED, convention="theano"))
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json", backend="tensorflow")
    loaded = load_keras_weights(tmp_path / "w.hdf5")
    assert loaded.config.convention == "tensorflow"
    frames = torch.rand(1, 3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(model(frames).predictions, loaded(frames).predictions)


def test_even_filters_cannot(tmp_path):
    model = PredNet(PredNetConfig(**MIXED, **FILTERS, convention="theano"))
    with pytest.raises(CheckpointError, match=r"even size \(2\).*only be written for theano"):
        save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json", backend="tensorflow")
    assert not list(tmp_path.iterdir())


def test_the_json_is_a_keras_model_for_clips_of_the_size_asked_for(tmp_path):
    model = PredNet(PredNetConfig((3, 4, 5), r_filter_sizes=(5, 3, 1)))
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json", clips=(7, 16, 24))
    document = json.loads((tmp_path / "w.json").read_text())
    inputs, prednet = document["config"]["layers"]
    assert inputs["config"]["batch_input_shape"] == [None, 7, 16, 24, 3]
    assert (prednet["class_name"], prednet["config"]["R_filt_sizes"]) == ("PredNet", [5, 3, 1])
    assert prednet["inbound_nodes"] == [[[inputs["name"], 0, 0, {}]]]
    with pytest.raises(ModelError, match=r"16x22.*multiples of 4"):
        save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json", clips=(7, 16, 22))


def test_a_folder_that_is_not_there(tmp_path):
    folder = tmp_path / "none"
    with pytest.raises(CheckpointError, match=r"can't write .*choose another folder"):
        save_keras_weights(PredNet(PredNetConfig((3, 4))), folder / "w.hdf5", folder / "w.json")
