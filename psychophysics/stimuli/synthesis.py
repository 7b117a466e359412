"""Synthetic images of a unit: activation maximisation with a term that keeps the images of a run apart."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from psychophysics.config import SynthesisSection
from psychophysics.networks import StudyNetwork
from psychophysics.stimuli.parametrisation import FourierImages, central, random_views
from psychophysics.units import Unit


@dataclass(frozen=True)
class Synthesised:
    """Images of one run.

    Attributes:
        images: (n, height, width, 3) uint8, from the highest activation down.
        activations: (n,) float32, of the 8-bit images without transforms.
        before: (n,) of the images from which the optimisation started, in no order.
        similarity: mean cosine of the Gram matrices of two of the images, -1..1; lower is more diverse.
    """

    images: NDArray[np.uint8]
    activations: NDArray[np.float32]
    before: NDArray[np.float32]
    similarity: float


def synthesise(
    network: StudyNetwork,
    unit: Unit,
    n: int,
    section: SynthesisSection,
    *,
    scale: float,
    seed: int,
    progress: Callable[[int], None],
) -> Synthesised:
    """Maximise a unit's activation over `n` images at once, by Adam.

    Args:
        network: whose `maps` are differentiable.
        unit: its spatial mean is the objective.
        n: images; with 2 or more their Gram matrices are pushed apart.
        section: steps, rate, weight of diversity, transforms.
        scale: activation that counts as 1 beside the diversity term, above 0: as far as natural images take the unit.
        seed: of the start and of the transforms.
        progress: called with the steps done.
    """
    generator = torch.Generator().manual_seed(seed)
    height, width = network.height, network.width
    variables = FourierImages(n, height + _margin(height), width + _margin(width), generator, network.device)
    optimiser = torch.optim.Adam([variables.spectrum], lr=section.learning_rate)
    before = network.activation(_pixels(variables, network), [unit])[:, 0]
    diverse = section.diversity_layer or unit.layer
    for step in range(section.steps):
        views = random_views(variables.images(), height, width, section, generator)
        maps = network.maps(views, list(dict.fromkeys([unit.layer, diverse])))
        activation = maps[unit.layer][:, unit.channel].mean(dim=(1, 2))
        loss = -activation.sum() / scale + section.diversity * n * gram_similarity(maps[diverse])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        progress(step + 1)
    return _finished(network, unit, variables, before, diverse)


def gram_similarity(maps: Tensor) -> Tensor:
    """Mean cosine between the Gram matrices (channels x channels) of two of n maps (n, channels, h, w); 0 for n = 1."""
    n = len(maps)
    if n == 1:
        return maps.new_zeros(())
    flat = maps.flatten(2)
    gram = (flat @ flat.transpose(1, 2)).flatten(1)
    unit = gram / gram.norm(dim=1, keepdim=True).clamp(min=1e-12)
    cosines = unit @ unit.T
    return (cosines.sum() - cosines.diagonal().sum()) / (n * (n - 1))


def _finished(
    network: StudyNetwork, unit: Unit, variables: FourierImages, before: NDArray[np.float32], diverse: str
) -> Synthesised:
    images = _pixels(variables, network)
    activations = network.activation(images, [unit])[:, 0]
    order = np.argsort(-activations, kind="stable")
    with torch.no_grad():
        shown = torch.from_numpy(images).to(network.device).permute(0, 3, 1, 2).float() / 255
        similarity = float(gram_similarity(network.maps(shown, [diverse])[diverse]))
    return Synthesised(images[order], activations[order], before, similarity)


def _margin(side: int) -> int:
    """Pixels of canvas beyond a view: what lies at an edge is seen less often, and stays noisy."""
    return 2 * round(0.08 * side)


def _pixels(variables: FourierImages, network: StudyNetwork) -> NDArray[np.uint8]:
    images = central(variables.images().detach(), network.height, network.width)
    rounded = (images * 255).round().to(torch.uint8)
    return np.ascontiguousarray(rounded.permute(0, 2, 3, 1).cpu().numpy())
