"""What the benchmarks of training and inference compare: the plain implementation of the tests and the fast paths.

Every function here returns an action without arguments that does one step's work, from uint8 frames to the result.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from prednet.config import PredNetConfig
from prednet.inference import Inference
from prednet.model import PredNet, State
from prednet.recurrence import layer_weights
from prednet.train import TrainConfig, Trainer, find_device

Action = Callable[[], object]
VERSIONS = ("plain fp32", "fast fp32", "fast bf16", "fast fp32, recomputing")
PLAIN = Path(__file__).resolve().parents[2] / "tests" / "prednet" / "plain.py"


def training_step(version: str, config: PredNetConfig, frames: NDArray[np.uint8], device: str) -> Action:
    """One update of the weights with Adam and the loss `L0`; frames (B, T, H, W, C).

    "recomputing" keeps the units of a third of the steps at a time.
    """
    if version == "plain fp32":
        return _plain_training(config, frames, device)
    every = -(-frames.shape[1] // 3) if version.endswith("recomputing") else None
    settings = TrainConfig(precision="bf16" if "bf16" in version else "fp32", recompute_every=every)
    trainer = Trainer(PredNet(config), settings, device)
    return lambda: trainer.step(frames)


def prediction(version: str, config: PredNetConfig, frames: NDArray[np.uint8], device: str) -> Action:
    """Predictions of all frames of sequences (B, T, H, W, C)."""
    model = PredNet(config).to(find_device(device))
    if version == "plain fp32":
        plain = load_plain()
        return _without_gradients(lambda: plain.run(model, _floats(frames, device))[0].cpu())
    net = Inference(model, bf16="bf16" in version)

    def predict() -> list[Tensor]:
        shown, state = _floats(frames, device), net.initial_state(*frames.shape[2:4])
        predictions = []
        for t in range(shown.shape[1]):
            r, c = net.top_down(state)
            predictions.append(net.predict(r[0], 0).cpu())
            if t + 1 < shown.shape[1]:
                state = State(r, c, net.bottom_up(r, shown[:, t]).e)
        return predictions

    return _without_gradients(predict)


def features(version: str, config: PredNetConfig, frames: NDArray[np.uint8], device: str) -> Action:
    """R units of all layers and steps but the first, sequences (B, T, H, W, C)."""
    model = PredNet(config).to(find_device(device))
    if version == "plain fp32":
        plain = load_plain()

        def plainly() -> list[Tensor]:
            units = plain.run(model, _floats(frames, device))[2]
            return [r.cpu() for step in units[1:] for r in step["R"]]

        return _without_gradients(plainly)
    net = Inference(model, bf16="bf16" in version)

    def extract() -> list[Tensor]:
        shown = _floats(frames, device)
        r, c = net.top_down(net.initial_state(*frames.shape[2:4]))
        kept = []
        for t in range(shown.shape[1] - 1):
            r, c = net.top_down(State(r, c, net.bottom_up(r, shown[:, t]).e))
            kept += [units.cpu() for units in r]
        return kept

    return _without_gradients(extract)


def convolution_flops(action: Action) -> float:
    """FLOPs of the convolutions that the action really runs, gradients included; it runs once."""
    with FlopCounterMode(display=False) as counter:
        action()
    counts = counter.get_flop_counts()["Global"]
    return float(sum(flops for operation, flops in counts.items() if "convolution" in str(operation)))


def load_plain() -> ModuleType:
    """The plain implementation of the tests, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("plain_prednet", PLAIN)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain_training(config: PredNetConfig, frames: NDArray[np.uint8], device: str) -> Action:
    plain, model = load_plain(), PredNet(config).to(find_device(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    weights = layer_weights("L0", config.n_layers)

    def step() -> None:
        optimizer.zero_grad()
        plain.loss(model, _floats(frames, device), weights).backward()
        optimizer.step()

    return step


def _floats(frames: NDArray[np.uint8], device: str) -> Tensor:
    """uint8 (B, T, H, W, C) -> (B, T, C, H, W) in [0, 1] on the device, each step's frame channels last."""
    moved = torch.from_numpy(np.array(frames.swapaxes(0, 1), order="C")).to(device)
    return (moved.float() / 255).permute(1, 0, 4, 2, 3)


def _without_gradients(action: Action) -> Action:
    def run() -> object:
        with torch.inference_mode():
            return action()

    return run
