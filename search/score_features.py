"""`hms score module:function`: HMS of any torch network that returns features, without a search.

The function takes no arguments and returns a `torch.nn.Module`, or anything callable, that takes images as float32
(n, 3, height, width), RGB in [0, 1], and returns features: a tensor (n, ...), or a dict of them by layer. What the
network expects beyond that (mean and standard deviation, another range) is for the function to wrap.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metrics.decomposition import GramGrid
from metrics.stimuli92 import Mapping, resize_stimuli
from search.errors import UsageError
from search.full_hms import HmsOptions, finish, image_order
from search.hms_target import load_target, shown_stimuli
from search.paths import data_root
from search.predict import read_size
from search.progress import Progress

BATCH = 16
ONE_LAYER = "features"
Network = Callable[[torch.Tensor], Any]


def score_function(named: str, size: str, mapping: Mapping, options: HmsOptions, progress: Progress) -> str:
    """Show the stimuli at `size` (`HEIGHTxWIDTH`) to the network that `module:function` makes; text or JSON.

    The 92, or those that the brain `options.reference` was prepared with.

    Raises:
        UsageError: no such function, or what it returns, or what its network returns, is not what is asked for.
    """
    height, width = read_size(size)
    network = load_function_network(named)
    target = load_target(options.reference, options.labels, data_root(), progress)
    stimuli = shown_stimuli(options.reference, target, data_root())
    images = resize_stimuli(stimuli.images, height, width, mapping)[image_order(stimuli.labels, target)]
    return finish(named, feature_grid(network, images, named, progress), target, options)


def load_function_network(named: str) -> Network:
    """Import `module:function`, from the current folder or installed, and call it; a module is put in eval mode."""
    module_name, _, function_name = named.partition(":")
    if not module_name or not function_name:
        raise UsageError(f"{named} is no function: give module:function, such as networks:alexnet")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a script may end the program
        raise UsageError(f"{named}: {module_name} cannot be imported from {here}: {_told(error)}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UsageError(
            f"{named}: {module_name} has no function {function_name}; it has: {', '.join(known) or 'none'}"
        )
    try:
        network = function()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{named}() raised {_told(error)}; it is called without arguments") from error
    if not callable(network):
        raise UsageError(f"{named}() returned {type(network).__name__}; return a torch network or a function of images")
    return network.eval() if isinstance(network, torch.nn.Module) else network


def feature_grid(network: Network, images: NDArray[np.uint8], named: str, progress: Progress) -> GramGrid:
    """Gram matrices of a network's features, by layer, for images (n, H, W, 3) uint8, `BATCH` at a time.

    Images go to the device of the network's parameters. The features of all images are in memory together: n x units
    x 4 bytes, of the layers that the network returns.
    """
    parameter = next(network.parameters(), None) if isinstance(network, torch.nn.Module) else None
    device = parameter.device if parameter is not None else torch.device("cpu")
    pieces: dict[str, list[NDArray[np.float32]]] = {}
    for start in range(0, len(images), BATCH):
        batch = images[start : start + BATCH]
        shown = torch.from_numpy(np.ascontiguousarray(batch.transpose(0, 3, 1, 2))).to(device).float() / 255
        try:
            with torch.inference_mode():
                returned = network(shown)
        except Exception as error:
            raise UsageError(
                f"{named}: the network raised {_told(error)} for images of shape {tuple(shown.shape)}; "
                "another size: --size HEIGHTxWIDTH"
            ) from error
        for layer, values in _by_layer(returned, len(batch), named).items():
            pieces.setdefault(layer, []).append(values)
        progress(f"features of {named}", min(start + BATCH, len(images)), len(images))
    grid = GramGrid(len(images))
    for layer in list(pieces):
        grid.update(layer, _joined(pieces.pop(layer), layer, len(images), named))
    return grid


def _by_layer(returned: Any, n: int, named: str) -> dict[str, NDArray[np.float32]]:
    layers = returned if isinstance(returned, dict) else {ONE_LAYER: returned}
    found = {}
    for layer, values in layers.items():
        if not isinstance(values, torch.Tensor):
            raise UsageError(
                f"{named}: the network returned {type(values).__name__}; return a tensor (n, ...) or a dict of them"
            )
        if values.ndim < 2 or len(values) != n or values[0].numel() < 2 or values.is_complex():
            raise UsageError(
                f"{named}: layer {layer!r} is {values.dtype} of shape {tuple(values.shape)} for {n} images; "
                f"return real numbers ({n}, ...), at least 2 an image"
            )
        found[str(layer)] = values.float().flatten(1).cpu().numpy()
    if not found:
        raise UsageError(f"{named}: the network returned an empty dict; return a tensor for each layer")
    return found


def _joined(pieces: list[NDArray[np.float32]], layer: str, n: int, named: str) -> NDArray[np.float32]:
    if sum(map(len, pieces)) != n or len({piece.shape[1] for piece in pieces}) > 1:
        raise UsageError(f"{named}: layer {layer!r} is missing, or of another size, in some batches")
    return np.concatenate(pieces)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
