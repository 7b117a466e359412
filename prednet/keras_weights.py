"""Weights of the original Keras code -> a network. Neither Keras nor TensorFlow is needed.

The group of the PredNet layer lists its arrays in the attribute `weight_names`: a_0.., ahat_0.., c_0.., f_0..,
i_0.., o_0.., kernel then bias of each. What is around them depends on who wrote the file:

- Keras 1 (the release of 2016): arrays named by creation, `convolution2d_6_W`, with `:0` behind it under TensorFlow;
  kernels (out, in, kh, kw) for `dim_ordering` "th", (kh, kw, in, out) for "tf"; the architecture in a .json file.
- Keras 2, `save_weights`: `pred_net_1/layer_a_0/kernel:0`, kernels (kh, kw, in, out), the backend as an attribute.
- `model.save` and `ModelCheckpoint`: the same below a group `model_weights`, the architecture in `model_config`.

A network trained with Theano convolves with flipped kernels and pads even filters on the other side:
`convention="theano"`. `prednet.keras_export` writes such files.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
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
SIZES = {
    "stack_sizes": "stack_sizes",
    "R_stack_sizes": "r_stack_sizes",
    "A_filt_sizes": "a_filter_sizes",
    "Ahat_filt_sizes": "ahat_filter_sizes",
    "R_filt_sizes": "r_filter_sizes",
}
ACTIVATIONS = {
    "error_activation": "relu",
    "A_activation": "relu",
    "LSTM_activation": "tanh",
    "LSTM_inner_activation": "hard_sigmoid",
}
Arrays = dict[str, NDArray[np.float32]]


def load_keras_weights(
    weights: Path, architecture: Path | None = None, *, convention: Convention | None = None
) -> PredNet:
    """A network from the original code's weights, in float32.

    Args:
        weights: the `.hdf5` file.
        architecture: the `.json` file. None: what the weights carry themselves, or the .json beside them or one
            folder up (w.hdf5: w.json; prednet_kitti_weights-Lall.hdf5: prednet_kitti_model.json too), or nothing:
            sizes are those of the kernels, and pixel_max is 1.
        convention: None: `theano` when the files show that Theano wrote them, otherwise `tensorflow`.

    Raises:
        CheckpointError: when a file is missing, unreadable or damaged, holds no PredNet or one that isn't the
            original (other activations), or when weights and architecture are of two networks.
    """
    weights = Path(weights)
    stored = _read_weights(weights)
    settings = _read_architecture(weights, architecture, stored.model_config)
    arrays = _channels_first(_name_arrays(stored, weights), weights)
    config = _configuration(arrays, settings, convention or _convention(stored, settings), weights)
    model = PredNet(config)
    with torch.no_grad():
        for name, conv, rows in convolutions(model):
            kernel, bias = arrays[f"{name}/kernel"], arrays[f"{name}/bias"]
            if kernel.shape != conv.weight[rows].shape or bias.shape != conv.bias[rows].shape:
                raise CheckpointError(
                    f"{weights}: {name} has {kernel.shape[1]} inputs and filters of {kernel.shape[2]}, where the other "
                    f"arrays need {conv.weight.shape[1]} and {conv.weight.shape[2]}: the file mixes two networks"
                )
            kernel = kernel[:, :, ::-1, ::-1] if config.convention == "theano" else kernel
            conv.weight[rows] = torch.from_numpy(kernel.copy())
            conv.bias[rows] = torch.from_numpy(bias)
    return model


def convolutions(model: PredNet) -> list[tuple[str, SameConv2d, slice]]:
    """(Keras name, convolution, rows of its kernel) in the order of Keras."""
    r = model.config.r_stack_sizes
    a, ahat, gates = ([cast(SameConv2d, conv) for conv in part] for part in (model.a, model.ahat, model.gates))
    found = [(f"a_{n}", conv, slice(None)) for n, conv in enumerate(a)]
    found += [(f"ahat_{n}", conv, slice(None)) for n, conv in enumerate(ahat)]
    for gate in sorted(GATES):
        row = GATES.index(gate)
        found += [(f"{gate}_{n}", conv, slice(row * r[n], (row + 1) * r[n])) for n, conv in enumerate(gates)]
    return found


@dataclass(frozen=True)
class _Stored:
    """The PredNet layer of a file of weights: names and arrays in its order, and what it says about itself."""

    names: list[str]
    arrays: list[NDArray[np.float32]]
    backend: str | None
    model_config: str | None


def _read_weights(path: Path) -> _Stored:
    if not path.is_file():
        raise CheckpointError(f"there are no weights at {path}: check the path (ls {path.parent})")
    try:
        with h5py.File(path, "r") as file:
            root = file.get("model_weights", file)
            layers = {name: [_text(n) for n in group.attrs.get("weight_names", [])] for name, group in root.items()}
            prednets = [name for name, names in layers.items() if names and re.search("pred_?net", name.lower())]
            if len(prednets) != 1:
                what = f"{len(prednets)} PredNet layers" if prednets else "no PredNet layer"
                raise CheckpointError(
                    f"{path} has {what} (it holds {', '.join(layers) or 'nothing'}): give weights of one PredNet"
                )
            names = layers[prednets[0]]
            arrays = [np.asarray(root[prednets[0]][name], dtype=np.float32) for name in names]
            backend, model_config = root.attrs.get("backend", file.attrs.get("backend")), file.attrs.get("model_config")
    except (OSError, KeyError, AttributeError, RuntimeError, TypeError) as error:
        raise CheckpointError(
            f"{path} ({path.stat().st_size} bytes) can't be read as Keras weights ({error}): it is damaged or another "
            "kind of file; give the .hdf5 that Keras wrote, downloaded or copied again"
        ) from error
    if bad := [name for name, array in zip(names, arrays, strict=True) if not np.isfinite(array).all()]:
        raise CheckpointError(f"{path}: {bad[0]} holds NaN or infinity: the training diverged or the file is damaged")
    return _Stored(names, arrays, *(None if value is None else _text(value) for value in (backend, model_config)))


def _read_architecture(weights: Path, given: Path | None, model_config: str | None) -> dict[str, Any]:
    """Settings of the PredNet layer, with the `backend` that its file names; only `source` where there is no file."""
    path = given or (None if model_config else _find_architecture(weights))
    if path is None and model_config is None:
        return {"source": "no .json"}
    source = f"the attribute model_config of {weights}" if path is None else str(path)
    try:
        document = json.loads(model_config or "" if path is None else Path(path).read_text())
        # Keras keeps the layers under config.layers; in older files of a Sequential model config is a bare list.
        layers = document["config"]["layers"] if "layers" in document["config"] else document["config"]
        settings = next(layer["config"] for layer in layers if layer["class_name"] == "PredNet")
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise CheckpointError(
            f"{source} describes no PredNet ({type(error).__name__}): give the .json that Keras wrote with the weights"
        ) from error
    for name, value in ACTIVATIONS.items():
        if settings.get(name, value) != value:
            raise CheckpointError(f"{source} has {name} {settings[name]!r}: only {value!r} is supported")
    return {"backend": document.get("backend"), **settings, "source": source}


def _find_architecture(weights: Path) -> Path | None:
    """w.json, or as in the release: prednet_kitti_model.json for prednet_kitti_weights-Lall.hdf5, maybe a folder up."""
    candidates = [weights.with_suffix(".json")]
    before, is_released, tag = weights.stem.partition("weights")
    if is_released:
        folders = (weights.parent, weights.absolute().parent.parent)
        candidates += [folder / f"{before}model{end}.json" for folder in folders for end in (tag, "")]
    return next((path for path in candidates if path.is_file()), None)


def _convention(stored: _Stored, settings: dict[str, Any]) -> Convention:
    """Which backend convolved. Keras 1 doesn't say, but TensorFlow ends every name in `:0`, and Theano none."""
    backend = stored.backend
    if backend is None and all(name.endswith(":0") for name in stored.names):
        backend = "tensorflow"
    if backend is None and all(re.search("_[Wb]$", name) for name in stored.names):
        backend = "theano"
    backend = backend or settings.get("backend") or ("theano" if settings.get("dim_ordering") == "th" else None)
    return "theano" if backend == "theano" else "tensorflow"


