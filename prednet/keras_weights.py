"""Weights in the layout of the original Keras code: `*.hdf5` with a `*.json` beside it.

The group of the PredNet layer lists its arrays in `weight_names`: a_0.., ahat_0.., c_0.., f_0.., i_0.., o_0.., kernel
then bias of each. Kernels are (kh, kw, in, out); Keras 1 with Theano's dimension order wrote (out, in, kh, kw). A
network trained with Theano convolves with flipped kernels and pads even filters on the other side:
`convention="theano"`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import torch
from numpy.typing import NDArray

from prednet.config import Convention, PredNetConfig
from prednet.errors import CheckpointError, ModelError
from prednet.model import PredNet, SameConv2d

GATES = ("i", "f", "o", "c")  # rows of our fused gate kernel; Keras calls the candidate g "c"


def load_keras_weights(
    weights: Path, architecture: Path | None = None, *, convention: Convention | None = None
) -> PredNet:
    """A network from the original code's weights, in float32.

    Args:
        weights: the `.hdf5` file.
        architecture: the `.json` file; None: the one beside the weights (prednet_kitti_weights.hdf5 looks for
            prednet_kitti_weights.json and prednet_kitti_model.json), or else sizes are read off the kernels.
        convention: None: `theano` when the files say that Theano wrote them, otherwise `tensorflow`.

    Raises:
        CheckpointError: when a file is missing, unreadable, or its arrays don't fit the architecture.
    """
    weights = Path(weights)
    layer = _read_architecture(architecture or _find_architecture(weights))
    arrays, backend = _read_arrays(weights)
    named = _name_arrays(arrays, weights)
    if convention is None:
        theano = backend == "theano" or (backend is None and layer.get("dim_ordering") == "th")
        convention = "theano" if theano else "tensorflow"
    config = _configuration(layer, named, convention, weights)
    model = PredNet(config)
    with torch.no_grad():
        channels_first = _is_channels_first(model, named)
        for name, conv, rows in _blocks(model):
            like = conv.weight[rows]
            kernel = _to_torch(named[f"{name}/kernel"], like, f"{weights}: {name}", channels_first=channels_first)
            kernel = kernel[:, :, ::-1, ::-1] if convention == "theano" else kernel
            conv.weight[rows] = torch.from_numpy(np.ascontiguousarray(kernel))
            conv.bias[rows] = torch.from_numpy(named[f"{name}/bias"])
    return model


def save_keras_weights(model: PredNet, weights: Path, architecture: Path) -> None:
    """Write a network as the original code does; `load_keras_weights` gives back exactly the same weights."""
    theano = model.config.convention == "theano"
    named = {}
    for name, conv, rows in _blocks(model):
        kernel = conv.weight.detach()[rows].float().cpu().numpy()
        kernel = kernel[:, :, ::-1, ::-1] if theano else kernel
        named[f"layer_{name}/kernel:0"] = kernel.transpose(2, 3, 1, 0)
        named[f"layer_{name}/bias:0"] = conv.bias.detach()[rows].float().cpu().numpy()
    partial, partial_json = (path.with_name(path.name + ".tmp") for path in (Path(weights), Path(architecture)))
    with h5py.File(partial, "w") as file:
        file.attrs["layer_names"] = [np.bytes_("pred_net_1")]
        file.attrs["backend"] = np.bytes_(model.config.convention)
        group = file.create_group("pred_net_1")
        group.attrs["weight_names"] = [np.bytes_(name) for name in named]
        for name, array in named.items():
            group.create_dataset(name, data=array)
    layer = {"class_name": "PredNet", "config": _to_layer(model.config)}
    document = {"class_name": "Model", "config": {"name": "model_1", "layers": [layer]}}
    partial_json.write_text(json.dumps(document, indent=1))
    partial.replace(weights)
    partial_json.replace(architecture)


def _to_layer(config: PredNetConfig) -> dict[str, Any]:
    return {
        "name": "pred_net_1",
        "stack_sizes": list(config.stack_sizes),
        "R_stack_sizes": list(config.r_stack_sizes),
        "A_filt_sizes": list(config.a_filter_sizes),
        "Ahat_filt_sizes": list(config.ahat_filter_sizes),
        "R_filt_sizes": list(config.r_filter_sizes),
        "pixel_max": config.pixel_max,
        "error_activation": "relu",
        "A_activation": "relu",
        "LSTM_activation": "tanh",
        "LSTM_inner_activation": "hard_sigmoid",
        "output_mode": "error",
        "extrap_start_time": None,
        "data_format": "channels_last",
    }


def _find_architecture(weights: Path) -> Path | None:
    beside = weights.with_suffix(".json")
    released = weights.with_name(weights.name.replace("weights", "model")).with_suffix(".json")
    return next((path for path in (beside, released) if path.is_file()), None)


def _read_architecture(path: Path | None) -> dict[str, Any]:
    """Settings of the PredNet layer in a Keras model file; empty without a file."""
    if path is None:
        return {}
    try:
        document = json.loads(Path(path).read_text())
        # Keras 1 and 2 keep the layers under config.layers; a Sequential model is a bare list.
        layers = document["config"]["layers"] if "layers" in document["config"] else document["config"]
        layer = next(layer["config"] for layer in layers if layer["class_name"] == "PredNet")
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise CheckpointError(
            f"{path} describes no PredNet ({type(error).__name__}): give the .json that Keras wrote with the weights"
        ) from error
    expected = {"error_activation": "relu", "A_activation": "relu", "LSTM_activation": "tanh"}
    expected["LSTM_inner_activation"] = "hard_sigmoid"
    for name, value in expected.items():
        if layer.get(name, value) != value:
            raise CheckpointError(f"{path} has {name} {layer[name]!r}: only {value!r} is supported")
    return layer


def _read_arrays(path: Path) -> tuple[list[tuple[str, NDArray[np.float32]]], str | None]:
    """(name, array) of the PredNet layer in the order of the file, and the backend that it names, if any."""
    if not path.is_file():
        raise CheckpointError(f"there are no weights at {path}: check the path (ls {path.parent})")
    try:
        with h5py.File(path, "r") as file:
            root = file.get("model_weights", file)
            backend = root.attrs.get("backend")
            for name, group in root.items():
                is_prednet = "pred" in name.lower() and "net" in name.lower()
                names = [_text(n) for n in group.attrs.get("weight_names", [])] if is_prednet else []
                if names:
                    arrays = [(n, np.asarray(group[n], dtype=np.float32)) for n in names]
                    return arrays, None if backend is None else _text(backend)
            found = ", ".join(root) or "nothing"
    except (OSError, KeyError) as error:
        raise CheckpointError(f"{path} can't be read as Keras weights ({error}): give the .hdf5 file") from error
    raise CheckpointError(f"{path} has no PredNet layer (it holds {found}): give weights of a PredNet")


def _name_arrays(arrays: list[tuple[str, NDArray[np.float32]]], path: Path) -> dict[str, NDArray[np.float32]]:
    """Arrays by `a_0/kernel`, ..., from their names, or from their order where the names say nothing."""
    layers, rest = divmod(len(arrays) // 2 + 1, 6)
    if rest or len(arrays) % 2 or layers < 1:
        raise CheckpointError(f"{path} holds {len(arrays)} arrays: a PredNet of L layers has 12 L - 2")
    order = [f"a_{n}" for n in range(layers - 1)]
    order += [f"{kind}_{n}" for kind in ("ahat", "c", "f", "i", "o") for n in range(layers)]
    parsed = [re.search(r"(?:^|[/_])(ahat|a|c|f|i|o)_(\d+)(?:[/_]|$)", name) for name, _ in arrays]
    kernels = [match and f"{match[1]}_{match[2]}" for match in parsed[::2]]
    if sorted(str(kernel) for kernel in kernels) == sorted(order):
        order = [str(kernel) for kernel in kernels]
    named = {}
    for name, (_, kernel), (_, bias) in zip(order, arrays[::2], arrays[1::2], strict=True):
        named[f"{name}/kernel"], named[f"{name}/bias"] = kernel, bias
        if kernel.ndim != 4 or bias.ndim != 1:
            raise CheckpointError(f"{path}: {name} has shapes {kernel.shape} and {bias.shape}: not kernel and bias")
    return named


def _configuration(
    layer: dict[str, Any], named: dict[str, NDArray[np.float32]], convention: Convention, path: Path
) -> PredNetConfig:
    """The architecture as the JSON file says, or else as the arrays show."""
    n_layers = sum(name.startswith("ahat_") and name.endswith("/bias") for name in named)
    every, lower = range(n_layers), range(n_layers - 1)

    def sizes(key: str, shown: list[int]) -> tuple[int, ...]:
        return tuple(layer.get(key, shown))

    def filters(kind: str, layers: range) -> list[int]:
        # A square filter is the pair of equal axes: the first two, or the last two in Theano's order.
        shapes = [named[f"{kind}_{n}/kernel"].shape for n in layers]
        outputs = [len(named[f"{kind}_{n}/bias"]) for n in layers]
        return [s[0] if s[0] == s[1] and s[3] == out else s[2] for s, out in zip(shapes, outputs, strict=True)]

    try:
        return PredNetConfig(
            stack_sizes=sizes("stack_sizes", [len(named[f"ahat_{n}/bias"]) for n in every]),
            r_stack_sizes=sizes("R_stack_sizes", [len(named[f"i_{n}/bias"]) for n in every]),
            a_filter_sizes=sizes("A_filt_sizes", filters("a", lower)),
            ahat_filter_sizes=sizes("Ahat_filt_sizes", filters("ahat", every)),
            r_filter_sizes=sizes("R_filt_sizes", filters("i", every)),
            pixel_max=float(layer.get("pixel_max", 1.0)),
            convention=convention,
        )
    except ModelError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _blocks(model: PredNet) -> list[tuple[str, SameConv2d, slice]]:
    """(Keras name, convolution, rows of its kernel) in the order of Keras."""
    r = model.config.r_stack_sizes
    a, ahat, gates = ([cast(SameConv2d, conv) for conv in part] for part in (model.a, model.ahat, model.gates))
    blocks = [(f"a_{n}", conv, slice(None)) for n, conv in enumerate(a)]
    blocks += [(f"ahat_{n}", conv, slice(None)) for n, conv in enumerate(ahat)]
    for gate in sorted(GATES):
        row = GATES.index(gate)
        blocks += [(f"{gate}_{n}", conv, slice(row * r[n], (row + 1) * r[n])) for n, conv in enumerate(gates)]
    return blocks


def _is_channels_first(model: PredNet, named: dict[str, NDArray[np.float32]]) -> bool:
    """Whether the file's arrays are (out, in, kh, kw), by the first kernel whose shape fits one order only.

    Square kernels between equal channels (3, 3, 3, 3) fit both, and say nothing.
    """
    for name, conv, rows in _blocks(model):
        outputs, inputs, height, width = conv.weight[rows].shape
        shape = named[f"{name}/kernel"].shape
        first, last = shape == (outputs, inputs, height, width), shape == (height, width, inputs, outputs)
        if first != last:
            return first
    return False


def _to_torch(
    kernel: NDArray[np.float32], like: torch.Tensor, where: str, *, channels_first: bool
) -> NDArray[np.float32]:
    """A Keras kernel as (out, in, kh, kw)."""
    outputs, inputs, height, width = like.shape
    if not channels_first and kernel.shape == (height, width, inputs, outputs):
        return kernel.transpose(3, 2, 0, 1)
    if channels_first and kernel.shape == (outputs, inputs, height, width):
        return kernel
    raise CheckpointError(
        f"{where} has shape {kernel.shape}, the architecture needs {(height, width, inputs, outputs)}: "
        "the .json belongs to other weights"
    )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
