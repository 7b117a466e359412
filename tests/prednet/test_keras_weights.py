"""Files written here with h5py, in exactly the layouts of Keras; no code is shared with the reader."""

import json

import h5py
import numpy as np
import pytest
import torch

from prednet.errors import CheckpointError
from prednet.keras_weights import load_keras_weights

SIZES = ("stack_sizes", "R_stack_sizes", "A_filt_sizes", "Ahat_filt_sizes", "R_filt_sizes")


def keras_model(settings, *, top=None, **extra):
    """What `model.to_json()` gives for the training graph: clips -> PredNet -> weighted errors."""
    prednet = {name: settings[name] for name in SIZES} | {
        "name": "pred_net_1",
        "pixel_max": 1.0,
        "error_activation": "relu",
        "A_activation": "relu",
        "LSTM_activation": "tanh",
        "LSTM_inner_activation": "hard_sigmoid",
        "output_mode": "error",
        "return_sequences": True,
        "extrap_start_time": None,
    }
    layers = [
        {"class_name": "InputLayer", "name": "input_1", "config": {"batch_input_shape": [None, 10, 16, 24, 3]}},
        {"class_name": "PredNet", "name": "pred_net_1", "config": prednet | extra},
        {"class_name": "TimeDistributed", "config": {"layer": {"class_name": "Dense", "config": {"units": 1}}}},
        {"class_name": "Flatten", "config": {"name": "flatten_1"}},
        {"class_name": "Dense", "config": {"name": "dense_2", "units": 1}},
    ]
    return {"class_name": "Model", "config": {"name": "model_1", "layers": layers}} | (top or {})


def write_json(path, settings, **extra):
    path.write_text(json.dumps(keras_model(settings, **extra)))


def keras_1_names(n_layers, suffix):
    """Keras 1 counts convolutions as the original code makes them, and lists them by kind, then by layer."""
    made = [
        f"{kind}_{n}"
        for n in range(n_layers)
        for kind in ("i", "f", "c", "o", "ahat", "a")
        if kind != "a" or n < n_layers - 1
    ]
    listed = sorted(made, key=lambda name: (name.split("_")[0], int(name.split("_")[1])))
    return [f"convolution2d_{made.index(name) + 1}_{part}{suffix}" for name in listed for part in ("W", "b")]


def write_hdf5(path, arrays, names=None, *, kernel=lambda array: array, group="pred_net_1", root=None, **attributes):
    """Arrays in the order of Keras, with the other layers of the training graph beside them."""
    names = names or [f"{group}/{name}:0" for name in arrays]
    with h5py.File(path, "w") as file:
        top = file.create_group(root) if root else file
        top.attrs["layer_names"] = [b"input_1", group.encode(), b"time_distributed_1", b"flatten_1", b"dense_2"]
        for holder in {file, top}:
            for name, value in attributes.items():
                holder.attrs[name] = value.encode()
        for empty in ("input_1", "flatten_1"):
            top.create_group(empty).attrs["weight_names"] = np.array([], dtype="S1")
        for dense, rows in (("time_distributed_1", 3), ("dense_2", 10)):
            other = top.create_group(dense)
            other.attrs["weight_names"] = [f"{dense}/kernel:0".encode(), f"{dense}/bias:0".encode()]
            other[f"{dense}/kernel:0"], other[f"{dense}/bias:0"] = np.ones((rows, 1)), np.zeros(1)
        layer = top.create_group(group)
        layer.attrs["weight_names"] = [name.encode() for name in names]
        for name, array in zip(names, arrays.values(), strict=True):
            layer[name] = kernel(array) if array.ndim == 4 else array
        if root:
            file.create_group("optimizer_weights").attrs["weight_names"] = [b"Adam/iterations:0"]


@pytest.fixture
def case(oracle):
    """The even parity file: real weights of the original code, in its own order and layout."""
    loaded = oracle("even")
    loaded.keras = {name: loaded.arrays[f"w/{name}"] for name in loaded.weight_names}
    return loaded


def assert_computes_what_keras_recorded(model, case):
    assert model.config == case.model.config
    with torch.no_grad():
        errors = model.double()(case.frames).errors.numpy()
    np.testing.assert_allclose(errors, case.arrays["error"], rtol=0, atol=1e-10)


def assert_flipped(model, case):
    """Theano's kernels are those of the file, flipped; `tests/prednet/test_loops.py` shows that this is right."""
    assert model.config.convention == "theano"
    for n in range(2):
        expected = case.keras[f"layer_a_{n}/kernel"][::-1, ::-1].transpose(3, 2, 0, 1)
        np.testing.assert_array_equal(model.a[n].weight.detach(), expected)


