import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from prednet.config import PredNetConfig
from prednet.graph import StepRunner
from prednet.model import PredNet
from prednet.recurrence import Recurrence, layer_weights
from prednet.train import TrainConfig, Trainer

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CONFIG = PredNetConfig(stack_sizes=(3, 4, 6), r_filter_sizes=(3, 2, 3))

SEEDED = """
import random, sys
import numpy as np, torch
random.seed(5), np.random.seed(5), torch.manual_seed(5)
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[1])
import test_graph
print(test_graph.digest(test_graph.trained(seed=7)))
"""


def batches(n, shape=(2, 4, 8, 12, 3)):
    rng = np.random.default_rng(3)
    return [rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(n)]


def digest(model):
    return hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()


def test_a_step_measures_loss_gradient_norm_and_largest_weight(plain, windows):
    model = PredNet(CONFIG, seed=1).double()
    weights = layer_weights("Lall", 3)
    runner = StepRunner(lambda: Recurrence(model, weights), torch.device("cpu"))
    measured = runner.step(torch.from_numpy(windows.swapaxes(0, 1).copy()))
    frames = torch.from_numpy(windows).permute(0, 1, 4, 2, 3).double() / 255
    loss = plain.loss(model, frames, weights)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    assert float(measured[0]) == pytest.approx(loss.item(), abs=1e-12)
    assert float(measured[1]) == pytest.approx(float(torch.cat([g.flatten() for g in gradients]).norm()), abs=1e-12)
    assert float(measured[2]) == max(p.abs().max().item() for p in model.parameters())


def trained(seed):
    trainer = Trainer(PredNet(CONFIG, seed=seed), TrainConfig(loss="Lall"))
    for frames in batches(3):
        trainer.step(frames)
    return trainer.model


def test_the_numbers_depend_on_the_seed_and_on_no_global_state():
    command = [sys.executable, "-c", SEEDED, str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "1"}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        here = digest(trained(seed=7))
    finally:
        torch.set_num_threads(threads)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == here != digest(trained(seed=8)), done.stderr


@needs_cuda
@pytest.mark.parametrize(("precision", "cosine"), [("fp32", 1 - 1e-9), ("bf16", 0.999)])
@pytest.mark.parametrize("loss", ["L0", "Lall"])
def test_gradients_on_a_gpu_are_those_of_the_plain_implementation(plain, precision, cosine, loss):
    config = PredNetConfig(stack_sizes=(3, 16, 32))
    trainer = Trainer(PredNet(config, seed=1), TrainConfig(loss=loss, precision=precision), "cuda")
    (batch,) = batches(1, (2, 6, 32, 48, 3))
    model = PredNet(config, seed=1).double()
    frames = torch.from_numpy(batch).permute(0, 1, 4, 2, 3).double() / 255
    expected = plain.loss(model, frames, layer_weights(loss, 3))
    expected.backward()
    assert trainer.step(batch) == pytest.approx(expected.item(), rel=1e-6 if precision == "fp32" else 1e-2)
    mine = torch.cat([p.grad.flatten() for p in trainer.model.parameters()]).cpu().double()
    theirs = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert float(torch.nn.functional.cosine_similarity(mine, theirs, dim=0)) > cosine


@needs_cuda
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("loss", ["L0", "Lall"])
def test_replayed_steps_equal_steps_run_kernel_by_kernel(monkeypatch, precision, loss):
    config = TrainConfig(loss=loss, precision=precision, deterministic=True)
    full, rest = batches(4), batches(1, (1, 4, 8, 12, 3))
    losses, weights = {}, {}
    for kept in (0, 2):
        monkeypatch.setattr("prednet.graph.KEPT", kept)
        trainer = Trainer(PredNet(CONFIG, seed=1), config, "cuda")
        losses[kept] = []
        for _ in range(3):  # the smaller batch and the validation come between, as in an epoch
            losses[kept] += [trainer.step(frames) for frames in full + rest]
            losses[kept].append(trainer.loss(full[0]))
        weights[kept] = digest(trainer.model)
    assert losses[0] == losses[2] and weights[0] == weights[2]


@needs_cuda
def test_a_deterministic_run_gives_the_same_bits_twice_and_resumed():
    config = TrainConfig(precision="bf16", deterministic=True)

    def train(trainer, frames):
        for batch in frames:
            trainer.step(batch)
        return trainer

    frames = batches(8)
    once = train(Trainer(PredNet(CONFIG, seed=1), config, "cuda"), frames)
    again = train(Trainer(PredNet(CONFIG, seed=1), config, "cuda"), frames[:5])
    resumed = Trainer(PredNet(CONFIG, seed=9), config, "cuda")
    resumed.load_state_dict(again.state_dict())
    assert digest(once.model) == digest(train(again, frames[5:]).model) == digest(train(resumed, frames[5:]).model)


@needs_cuda
def test_a_batch_too_large_for_the_device_is_refused_by_the_allocator():
    trainer = Trainer(PredNet(CONFIG, seed=1), TrainConfig(), "cuda")
    small = batches(1)[0]
    trainer.step(small)
    total = torch.cuda.get_device_properties(0).total_memory
    huge = np.zeros((1 + total // (4 * 8 * 12 * 100), 4, 8, 12, 3), dtype=np.uint8)
    with pytest.raises(torch.OutOfMemoryError):
        trainer.step(huge)
    trainer.step(small)
