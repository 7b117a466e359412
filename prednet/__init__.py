"""PredNet (Lotter, Kreiman and Cox 2017) and its data; knows nothing of searches.

    from prednet import PredNet, PredNetConfig

The names below are what a program needs; each is imported when it is first used, so that `import prednet` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prednet.checkpoint import load_network
    from prednet.config import PredNetConfig
    from prednet.data.clip import read_clip
    from prednet.errors import PredNetError
    from prednet.features import predict
    from prednet.keras_export import save_keras_weights
    from prednet.keras_weights import load_keras_weights
    from prednet.model import PredNet
    from prednet.pictures import save_strip
    from prednet.rollout import extrapolate, r_features
    from prednet.train import TrainConfig, Trainer

__all__ = [
    "PredNet",
    "PredNetConfig",
    "PredNetError",
    "TrainConfig",
    "Trainer",
    "extrapolate",
    "load_keras_weights",
    "load_network",
    "predict",
    "r_features",
    "read_clip",
    "save_keras_weights",
    "save_strip",
]

_HOME = {
    "PredNet": "model",
    "PredNetConfig": "config",
    "PredNetError": "errors",
    "TrainConfig": "train",
    "Trainer": "train",
    "extrapolate": "rollout",
    "load_keras_weights": "keras_weights",
    "load_network": "checkpoint",
    "predict": "features",
    "r_features": "rollout",
    "read_clip": "data.clip",
    "save_keras_weights": "keras_export",
    "save_strip": "pictures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'prednet' has no attribute {name!r}")
    value = getattr(import_module(f"prednet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