def test_keras_2_weights_with_their_json(tmp_path, case):
    write_json(tmp_path / "w.json", case.settings, data_format="channels_last")
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend="tensorflow", keras_version="2.2.4")
    assert_computes_what_keras_recorded(load_keras_weights(tmp_path / "w.hdf5"), case)


def test_keras_2_under_theano(tmp_path, case):
    """(kh, kw, in, out) as under TensorFlow, but flipped."""
    write_json(tmp_path / "w.json", case.settings, data_format="channels_first", top={"backend": "theano"})
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend="theano", keras_version="2.0.6")
    assert_flipped(load_keras_weights(tmp_path / "w.hdf5"), case)


@pytest.mark.parametrize("keras", ["1", "2"])
def test_a_whole_model_carries_its_architecture(tmp_path, case, keras):
    said = {} if keras == "1" else {"backend": "tensorflow"}
    model_config = json.dumps(keras_model(case.settings, pixel_max=0.5))
    names = keras_1_names(3, ":0") if keras == "1" else None
    write_hdf5(tmp_path / "w.h5", case.keras, names, root="model_weights", model_config=model_config, **said)
    write_json(tmp_path / "w.json", case.settings | {"stack_sizes": [3, 1, 1]})  # of another network
    assert load_keras_weights(tmp_path / "w.h5").config.pixel_max == 0.5
    assert load_keras_weights(tmp_path / "w.h5").config.convention == "tensorflow"


def test_the_release_of_2016(tmp_path, case):
    """Keras 1 with Theano: (out, in, kh, kw) kernels, names of convolutions, no backend named."""
    write_json(tmp_path / "prednet_kitti_model.json", case.settings, dim_ordering="th", top={"keras_version": "1.0.7"})
    names = keras_1_names(3, "")
    assert names[:2] == ["convolution2d_6_W", "convolution2d_6_b"]
    for tag in ("", "-Lall"):
        weights = tmp_path / f"prednet_kitti_weights{tag}.hdf5"
        write_hdf5(weights, case.keras, names, kernel=lambda k: k.transpose(3, 2, 0, 1))
        assert_flipped(load_keras_weights(weights), case)
    (tmp_path / "prednet_kitti_model.json").unlink()
    assert_flipped(load_keras_weights(weights), case)


def test_keras_1_under_tensorflow(tmp_path, case):
    write_json(tmp_path / "w.json", case.settings, dim_ordering="tf", top={"keras_version": "1.2.1"})
    write_hdf5(tmp_path / "w.hdf5", case.keras, keras_1_names(3, ":0"))
    assert_computes_what_keras_recorded(load_keras_weights(tmp_path / "w.hdf5"), case)


def test_the_json_one_folder_up_serves_the_weights_of_each_backend(tmp_path, case):
    """As the later release has it: tensorflow_weights/ beside the one prednet_kitti_model.json, which Theano wrote."""
    write_json(tmp_path / "prednet_kitti_model.json", case.settings, top={"backend": "theano"}, pixel_max=0.5)
    (tmp_path / "tensorflow_weights").mkdir()
    weights = tmp_path / "tensorflow_weights" / "prednet_kitti_weights.hdf5"
    write_hdf5(weights, case.keras, backend="tensorflow")
    config = load_keras_weights(weights).config
    assert (config.convention, config.pixel_max) == ("tensorflow", 0.5)
    write_hdf5(weights, case.keras)  # `:0` behind the names says TensorFlow too
    assert load_keras_weights(weights).config.convention == "tensorflow"


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 0, 1)])
def test_sizes_are_those_of_the_kernels_without_a_json(tmp_path, case, order):
    write_hdf5(tmp_path / "w.hdf5", case.keras, kernel=lambda k: k.transpose(order), group="prednet_1")
    assert_computes_what_keras_recorded(load_keras_weights(tmp_path / "w.hdf5"), case)


def test_nameless_arrays_are_taken_in_the_order_of_keras(tmp_path, case):
    names = [f"param_{index}" for index in range(len(case.keras))]
    write_hdf5(tmp_path / "w.hdf5", case.keras, names)
    assert_computes_what_keras_recorded(load_keras_weights(tmp_path / "w.hdf5"), case)
    for said in ({"dim_ordering": "th"}, {"top": {"backend": "theano"}}):
        write_json(tmp_path / "w.json", case.settings, **said)
        assert_flipped(load_keras_weights(tmp_path / "w.hdf5"), case)


def test_names_win_over_the_order(tmp_path, case):
    pairs = [list(case.keras)[n : n + 2] for n in range(0, len(case.keras), 2)]
    shuffled = {name: case.keras[name] for pair in reversed(pairs) for name in pair}
    write_hdf5(tmp_path / "w.hdf5", shuffled)
    assert_computes_what_keras_recorded(load_keras_weights(tmp_path / "w.hdf5"), case)


