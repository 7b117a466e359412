import dataclasses
import math
import os

import numpy as np
import pytest
import torch

from prednet.checkpoint import load_checkpoint, save_checkpoint
from prednet.config import PredNetConfig
from prednet.errors import CheckpointError, DataError, Diverged, ModelError
from prednet.model import PredNet
from prednet.train import TrainConfig, Trainer, be_deterministic

CONFIG = PredNetConfig(stack_sizes=(3, 4, 6))


def moving_squares(n, seed, nt=6):
    """(n, nt, 16, 16, 3) uint8: a bright square that moves two pixels a frame over a dark ground."""
    rng = np.random.default_rng(seed)
    clips = np.full((n, nt, 16, 16, 3), 40, dtype=np.uint8)
    for clip in clips:
        row, column = rng.integers(0, 12), rng.integers(0, 16)
        for t in range(nt):
            columns = (column + 2 * t + np.arange(4)) % 16
            clip[t, row : row + 4, columns] = 220
    return clips


def weights_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_training_lowers_the_loss_on_clips_that_were_not_seen():
    trainer = Trainer(PredNet(CONFIG, seed=0), TrainConfig(learning_rate=5e-3))
    held_out = moving_squares(8, seed=999)
    before = trainer.loss(held_out)
    for step in range(60):
        trainer.step(moving_squares(4, seed=step))
    assert trainer.loss(held_out) < 0.5 * before


def test_frames_are_scaled_as_the_plain_implementation_sees_them(plain, windows, small_model):
    trainer = Trainer(small_model.double(), TrainConfig(loss="Lall"))
    frames = torch.from_numpy(windows).permute(0, 1, 4, 2, 3).double() / 255
    expected = float(plain.loss(small_model, frames, [1.0, 0.1, 0.1]).detach())
    assert trainer.loss(windows) == pytest.approx(expected, abs=1e-12)
    assert trainer.step(windows) == pytest.approx(expected, abs=1e-12)


def test_loss_changes_nothing(windows, small_model):
    trainer = Trainer(small_model, TrainConfig())
    before = weights_of(small_model)
    assert trainer.loss(windows) == trainer.loss(windows)
    assert all(torch.equal(value, before[name]) for name, value in small_model.state_dict().items())


def test_the_learning_rate_drops_at_its_epoch(small_model):
    trainer = Trainer(small_model, TrainConfig(learning_rate=1e-3, lr_drop_epoch=75))
    rates = []
    for epoch in (0, 74, 75, 149):
        trainer.start_epoch(epoch)
        rates.append(trainer.learning_rate)
    assert rates == pytest.approx([1e-3, 1e-3, 1e-4, 1e-4])


def test_the_first_adam_step_moves_by_the_learning_rate_of_the_epoch(windows, small_model):
    before = small_model.ahat[0].bias.detach().clone()
    trainer = Trainer(small_model, TrainConfig(learning_rate=1e-2, lr_drop_epoch=1))
    trainer.start_epoch(1)
    trainer.step(windows)
    moved = (small_model.ahat[0].bias.detach() - before).abs()
    torch.testing.assert_close(moved, torch.full_like(moved, 1e-3), rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    ("loss", "what"), [("L0", r"largest weight became [0-9.]+e\+06"), ("Lall", r"the loss became [0-9.]+e\+[0-9]+")]
)
def test_an_explosion_is_reported_at_the_next_step(windows, loss, what):
    trainer = Trainer(PredNet(CONFIG, seed=0), TrainConfig(loss=loss, learning_rate=1e6))
    trainer.step(windows)
    exploded = weights_of(trainer.model)
    with pytest.raises(Diverged, match=what + r" at step 1 .*learning rate 1e\+06"):
        trainer.step(windows)
    assert all(torch.equal(value, exploded[name]) for name, value in trainer.model.state_dict().items())
    assert trainer.steps == 1


@pytest.mark.parametrize("rate", [1e-3, 1e-1])
def test_the_rates_of_the_papers_space_are_no_explosion(rate):
    trainer = Trainer(PredNet(PredNetConfig(stack_sizes=(3, 24, 48)), seed=0), TrainConfig("L0", learning_rate=rate))
    for step in range(12):
        trainer.step(moving_squares(2, seed=step, nt=3))


@pytest.mark.parametrize("loss", ["L0", "Lall"])
def test_validation_notices_a_broken_network_too(windows, small_model, loss):
    trainer = Trainer(small_model, TrainConfig(loss=loss))
    with torch.no_grad():
        small_model.gates[0].weight[0, 0, 1, 1] = math.nan
    with pytest.raises(Diverged, match="validation loss became nan"):
        trainer.loss(windows)


