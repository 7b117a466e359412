"""Files written here with h5py, in exactly the layout of Keras; no code is shared with the reader."""

import json

import h5py
import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.errors import CheckpointError
from prednet.keras_weights import load_keras_weights, save_keras_weights
from prednet.model import PredNet


def keras_layer(settings, **extra):
    names = ("stack_sizes", "R_stack_sizes", "A_filt_sizes", "Ahat_filt_sizes", "R_filt_sizes")
    return {name: settings[name] for name in names} | {"pixel_max": 1.0, "output_mode": "error"} | extra


def write_json(path, layer):
    layers = [
        {"class_name": "InputLayer", "config": {"name": "input_1"}},
        {"class_name": "PredNet", "config": layer},
        {"class_name": "TimeDistributed", "config": {"name": "time_distributed_1"}},
    ]
    path.write_text(json.dumps({"class_name": "Model", "config": {"name": "model_1", "layers": layers}}))


def write_hdf5(path, arrays, *, names=None, kernel=lambda array: array, group="pred_net_1", backend=None, root=None):
    """Arrays in the order of Keras, with the other layers of the training graph beside them."""
    with h5py.File(path, "w") as file:
        top = file.create_group(root) if root else file
        top.attrs["layer_names"] = [b"input_1", group.encode(), b"time_distributed_1"]
        if backend:
            top.attrs["backend"] = backend.encode()
        top.create_group("input_1").attrs["weight_names"] = np.array([], dtype="S1")
        other = top.create_group("time_distributed_1")
        other.attrs["weight_names"] = [b"time_distributed_1/kernel:0"]
        other.create_dataset("time_distributed_1/kernel:0", data=np.ones((3, 1), np.float32))
        layer = top.create_group(group)
        names = names or [f"{name}:0" for name in arrays]
        layer.attrs["weight_names"] = [name.encode() for name in names]
        for name, array in zip(names, arrays.values(), strict=True):
            layer.create_dataset(name, data=kernel(array) if array.ndim == 4 else array)


@pytest.fixture
def case(oracle):
    """The even parity file: real weights of the original code, in its own order and layout."""
    loaded = oracle("even")
    loaded.keras = {name: loaded.arrays[f"w/{name}"] for name in loaded.weight_names}
    return loaded


def errors_of(model, case):
    with torch.no_grad():
        return model.double()(case.frames).errors.numpy()


def test_weights_of_keras_2_give_the_recorded_errors(tmp_path, case):
    write_json(tmp_path / "w.json", keras_layer(case.settings, data_format="channels_last"))
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend="tensorflow")
    model = load_keras_weights(tmp_path / "w.hdf5")
    assert model.config == case.model.config
    np.testing.assert_allclose(errors_of(model, case), case.arrays["error"], rtol=0, atol=1e-10)


def test_sizes_are_read_off_the_kernels_without_a_json(tmp_path, case):
    write_hdf5(tmp_path / "w.hdf5", case.keras, root="model_weights", group="prednet_1")
    model = load_keras_weights(tmp_path / "w.hdf5")
    assert model.config == case.model.config
    np.testing.assert_allclose(errors_of(model, case), case.arrays["error"], rtol=0, atol=1e-10)


def test_nameless_arrays_are_taken_in_the_order_of_keras(tmp_path, case):
    names = [f"param_{index}" for index in range(len(case.keras))]
    write_hdf5(tmp_path / "w.hdf5", case.keras, names=names)
    np.testing.assert_allclose(
        errors_of(load_keras_weights(tmp_path / "w.hdf5"), case), case.arrays["error"], rtol=0, atol=1e-10
    )


def test_names_win_over_the_order(tmp_path, case):
    pairs = [list(case.keras)[n : n + 2] for n in range(0, len(case.keras), 2)]
    shuffled = {name: case.keras[name] for pair in reversed(pairs) for name in pair}
    write_hdf5(tmp_path / "w.hdf5", shuffled, names=[f"pred_net_1/{name}:0" for name in shuffled])
    np.testing.assert_allclose(
        errors_of(load_keras_weights(tmp_path / "w.hdf5"), case), case.arrays["error"], rtol=0, atol=1e-10
    )


def test_keras_1_with_theano_order(tmp_path, case):
    """(out, in, kh, kw) kernels, flipped, as Theano convolves; even filters pad on the other side."""
    write_json(tmp_path / "prednet_model.json", keras_layer(case.settings, dim_ordering="th"))
    write_hdf5(tmp_path / "prednet_weights.hdf5", case.keras, kernel=lambda k: k.transpose(3, 2, 0, 1))
    model = load_keras_weights(tmp_path / "prednet_weights.hdf5")
    assert model.config.convention == "theano"
    expected = case.keras["layer_a_1/kernel"][::-1, ::-1].transpose(3, 2, 0, 1)
    np.testing.assert_array_equal(model.a[1].weight.detach(), expected)


