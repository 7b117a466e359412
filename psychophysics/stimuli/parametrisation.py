"""Images as optimisation variables: Fourier coefficients in decorrelated colours, and random views of them.

After Olah, Mordvintsev and Schubert, "Feature Visualization" (Distill 2017): in this basis gradient ascent does not
favour high frequencies, and channels vary as the colours of natural images do.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from psychophysics.config import SynthesisSection

# Square root of the covariance of RGB over ImageNet, as published with that article; scaled to a largest norm of 1.
_COLOUR_SVD_SQRT = torch.tensor([[0.26, 0.09, 0.02], [0.27, 0.00, -0.05], [0.27, -0.09, 0.03]])
COLOUR = (_COLOUR_SVD_SQRT / _COLOUR_SVD_SQRT.norm(dim=0).max()).T
START = 0.01  # standard deviation of the first coefficients


class FourierImages:
    """n images (n, 3, height, width) in [0, 1] as a function of `spectrum`, on which an optimiser works."""

    def __init__(
        self, n: int, height: int, width: int, generator: torch.Generator, device: torch.device | None = None
    ) -> None:
        self.height, self.width = height, width
        rows, columns = torch.fft.fftfreq(height)[:, None], torch.fft.rfftfreq(width)[None]
        frequency = (rows.square() + columns.square()).sqrt()
        # Equal energy at all scales, since amplitudes fall with frequency as in natural images.
        self._scale = (1 / frequency.clamp(min=1 / max(height, width))).to(device)
        shape = (n, 3, height, columns.shape[1], 2)
        self.spectrum = (torch.randn(shape, generator=generator) * START).to(device).requires_grad_()

    def images(self) -> Tensor:
        """(n, 3, height, width), with gradients to `spectrum`."""
        coefficients = torch.view_as_complex(self.spectrum) * self._scale
        pixels = torch.fft.irfft2(coefficients, s=(self.height, self.width), norm="ortho") / 4
        coloured = torch.einsum("nchw,cd->ndhw", pixels, COLOUR.to(pixels.device))
        return coloured.sigmoid()


def central(images: Tensor, height: int, width: int) -> Tensor:
    """The middle (n, 3, height, width) of larger images."""
    top, left = (images.shape[2] - height) // 2, (images.shape[3] - width) // 2
    return images[:, :, top : top + height, left : left + width]


def random_views(
    images: Tensor, height: int, width: int, section: SynthesisSection, generator: torch.Generator
) -> Tensor:
    """The middle of each image, shifted, scaled and turned at random; beyond the edges images are reflected.

    Args:
        images: (n, 3, H, W).
        height: of the views, pixels.
        width: of the views, pixels.
        section: largest shift as a share of the view's sides, range of magnification, largest turn in degrees.
        generator: of the draws.
    """
    n, _, canvas_height, canvas_width = images.shape

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return (torch.rand(n, *shape, generator=generator) * (high - low) + low).to(images.device)

    angle, zoom = torch.deg2rad(uniform(-section.rotate, section.rotate)), uniform(*section.scale)
    shift = 2 * uniform(-section.jitter, section.jitter, 2)  # grid_sample's coordinates go from -1 to 1
    cos, sin = torch.cos(angle) / zoom, torch.sin(angle) / zoom
    x = torch.stack([cos, -sin * (height / width), shift[:, 0]], 1) * (width / canvas_width)
    y = torch.stack([sin * (width / height), cos, shift[:, 1]], 1) * (height / canvas_height)
    grid = F.affine_grid(torch.stack([x, y], 1), [n, 3, height, width], align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
