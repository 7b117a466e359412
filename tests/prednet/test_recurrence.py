"""The fast path gives the numbers of the plain implementation, for any architecture."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from prednet.config import PredNetConfig
from prednet.errors import ModelError
from prednet.memory import training_memory
from prednet.model import PredNet
from prednet.recurrence import Recurrence, layer_weights
from prednet.train import TrainConfig

KERNELS = st.integers(1, 8)


@st.composite
def cases(draw):
    """(config, batch, height, width): 1-6 layers whose top map is often smaller than the kernels on it."""
    layers = draw(st.integers(1, 6))

    def sizes(count, values):
        return tuple(draw(st.lists(values, min_size=count, max_size=count)))

    config = PredNetConfig(
        stack_sizes=(draw(st.sampled_from([1, 3])), *sizes(layers - 1, st.integers(1, 4))),
        r_stack_sizes=sizes(layers, st.integers(1, 4)),
        a_filter_sizes=sizes(layers - 1, KERNELS),
        ahat_filter_sizes=sizes(layers, KERNELS),
        r_filter_sizes=sizes(layers, KERNELS),
        convention=draw(st.sampled_from(["tensorflow", "theano"])),
    )
    height, width = (draw(st.integers(1, 2)) * 2 ** (layers - 1) for _ in range(2))
    return config, draw(st.integers(1, 3)), height, width


def lively(config, seed):
    """A float64 network whose units saturate here and there: large kernels, random biases."""
    model = PredNet(config, seed=seed).double()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
            else:
                parameter.mul_(1.5)
    return model


def random_frames(shape, seed):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_autograd(plain, model, frames, weights):
    """(loss, gradients) of the plain implementation; the parameters are left without gradients."""
    loss = plain.loss(model, frames, weights)
    loss.backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    model.zero_grad()
    return loss.detach(), gradients


@given(
    case=cases(),
    seed=st.integers(0, 2**20),
    loss=st.sampled_from(["L0", "Lall"]),
    steps=st.integers(2, 5),
    recompute_every=st.none() | st.integers(1, 5),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_loss_and_gradients_equal_those_of_autograd(plain, case, seed, loss, steps, recompute_every):
    config, batch, height, width = case
    model = lively(config, seed)
    frames = random_frames((batch, steps, config.stack_sizes[0], height, width), seed)
    weights = layer_weights(loss, config.n_layers)
    expected, gradients = by_autograd(plain, model, frames, weights)
    recurrence = Recurrence(model, weights, recompute_every=recompute_every)
    recurrence.loss_and_gradients(random_frames(frames.shape, seed + 1))  # leaves the buffers full of other numbers
    value = recurrence.loss_and_gradients(frames)
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(recurrence.loss(frames), value, rtol=0, atol=0)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("convention", ["tensorflow", "theano"])
def test_gradients_with_every_filter_size(plain, k, convention):
    config = PredNetConfig((3, 2, 4), (2, 3, 1), (k, k), (k, k, k), (k, k, k), convention=convention)
    model, weights = lively(config, k), [1.0, 0.1, 0.1]
    frames = random_frames((3, 3, 3, 12, 8), k)
    expected, gradients = by_autograd(plain, model, frames, weights)
    value = Recurrence(model, weights).loss_and_gradients(frames)
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("recompute_every", range(1, 8))
def test_recomputing_gives_the_same_gradients(recompute_every):
    model, frames = lively(PredNetConfig(stack_sizes=(3, 4, 6)), 1), random_frames((2, 7, 3, 8, 12), 2)
    weights = layer_weights("L0", 3)
    expected = Recurrence(model, weights).loss_and_gradients(frames)
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    value = Recurrence(model, weights, recompute_every=recompute_every).loss_and_gradients(frames)
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-15)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-14)


def test_recomputing_takes_less_memory():
    config = PredNetConfig(stack_sizes=(3, 8, 16))

    def peak(recompute_every):
        return training_memory(config, TrainConfig(recompute_every=recompute_every), 32, 32, 16, 2).peak

    assert peak(4) < 0.55 * peak(None)
    assert peak(16) == peak(None)


def test_recomputing_no_steps_at_a_time_is_refused():
    with pytest.raises(ModelError, match="recompute_every is 0"):
        Recurrence(PredNet(PredNetConfig(stack_sizes=(3, 4))), [1.0, 0.0], recompute_every=0)


def test_gradients_are_written_into_those_that_are_there():
    model, frames = lively(PredNetConfig(stack_sizes=(3, 4)), 1), random_frames((2, 3, 3, 4, 6), 2)
    recurrence = Recurrence(model, [1.0, 0.0])
    recurrence.loss_and_gradients(frames)
    places = [parameter.grad.data_ptr() for parameter in model.parameters()]
    first = [parameter.grad.clone() for parameter in model.parameters()]
    recurrence.loss_and_gradients(frames)
    assert [parameter.grad.data_ptr() for parameter in model.parameters()] == places
    for parameter, gradient in zip(model.parameters(), first, strict=True):
        assert torch.equal(parameter.grad, gradient)


def test_bf16_gradients_point_the_same_way(plain):
    model = PredNet(PredNetConfig(stack_sizes=(3, 8, 16, 32)), seed=0)
    frames = random_frames((2, 6, 3, 32, 40), 0).float()
    weights = layer_weights("L0", 4)
    exact = Recurrence(model, weights).loss_and_gradients(frames)
    expected = torch.cat([p.grad.flatten() for p in model.parameters()])
    rounded = Recurrence(model, weights, bf16=True).loss_and_gradients(frames)
    ours = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert ours.dtype == torch.float32
    assert torch.cosine_similarity(ours, expected, dim=0) > 0.9999
    assert float((rounded - exact).abs() / exact) < 1e-3


def test_buffers_follow_the_shape_of_the_batch(plain):
    model = lively(PredNetConfig(stack_sizes=(3, 4)), 5)
    recurrence = Recurrence(model, [1.0, 0.1])
    for shape in ((2, 3, 3, 4, 6), (3, 3, 3, 4, 6), (2, 5, 3, 8, 6), (2, 3, 3, 4, 6)):
        frames = random_frames(shape, 0)
        expected = plain.loss(model, frames, [1.0, 0.1]).detach()
        torch.testing.assert_close(recurrence.loss_and_gradients(frames), expected, rtol=0, atol=1e-12)


def test_a_sequence_of_one_frame_has_no_loss():
    recurrence = Recurrence(PredNet(PredNetConfig(stack_sizes=(3, 4))), [1.0, 0.0])
    with pytest.raises(ModelError, match="1 frame"):
        recurrence.loss(torch.zeros(1, 1, 3, 4, 4))