@pytest.mark.parametrize(
    ("backend", "option", "expected"),
    [("theano", None, "theano"), ("tensorflow", None, "tensorflow"), ("tensorflow", "theano", "theano")],
)
def test_the_convention_is_detected_or_given(tmp_path, case, backend, option, expected):
    write_json(tmp_path / "w.json", keras_layer(case.settings, data_format="channels_first"))
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend=backend)
    model = load_keras_weights(tmp_path / "w.hdf5", convention=option)
    assert model.config.convention == expected
    flipped = np.array_equal(
        model.a[0].weight.detach(), case.keras["layer_a_0/kernel"][::-1, ::-1].transpose(3, 2, 0, 1)
    )
    assert flipped == (expected == "theano")


@pytest.mark.parametrize("convention", ["tensorflow", "theano"])
def test_theano_order_is_told_by_the_whole_file_where_a_kernel_fits_both_orders(tmp_path, convention):
    """Of the default network ahat_0 is (3, 3, 3, 3): read in the wrong order it would load without an error."""
    model = PredNet(PredNetConfig((3, 4, 5), convention=convention), seed=4)
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json")
    with h5py.File(tmp_path / "w.hdf5", "r+") as file:
        group = file["pred_net_1"]
        for name in [n.decode() for n in group.attrs["weight_names"] if b"kernel" in n]:
            kernel = group[name][()].transpose(3, 2, 0, 1)
            del group[name]
            group[name] = kernel
    loaded = load_keras_weights(tmp_path / "w.hdf5", convention=convention)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name


@pytest.mark.parametrize("convention", ["tensorflow", "theano"])
def test_round_trip_is_exact(tmp_path, convention):
    config = PredNetConfig((3, 4, 5), (2, 6, 3), (2, 5), (4, 1, 6), (8, 2, 3), convention=convention)
    model = PredNet(config, seed=4)
    save_keras_weights(model, tmp_path / "w.hdf5", tmp_path / "w.json")
    loaded = load_keras_weights(tmp_path / "w.hdf5")
    assert loaded.config == config
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.hdf5", "w.json"]


def test_the_written_order_is_that_of_keras(tmp_path):
    save_keras_weights(PredNet(PredNetConfig((3, 4))), tmp_path / "w.hdf5", tmp_path / "w.json")
    with h5py.File(tmp_path / "w.hdf5") as file:
        names = [name.decode() for name in file["pred_net_1"].attrs["weight_names"]]
        assert file["pred_net_1/layer_c_0/kernel:0"].shape == (3, 3, 3 + 6 + 4, 3)
    layers = ["a_0", "ahat_0", "ahat_1", "c_0", "c_1", "f_0", "f_1", "i_0", "i_1", "o_0", "o_1"]
    assert names == [f"layer_{layer}/{part}:0" for layer in layers for part in ("kernel", "bias")]


def test_files_that_do_not_fit_are_refused(tmp_path, case):
    with pytest.raises(CheckpointError, match="no weights at"):
        load_keras_weights(tmp_path / "none.hdf5")
    (tmp_path / "text.hdf5").write_text("not HDF5")
    with pytest.raises(CheckpointError, match="can't be read as Keras weights"):
        load_keras_weights(tmp_path / "text.hdf5")
    write_hdf5(tmp_path / "dense.hdf5", {"dense/kernel": np.ones((2, 2))}, group="dense_1")
    with pytest.raises(CheckpointError, match=r"no PredNet layer.*dense_1"):
        load_keras_weights(tmp_path / "dense.hdf5")
    few = dict(list(case.keras.items())[:-2])
    write_hdf5(tmp_path / "few.hdf5", few)
    with pytest.raises(CheckpointError, match="32 arrays"):
        load_keras_weights(tmp_path / "few.hdf5")
    write_hdf5(tmp_path / "w.hdf5", case.keras)
    write_json(tmp_path / "w.json", keras_layer(case.settings) | {"stack_sizes": [3, 6, 9]})
    with pytest.raises(CheckpointError, match=r"has shape .*belongs to other weights"):
        load_keras_weights(tmp_path / "w.hdf5")
    write_json(tmp_path / "w.json", keras_layer(case.settings, LSTM_inner_activation="sigmoid"))
    with pytest.raises(CheckpointError, match="LSTM_inner_activation 'sigmoid'"):
        load_keras_weights(tmp_path / "w.hdf5")
    (tmp_path / "w.json").write_text("{}")
    with pytest.raises(CheckpointError, match="describes no PredNet"):
        load_keras_weights(tmp_path / "w.hdf5")
