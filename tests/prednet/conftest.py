"""Fixtures of the network's tests: the plain reference implementation and the original code's recorded numbers."""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.model import PredNet

HERE = Path(__file__).parent
ROWS = {"i": 0, "f": 1, "o": 2, "c": 3}


@pytest.fixture(scope="session")
def plain():
    spec = importlib.util.spec_from_file_location("plain_prednet", HERE / "plain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Oracle:
    """One parity file: the network with the recorded weights in float64, its frames, and the recorded arrays."""

    model: PredNet
    frames: torch.Tensor
    arrays: dict
    settings: dict

    @property
    def weight_names(self):
        return [str(name) for name in self.arrays["weight_names"]]

    def in_keras_layout(self, read):
        """{weight name: array}, kernels (kh, kw, in, out), of `read(parameter)` for every parameter."""
        found = {}
        for name in self.weight_names:
            tensor = read(self.parameter(name))[self.rows(name)].detach().numpy()
            found[name] = tensor.transpose(2, 3, 1, 0) if tensor.ndim == 4 else tensor
        return found

    def parameter(self, name):
        kind, layer, part = self._parts(name)
        convs = {"a": self.model.a, "ahat": self.model.ahat}.get(kind, self.model.gates)
        return convs[layer].weight if part == "kernel" else convs[layer].bias

    def rows(self, name):
        kind, layer, _ = self._parts(name)
        if kind not in ROWS:
            return slice(None)
        r = self.model.config.r_stack_sizes[layer]
        return slice(ROWS[kind] * r, (ROWS[kind] + 1) * r)

    @staticmethod
    def _parts(name):
        layer_name, part = name.split("/")
        _, kind, layer = layer_name.split("_")
        return kind, int(layer), part


@pytest.fixture
def oracle():
    def load(name):
        with np.load(HERE / "oracle" / f"prednet_parity_{name}.npz") as file:
            arrays = dict(file)
        settings = json.loads(str(arrays["config"]))
        config = PredNetConfig(
            stack_sizes=tuple(settings["stack_sizes"]),
            r_stack_sizes=tuple(settings["R_stack_sizes"]),
            a_filter_sizes=tuple(settings["A_filt_sizes"]),
            ahat_filter_sizes=tuple(settings["Ahat_filt_sizes"]),
            r_filter_sizes=tuple(settings["R_filt_sizes"]),
        )
        frames = torch.from_numpy(arrays["frames"]).double().permute(0, 1, 4, 2, 3)
        loaded = Oracle(PredNet(config).double(), frames, arrays, settings)
        with torch.no_grad():
            for weight_name in loaded.weight_names:
                array = arrays[f"w/{weight_name}"]
                array = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
                loaded.parameter(weight_name)[loaded.rows(weight_name)] = torch.from_numpy(array).double()
        return loaded

    return load


@pytest.fixture
def small_model():
    return PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)


@pytest.fixture
def windows():
    """(2, 4, 8, 12, 3) uint8."""
    return np.random.default_rng(0).integers(0, 256, (2, 4, 8, 12, 3), dtype=np.uint8)
