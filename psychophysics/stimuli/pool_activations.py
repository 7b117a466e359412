"""Activations of units over a whole pool, computed in pieces that survive an interruption."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychophysics.networks import StudyNetwork
from psychophysics.stimuli.files import document_sha256, written
from psychophysics.stimuli.pool import ImagePool
from psychophysics.units import Unit

PIECE = 256  # images


def pool_activations(
    network: StudyNetwork, units: Sequence[Unit], pool: ImagePool, folder: Path, progress: Callable[[int, int], None]
) -> NDArray[np.float32]:
    """(n_images, n_units); all units come from one pass over the pool.

    Args:
        network: which sees every image once.
        units: of the columns.
        pool: of images.
        folder: of the pieces; pieces of other weights, units or images in it are not used.
        progress: called with (images done, images).
    """
    key = document_sha256([network.identity, network.height, network.width, pool.fingerprint, [str(u) for u in units]])
    pieces = []
    for start in range(0, len(pool), PIECE):
        end = min(start + PIECE, len(pool))
        path = folder / f"{key[:16]}-{start:08d}.npy"
        piece = _read(path, (end - start, len(units)))
        if piece is None:
            piece = network.activation(pool.load(range(start, end), network.height, network.width), units)
            with written(path) as temporary, temporary.open("wb") as file:
                np.save(file, piece)
        pieces.append(piece)
        progress(end, len(pool))
    return np.concatenate(pieces)


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    try:
        piece = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or torn: computed again
        return None
    return piece if piece.shape == shape and piece.dtype == np.float32 else None