def _name_arrays(stored: _Stored, path: Path) -> Arrays:
    """Arrays by `a_0/kernel`, ..., from their names, or from their order where the names say nothing."""
    names, arrays = stored.names, stored.arrays
    layers, rest = divmod(len(arrays) // 2 + 1, 6)
    if rest or len(arrays) % 2 or layers < 1:
        raise CheckpointError(f"{path} holds {len(arrays)} arrays: a PredNet of L layers has 12 L - 2")
    order = [f"a_{n}" for n in range(layers - 1)]
    order += [f"{kind}_{n}" for kind in ("ahat", "c", "f", "i", "o") for n in range(layers)]
    parsed = [re.search(r"(?:^|[/_])(ahat|a|c|f|i|o)_(\d+)(?:[/_]|$)", name) for name in names[::2]]
    told = [f"{match[1]}_{match[2]}" if match else "" for match in parsed]
    if sorted(told) == sorted(order):
        order = told
    named = {}
    for name, kernel, bias in zip(order, arrays[::2], arrays[1::2], strict=True):
        if kernel.ndim != 4 or bias.ndim != 1:
            raise CheckpointError(f"{path}: {name} has shapes {kernel.shape} and {bias.shape}: not kernel and bias")
        named[f"{name}/kernel"], named[f"{name}/bias"] = kernel, bias
    return named


def _channels_first(arrays: Arrays, path: Path) -> Arrays:
    """All kernels as (out, in, kh, kw).

    One order must fit the whole file: a single kernel, such as (3, 3, 3, 3), may fit both. Those of the gates never
    do, since they read more channels than they make.
    """
    kernels = {name: kernel for name, kernel in arrays.items() if kernel.ndim == 4}
    outputs = {name: len(arrays[name.replace("kernel", "bias")]) for name in kernels}
    misfits: list[list[str]] = []
    for order in ((3, 2, 0, 1), (0, 1, 2, 3)):
        turned = {name: kernel.transpose(order) for name, kernel in kernels.items()}
        misfits.append([n for n, k in turned.items() if k.shape[0] != outputs[n] or k.shape[2] != k.shape[3]])
        if not misfits[-1]:
            return arrays | turned
    name = min(misfits, key=len)[0]
    raise CheckpointError(
        f"{path}: {name} has shape {arrays[name].shape} and its bias {outputs[name]} numbers: expected square filters "
        "as (kh, kw, in, out) or (out, in, kh, kw), the same order in the whole file"
    )


def _configuration(arrays: Arrays, settings: dict[str, Any], convention: Convention, path: Path) -> PredNetConfig:
    """The architecture that the kernels show; what the .json says must agree."""

    def shown(kind: str, axis: int) -> tuple[int, ...]:
        layers = sum(bool(re.fullmatch(rf"{kind}_\d+/kernel", name)) for name in arrays)
        return tuple(arrays[f"{kind}_{n}/kernel"].shape[axis] for n in range(layers))

    try:
        config = PredNetConfig(
            stack_sizes=shown("ahat", 0),
            r_stack_sizes=shown("i", 0),
            a_filter_sizes=shown("a", 2),
            ahat_filter_sizes=shown("ahat", 2),
            r_filter_sizes=shown("i", 2),
            pixel_max=float(settings.get("pixel_max", 1.0)),
            convention=convention,
        )
    except (ModelError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} with {settings['source']}: {error}") from error
    for key, ours in SIZES.items():
        told, seen = settings.get(key), list(getattr(config, ours))
        if told is not None and told != seen:
            raise CheckpointError(
                f"{settings['source']} has {key} {told}, but the kernels in {path} show {seen}: they are of two "
                "networks; put the right .json in its place, or none (sizes are then those of the kernels)"
            )
    return config


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
