"""A network -> weights that the original Keras code loads: the `.hdf5` and `.json` of Keras 2's `save_weights`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from prednet.config import Convention, PredNetConfig
from prednet.errors import CheckpointError
from prednet.keras_weights import ACTIVATIONS, SIZES, convolutions
from prednet.model import PredNet

KERAS_VERSION = "2.2.4"  # the layout that is written


def save_keras_weights(
    model: PredNet,
    weights: Path,
    architecture: Path,
    *,
    backend: Convention | None = None,
    clips: tuple[int, int, int] = (10, 128, 160),
) -> None:
    """Write a network, in float32, as Keras does; `load_keras_weights` gives back exactly the same weights.

    The original code runs such files where R_l has as many channels as A_l in all layers below the top one: it
    builds the convolutions of A for 2 R_l channels.

    Args:
        model: the network.
        weights: the `.hdf5` file to write.
        architecture: the `.json` file to write.
        backend: of the Keras that will run it; None: the convention of the network. With odd filters a network runs
            the same on both, its kernels flipped for Theano.
        clips: frames, height and width of the model's input in the `.json`.

    Raises:
        CheckpointError: for an even filter on the other backend, which pads it differently, for clips that
            don't fit the network, and for files that can't be written.
    """
    config = model.config
    config.check_frames(*clips[1:])
    backend = backend or config.convention
    even = [k for k in config.a_filter_sizes + config.ahat_filter_sizes + config.r_filter_sizes if k % 2 == 0]
    if even and backend != config.convention:
        raise CheckpointError(
            f"the network has filters of even size ({even[0]}), which {backend} pads on the other side than "
            f"{config.convention}: it can only be written for {config.convention}"
        )
    named = {}
    for name, conv, rows in convolutions(model):
        kernel = conv.weight.detach()[rows].float().cpu().numpy()
        kernel = kernel[:, :, ::-1, ::-1] if backend == "theano" else kernel
        named[f"pred_net_1/layer_{name}/kernel:0"] = kernel.transpose(2, 3, 1, 0)
        named[f"pred_net_1/layer_{name}/bias:0"] = conv.bias.detach()[rows].float().cpu().numpy()
    # Each file appears whole; the weights last, since they are what a reader looks for.
    partial, partial_json = (p.with_name(f".{p.name}.{os.getpid()}.tmp") for p in (Path(weights), Path(architecture)))
    try:
        partial_json.write_text(json.dumps(_model(config, clips, backend), indent=1))
        _write_layers(partial, {"input_1": {}, "pred_net_1": named}, backend)
        partial_json.replace(architecture)
        partial.replace(weights)
    except OSError as error:
        raise CheckpointError(f"can't write {weights} ({error}): free some space or choose another folder") from error
    finally:
        for path in (partial, partial_json):
            path.unlink(missing_ok=True)


def _write_layers(path: Path, layers: dict[str, dict[str, Any]], backend: str) -> None:
    with h5py.File(path, "w") as file:
        # Strings of fixed length: h5py 3 hands them to Keras as the bytes that it expects.
        file.attrs["layer_names"] = np.array(list(layers), dtype="S")
        file.attrs["backend"] = np.bytes_(backend)
        file.attrs["keras_version"] = np.bytes_(KERAS_VERSION)
        for layer, arrays in layers.items():
            group = file.create_group(layer)
            group.attrs["weight_names"] = np.array(list(arrays), dtype="S64")
            for name, array in arrays.items():
                group.create_dataset(name, data=array)


def _model(config: PredNetConfig, clips: tuple[int, int, int], backend: str) -> dict[str, Any]:
    """What `model.to_json()` gives for clips -> PredNet with the layer errors as output."""
    inputs = {"name": "input_1", "batch_input_shape": [None, *clips, config.stack_sizes[0]], "dtype": "float32"}
    prednet: dict[str, Any] = {key: list(getattr(config, ours)) for key, ours in SIZES.items()}
    prednet |= ACTIVATIONS | {"name": "pred_net_1", "pixel_max": config.pixel_max, "data_format": "channels_last"}
    prednet |= {"output_mode": "error", "return_sequences": True, "extrap_start_time": None}
    layers = [
        {"class_name": "InputLayer", "name": "input_1", "config": inputs, "inbound_nodes": []},
        {"class_name": "PredNet", "name": "pred_net_1", "config": prednet, "inbound_nodes": [[["input_1", 0, 0, {}]]]},
    ]
    ends = {"input_layers": [["input_1", 0, 0]], "output_layers": [["pred_net_1", 0, 0]]}
    graph = {"name": "model_1", "layers": layers, **ends}
    return {"class_name": "Model", "config": graph, "keras_version": KERAS_VERSION, "backend": backend}
