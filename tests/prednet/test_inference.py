"""The steps without gradients give what the network gives, in float64 to rounding and in bfloat16 nearly."""

import pytest
import torch

from prednet.config import PredNetConfig
from prednet.inference import Inference
from prednet.model import PredNet, State

ARCHITECTURES = [
    PredNetConfig(stack_sizes=(3,), r_stack_sizes=(2,), r_filter_sizes=(2,)),
    PredNetConfig(stack_sizes=(3, 4, 6)),
    PredNetConfig(stack_sizes=(3, 4, 5), r_stack_sizes=(2, 6, 3), a_filter_sizes=(2, 8), ahat_filter_sizes=(1, 4, 7)),
    PredNetConfig(stack_sizes=(1, 2, 3), r_filter_sizes=(8, 6, 5), convention="theano", pixel_max=0.5),
]


def lively(config):
    """A float64 network with random biases, so that gates and predictions saturate here and there."""
    model = PredNet(config, seed=3).double()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


@torch.inference_mode()
def steps(network, frames):
    """[(R, C, A, Ahat, E)] of each step."""
    state, found = network.initial_state(*frames.shape[-2:]), []
    for t in range(frames.shape[1]):
        r, c = network.top_down(state)
        units = network.bottom_up(r, frames[:, t], network.predict(r[0], 0))
        state = State(r, c, units.e)
        found.append((r, c, units.a, units.ahat, units.e))
    return found


def frames_for(config, dtype=torch.float64):
    shape = (3, 4, config.stack_sizes[0], 8, 12)
    return config.pixel_max * torch.rand(shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(
        dtype
    )


@pytest.mark.parametrize("config", ARCHITECTURES)
def test_every_unit_equals_that_of_the_network(config):
    model, frames = lively(config), frames_for(config)
    for ours, expected in zip(steps(Inference(model), frames), steps(model, frames), strict=True):
        for layers, expected_layers in zip(ours, expected, strict=True):
            for tensor, other in zip(layers, expected_layers, strict=True):
                torch.testing.assert_close(tensor, other, rtol=0, atol=1e-12)


def test_layers_below_the_lowest_are_left_alone():
    model = lively(ARCHITECTURES[1])
    state = model.initial_state(8, 12)
    r, c = Inference(model).top_down(state, lowest=1)
    expected_r, expected_c = model.top_down(state, lowest=1)
    assert torch.equal(r[0], state.r[0]) and torch.equal(c[0], state.c[0])
    torch.testing.assert_close(r[1:] + c[1:], expected_r[1:] + expected_c[1:], rtol=0, atol=1e-12)


def test_the_state_that_is_passed_in_stays_as_it_was():
    model, frames = lively(ARCHITECTURES[1]), frames_for(ARCHITECTURES[1])
    network = Inference(model)
    r, c = network.top_down(model.initial_state(8, 12))
    state = State(r, c, network.bottom_up(r, frames[:, 0]).e)
    before = [[tensor.clone() for tensor in layers] for layers in state]
    r, _ = network.top_down(state)
    network.bottom_up(r, frames[:, 1])
    for layers, copies in zip(state, before, strict=True):
        for tensor, copy in zip(layers, copies, strict=True):
            assert torch.equal(tensor, copy)


def test_bf16_rounds_but_stays_close_and_hands_out_float32():
    model = PredNet(PredNetConfig(stack_sizes=(3, 8, 16)), seed=0)
    frames = frames_for(model.config, torch.float32)
    exact, rounded = steps(model, frames)[-1], steps(Inference(model, bf16=True), frames)[-1]
    for ours, expected in zip(rounded[0] + rounded[3], exact[0] + exact[3], strict=True):
        assert ours.dtype == torch.float32
        assert 0 < float((ours - expected).abs().max()) < 0.02


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-6])
def test_an_almost_dead_network_keeps_its_pattern(scale):
    """HMS and matching know no scale: the relative error of each layer counts, however small its units are."""
    exact = lively(ARCHITECTURES[2])
    with torch.no_grad():
        for parameter in exact.parameters():
            parameter.mul_(scale)
        single = PredNet(exact.config)
        for parameter, value in zip(single.parameters(), exact.parameters(), strict=True):
            parameter.copy_(value)
            value.copy_(parameter)
    frames = frames_for(exact.config, torch.float32)
    found, expected = steps(Inference(single), frames), steps(exact, frames.double())
    for (r, *_), (r_exact, *_) in zip(found[1:], expected[1:], strict=True):
        for units, units_exact in zip(r, r_exact, strict=True):
            error = torch.linalg.vector_norm(units.double() - units_exact) / torch.linalg.vector_norm(units_exact)
            assert error < 3e-6
