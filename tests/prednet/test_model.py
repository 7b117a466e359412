import math

import pytest
import torch

from prednet.config import PredNetConfig
from prednet.errors import ModelError
from prednet.model import PredNet, hard_sigmoid


def test_hard_sigmoid_has_slope_a_fifth():
    x = torch.tensor([-3.0, -2.5, -1.0, 0.0, 1.0, 2.5, 3.0])
    expected = torch.tensor([0.0, 0.0, 0.3, 0.5, 0.7, 1.0, 1.0])
    torch.testing.assert_close(hard_sigmoid(x), expected)


def test_initial_weights_are_glorot_uniform_per_gate():
    model = PredNet(PredNetConfig(stack_sizes=(3, 16), r_stack_sizes=(4, 24)), seed=0)
    fan_in, fan_out = (24 + 32) * 9, 24 * 9
    limit = math.sqrt(6 / (fan_in + fan_out))
    for gate in model.gates[1].weight.detach().chunk(4):
        assert gate.abs().max() <= limit
        assert gate.std() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    assert all(not p.any() for p in model.parameters() if p.ndim == 1)


def test_the_seed_alone_decides_the_weights():
    config = PredNetConfig(stack_sizes=(3, 4))
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = PredNet(config, seed=7)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = PredNet(config, generator=torch.Generator().manual_seed(7))
    other = PredNet(config, seed=8)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.gates[0].weight, other.gates[0].weight)


def test_autograd_flows_through_forward(small_model):
    frames = torch.rand(2, 3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    small_model(frames).errors[:, 1:, 0].mean().backward()
    assert small_model.gates[2].weight.grad.abs().sum() > 0


def test_extrapolated_frames_are_never_looked_at(small_model):
    frames = torch.rand(1, 6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    blanked = frames.clone()
    blanked[:, 3:] = 0
    with torch.no_grad():
        seen, unseen = (small_model(x, extrap_start_time=3).predictions for x in (frames, blanked))
    assert torch.equal(seen, unseen)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (torch.rand(2, 3, 8, 8), r"shape \(2, 3, 8, 8\): give \(batch, time, channels, height, width\)"),
        (torch.rand(0, 3, 3, 8, 8), "one sequence of one frame or more"),
        (torch.rand(2, 0, 3, 8, 8), "one sequence of one frame or more"),
        (torch.rand(2, 3, 1, 8, 8), r"1 channels.*reads 3"),
        (torch.rand(2, 3, 8, 8, 3), "8 channels"),
        (torch.rand(2, 3, 3, 10, 8), r"10x8.*3 layers.*multiples of 4.*8x8"),
        (torch.rand(2, 3, 3, 8, 0), r"8x0.*multiples of 4"),
        (torch.zeros(2, 3, 3, 8, 8, dtype=torch.uint8), r"torch.uint8.*frames.to\(torch.float32\) / 255"),
        (torch.zeros(2, 3, 3, 8, 8).double(), r"torch.float64.*frames.to\(torch.float32\)$"),
        (255 * torch.rand(2, 3, 3, 8, 8), r"outside \[0, 1\]: 0..255 .*frames / 255"),
        (torch.full((2, 3, 3, 8, 8), 1.001), r"from 1.001 to 1.001, outside \[0, 1\]"),
        (2 * torch.rand(2, 3, 3, 8, 8) - 1, r"outside \[0, 1\]: undo a normalisation to -1..1"),
        (torch.full((2, 3, 3, 8, 8), torch.inf), r"to inf, outside \[0, 1\]"),
        (torch.eye(8).expand(2, 3, 3, 8, 8) / torch.eye(8), "frames hold NaN"),
    ],
)
def test_frames_that_the_network_cannot_read_are_refused(small_model, frames, said):
    with pytest.raises(ModelError, match=said):
        small_model(frames)


def test_extrapolation_before_the_first_frame_is_refused(small_model):
    with pytest.raises(ModelError, match="extrap_start_time is 0"):
        small_model(torch.rand(1, 2, 3, 8, 8), extrap_start_time=0)