def test_the_convention_that_is_given_wins(tmp_path, case):
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend="tensorflow")
    assert_flipped(load_keras_weights(tmp_path / "w.hdf5", convention="theano"), case)
    write_hdf5(tmp_path / "w.hdf5", case.keras, backend="theano")
    model = load_keras_weights(tmp_path / "w.hdf5", convention="tensorflow")
    assert_computes_what_keras_recorded(model, case)


def changed(arrays, name, value):
    return arrays | {name: value}


A0 = "layer_a_0/kernel"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: dict(list(w.items())[:-2]), "holds 32 arrays: a PredNet of L layers has 12 L - 2"),
        (lambda w: changed(w, A0, w[A0][0]), r"a_0 has shapes .* not kernel and bias"),
        (lambda w: changed(w, A0, w[A0][:1]), r"a_0/kernel has shape \(1, 2, 6, 6\).*expected square filters"),
        (lambda w: changed(w, A0, w[A0][:, :, :5]), r"a_0 has 5 inputs.*need 6.*mixes two networks"),
        (lambda w: changed(w, "layer_c_0/kernel", w["layer_c_1/kernel"]), "c_0/kernel has shape"),
        (lambda w: changed(w, A0, np.full_like(w[A0], np.nan)), "a_0/kernel:0 holds NaN or infinity"),
        (lambda w: changed(w, A0, np.zeros((9, 9, 6, 6))), r"a_filter_sizes holds \[9\].*from 1 to 8"),
        (lambda w: changed(w, A0, np.array(["text"], dtype="S4")), "can't be read as Keras weights"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, case, change, said):
    write_hdf5(tmp_path / "w.hdf5", change(case.keras))
    with pytest.raises(CheckpointError, match=said):
        load_keras_weights(tmp_path / "w.hdf5")


def test_files_that_hold_no_prednet_are_refused(tmp_path, case):
    path = tmp_path / "w.hdf5"
    with pytest.raises(CheckpointError, match="there are no weights at"):
        load_keras_weights(path)
    path.write_text("not HDF5")
    with pytest.raises(CheckpointError, match=r"\(8 bytes\) can't be read as Keras weights"):
        load_keras_weights(path)
    write_hdf5(path, case.keras, group="conv_lstm2d_1")
    with pytest.raises(CheckpointError, match=r"no PredNet layer.*conv_lstm2d_1"):
        load_keras_weights(path)
    write_hdf5(path, case.keras)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="damaged or another"):
        load_keras_weights(path)
    write_hdf5(path, case.keras)
    with h5py.File(path, "r+") as file:
        del file["pred_net_1/pred_net_1/layer_o_2"]
    with pytest.raises(CheckpointError, match="can't be read as Keras weights"):
        load_keras_weights(path)
    write_hdf5(path, case.keras)
    with h5py.File(path, "r+") as file:
        file.copy("pred_net_1", "pred_net_2")
    with pytest.raises(CheckpointError, match=r"2 PredNet layers.*pred_net_2"):
        load_keras_weights(path)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"LSTM_inner_activation": "sigmoid"}, "LSTM_inner_activation 'sigmoid': only 'hard_sigmoid'"),
        ({"A_activation": "elu"}, "A_activation 'elu': only 'relu'"),
        ({"stack_sizes": [3, 6, 9]}, r"w.json has stack_sizes \[3, 6, 9\].*w.hdf5 show \[3, 6, 8\].*two networks"),
        ({"R_filt_sizes": [3, 3, 3]}, r"R_filt_sizes \[3, 3, 3\].*two networks"),
        ({"pixel_max": 0}, "pixel_max is 0"),
        ({"pixel_max": None}, "w.json"),
    ],
)
def test_an_architecture_that_does_not_fit_is_refused(tmp_path, case, settings, said):
    write_hdf5(tmp_path / "w.hdf5", case.keras)
    write_json(tmp_path / "w.json", case.settings, **settings)
    with pytest.raises(CheckpointError, match=said):
        load_keras_weights(tmp_path / "w.hdf5")


@pytest.mark.parametrize("text", ["{}", "{", "[]", '{"config": {"layers": [{"class_name": "Dense"}]}}'])
def test_a_json_without_a_prednet_is_refused(tmp_path, case, text):
    write_hdf5(tmp_path / "w.hdf5", case.keras)
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"w.json describes no PredNet"):
        load_keras_weights(tmp_path / "w.hdf5")
    with pytest.raises(CheckpointError, match=r"other.json describes no PredNet \(FileNotFoundError\)"):
        load_keras_weights(tmp_path / "w.hdf5", tmp_path / "other.json")