def test_validation_notices_an_explosion(windows, small_model):
    with torch.no_grad():
        small_model.ahat[1].bias.fill_(1e6)
    with pytest.raises(Diverged, match="validation loss became"):
        Trainer(small_model, TrainConfig(loss="Lall")).loss(windows)


@pytest.mark.parametrize("adam", ["torch", "keras"])
def test_adam_is_the_formula_of_its_framework(adam, windows):
    model = PredNet(CONFIG, seed=3).double()
    twin = PredNet(CONFIG, seed=3).double()
    trainer = Trainer(model, TrainConfig(adam=adam))
    m = v = torch.zeros_like(twin.gates[0].bias)
    for step in (1, 2, 3):
        bias = model.gates[0].bias.detach().clone()
        trainer.step(windows)
        g = model.gates[0].bias.grad
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        if adam == "keras":
            rate = 1e-3 * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            expected = bias - rate * m / (v.sqrt() + 1e-7)
        else:
            expected = bias - 1e-3 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        torch.testing.assert_close(model.gates[0].bias.detach(), expected, rtol=0, atol=1e-14)


def test_clipping_bounds_the_norm_of_all_gradients(windows, small_model):
    Trainer(small_model, TrainConfig(grad_clip=1e-4)).step(windows)
    norm = torch.cat([p.grad.flatten() for p in small_model.parameters()]).norm()
    assert float(norm) == pytest.approx(1e-4, rel=1e-3)


def test_clipping_keeps_the_direction_and_leaves_small_gradients_alone(windows):
    found = {}
    for clip in (None, 1e-3, 1e3):
        trainer = Trainer(PredNet(CONFIG, seed=2).double(), TrainConfig(grad_clip=clip))
        trainer.step(windows)
        found[clip] = torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
    expected = found[None] * (1e-3 / found[None].square().sum().sqrt())
    torch.testing.assert_close(found[1e-3], expected, rtol=2e-3, atol=0)  # torch divides by norm + 1e-6
    assert torch.equal(found[1e3], found[None])


