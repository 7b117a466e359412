"""`hms weights IN [OUT]`: what a network is, and its conversion between our checkpoints and original Keras weights."""

from pathlib import Path

from prednet.checkpoint import save_checkpoint
from prednet.config import Convention
from prednet.cost import count_parameters
from prednet.keras_export import save_keras_weights
from search.errors import UsageError
from search.predict import frame_size
from search.score import KERAS_SUFFIXES, read_network

OURS = ".pt"


def convert_weights(
    source: Path,
    target: Path | None,
    *,
    convention: Convention | None = None,
    backend: Convention | None = None,
    size: str | None = None,
) -> str:
    """Describe a network; with a `target`, write it there too: Keras' .hdf5 with a .json beside it, or our .pt.

    Args:
        source: network.pt, a checkpoint, or Keras weights.
        target: a file that doesn't exist yet; its suffix says which kind.
        convention: of Keras weights that are read; None: as the file says.
        backend: of the Keras that will read the target; None: the network's convention.
        size: `HEIGHTxWIDTH` of the frames in the .json; None: as trained, or near 128x160.

    Raises:
        UsageError, PredNetError: a file is missing or unfit, exists already, or can't be written.
    """
    if not source.is_file():
        raise UsageError(f"{source} does not exist: give a network.pt (results/NAME/trials/NNNNNN/) or Keras' .hdf5")
    model = read_network(source, convention)
    config = model.config
    lines = [f"{source}: a PredNet of {config.n_layers} layers, {count_parameters(config)} parameters"]
    lines += [f"  {name}: {value}" for name, value in config.to_dict().items()]
    if target is None:
        return "\n".join(lines)
    written = [target, target.with_suffix(".json")] if target.suffix in KERAS_SUFFIXES else [target]
    if present := [path for path in written if path.exists()]:
        raise UsageError(f"{present[0]} exists already: remove it, or name another file")
    if target.suffix in KERAS_SUFFIXES:
        save_keras_weights(model, *written, backend=backend, clips=(10, *frame_size(size, source, model)))
    elif target.suffix == OURS:
        save_checkpoint(target, {"config": config.to_dict(), "model": model.state_dict()})
    else:
        raise UsageError(f"{target} has no known suffix: give .hdf5 for Keras, {OURS} for a checkpoint")
    return "\n".join([*lines, *(f"wrote {path}" for path in written)])
