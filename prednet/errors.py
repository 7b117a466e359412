"""What `prednet` raises when its input is wrong; the command line turns each into one clear message."""


class PredNetError(ValueError):
    """Base of every error that `prednet` raises on purpose."""


class DataError(PredNetError):
    """A video source or a prepared cache is missing, broken or unfit; the message names the next command."""


class ModelError(PredNetError):
    """A network or training configuration that cannot work; the message gives the numbers."""


class Diverged(ModelError):
    """A loss, gradient or weight became NaN, infinite or absurdly large: a result of the trial, not a fault."""


class CheckpointError(PredNetError):
    """A checkpoint cannot be used. Unless it is a `CheckpointDamaged`, another try or program may read it."""


class CheckpointDamaged(CheckpointError):
    """A checkpoint is missing, torn or altered: nobody will ever read it."""