def test_bf16_trains_close_to_fp32():
    losses = {}
    for precision in ("fp32", "bf16"):
        trainer = Trainer(PredNet(CONFIG, seed=0), TrainConfig(learning_rate=5e-3, precision=precision))
        for step in range(30):
            trainer.step(moving_squares(4, seed=step))
        losses[precision] = trainer.loss(moving_squares(8, seed=999))
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_broken_network_is_reported_at_once_and_left_as_it_was(windows, small_model, value):
    trainer = Trainer(small_model, TrainConfig())
    trainer.step(windows)
    with torch.no_grad():
        small_model.ahat[0].weight[0, 0, 0, 0] = value
        small_model.ahat[0].weight[0, 1, 0, 0] = -value
    before = weights_of(small_model)
    with pytest.raises(Diverged, match=r"step 1 .*learning rate 0.001.*grad_clip"):
        trainer.step(windows)
    for name, weight in small_model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("adam", "loss", "precision"),
    [("torch", "L0", "fp32"), ("keras", "Lall", "fp32"), ("torch", "Lall", "bf16"), ("keras", "L0", "bf16")],
)
def test_resumed_training_is_bit_exact(tmp_path, adam, loss, precision):
    config = TrainConfig(adam=adam, loss=loss, precision=precision, learning_rate=3e-3, lr_drop_epoch=1)
    unbroken = Trainer(PredNet(CONFIG, seed=5), config)
    for step in range(8):
        unbroken.start_epoch(step // 4)
        unbroken.step(moving_squares(2, seed=step))

    first = Trainer(PredNet(CONFIG, seed=5), config)
    for step in range(3):
        first.step(moving_squares(2, seed=step))
    digest = save_checkpoint(tmp_path / "last.pt", {"trainer": first.state_dict()})
    first.step(moving_squares(2, seed=77))  # lost with the killed process

    resumed = Trainer(PredNet(CONFIG, seed=123), config)
    resumed.load_state_dict(load_checkpoint(tmp_path / "last.pt", digest)["trainer"])
    for step in range(3, 8):
        resumed.start_epoch(step // 4)
        resumed.step(moving_squares(2, seed=step))
    assert (resumed.epoch, resumed.steps) == (unbroken.epoch, unbroken.steps) == (1, 8)
    for name, weight in unbroken.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name


def test_recomputing_changes_rounding_at_most_and_may_change_on_resume(windows):
    kept, recomputed, resumed = (
        Trainer(PredNet(CONFIG, seed=5).double(), TrainConfig(loss="Lall", recompute_every=every))
        for every in (None, 2, 3)
    )
    assert kept.step(windows) == recomputed.step(windows)
    resumed.load_state_dict(recomputed.state_dict())
    for trainer in (kept, recomputed, resumed):
        trainer.step(windows)
    for name, weight in kept.model.state_dict().items():
        for other in (recomputed, resumed):
            torch.testing.assert_close(other.model.state_dict()[name], weight, rtol=0, atol=1e-10)


def test_a_checkpoint_from_before_a_setting_existed_is_continued(windows, small_model):
    state = Trainer(small_model, TrainConfig()).state_dict()
    del state["train_config"]["deterministic"]
    Trainer(PredNet(CONFIG), TrainConfig()).load_state_dict(state)


def test_a_checkpoint_of_other_settings_is_refused(small_model):
    state = Trainer(small_model, TrainConfig(learning_rate=1e-3)).state_dict()
    other = Trainer(PredNet(CONFIG), TrainConfig(learning_rate=1e-2))
    with pytest.raises(CheckpointError, match=r"learning_rate: 0.001 -> 0.01"):
        other.load_state_dict(state)
    wider = Trainer(PredNet(PredNetConfig(stack_sizes=(3, 8, 6))), TrainConfig(learning_rate=1e-3))
    with pytest.raises(CheckpointError, match="stack_sizes"):
        wider.load_state_dict(state)


@pytest.mark.parametrize(
    ("frames", "error", "said"),
    [
        (np.zeros((1, 3, 8, 8, 3), dtype=np.float32), DataError, "float32"),
        (np.zeros((3, 8, 8, 3), dtype=np.uint8), DataError, r"\(3, 8, 8, 3\)"),
        (np.zeros((1, 3, 8, 8, 1), dtype=np.uint8), ModelError, "1 channels"),
        (np.zeros((1, 3, 8, 6, 3), dtype=np.uint8), ModelError, "8x6"),
        (np.zeros((1, 1, 8, 8, 3), dtype=np.uint8), ModelError, "1 frame"),
    ],
)
def test_batches_that_cannot_be_trained_on_are_refused(small_model, frames, error, said):
    trainer = Trainer(small_model, TrainConfig())
    with pytest.raises(error, match=said):
        trainer.step(frames)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loss": "L1"}, "loss is 'L1'"),
        ({"adam": "sgd"}, "adam is 'sgd'"),
        ({"precision": "fp16"}, "precision is 'fp16'"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"grad_clip": -1.0}, "grad_clip is -1.0"),
        ({"lr_drop_epoch": -1}, "lr_drop_epoch is -1"),
        ({"recompute_every": 0}, "recompute_every is 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(ModelError, match=said):
        dataclasses.replace(TrainConfig(), **settings)


@pytest.mark.parametrize("device", ["cuda:99", "gpu"])
def test_a_device_that_is_not_there_is_refused(small_model, device):
    with pytest.raises(ModelError, match=f"device '{device}'.*name another device, such as cpu"):
        Trainer(small_model, TrainConfig(), device)


def test_deterministic_kernels_are_asked_for_before_cuda_starts_and_change_nothing_on_a_cpu(windows, monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    cudnn, fill = torch.backends.cudnn, torch.utils.deterministic.fill_uninitialized_memory
    before = (cudnn.deterministic, cudnn.benchmark)
    losses = [Trainer(PredNet(CONFIG, seed=1), TrainConfig(deterministic=True)).step(windows)]
    assert not torch.are_deterministic_algorithms_enabled()
    try:
        be_deterministic()
        assert torch.are_deterministic_algorithms_enabled() and cudnn.deterministic and not cudnn.benchmark
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        losses.append(Trainer(PredNet(CONFIG, seed=1), TrainConfig()).step(windows))
    finally:
        torch.use_deterministic_algorithms(False)
        cudnn.deterministic, cudnn.benchmark = before
        torch.utils.deterministic.fill_uninitialized_memory = fill
    assert losses[0] == losses[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_the_numbers_of_the_cpu(windows):
    on_cpu, on_cuda = (Trainer(PredNet(CONFIG, seed=1).double(), TrainConfig(), d) for d in ("cpu", "cuda"))
    for _ in range(3):
        assert on_cuda.step(windows) == pytest.approx(on_cpu.step(windows), abs=1e-10)
