"""The readable network equals the plain implementation for any architecture, and itself where it must."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from prednet.config import PredNetConfig
from prednet.model import PredNet

KERNELS = st.integers(1, 8)
bounded = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def networks(draw):
    """A saturating float64 network of 1-6 layers, kernels up to 8 on top maps of 1x1 to 2x3, and frames for it."""
    layers = draw(st.integers(1, 6))

    def sizes(count, values):
        return tuple(draw(st.lists(values, min_size=count, max_size=count)))

    config = PredNetConfig(
        stack_sizes=(draw(st.sampled_from([1, 3])), *sizes(layers - 1, st.integers(1, 3))),
        r_stack_sizes=sizes(layers, st.integers(1, 3)),
        a_filter_sizes=sizes(layers - 1, KERNELS),
        ahat_filter_sizes=sizes(layers, KERNELS),
        r_filter_sizes=sizes(layers, KERNELS),
        pixel_max=draw(st.sampled_from([1.0, 0.5])),
        convention=draw(st.sampled_from(["tensorflow", "theano"])),
    )
    rng = torch.Generator().manual_seed(draw(st.integers(0, 2**20)))
    model = PredNet(config, generator=rng).double()
    for parameter in model.parameters():
        parameter.data *= 1.5
        if parameter.ndim == 1:
            parameter.data += torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
    height, width = draw(st.integers(1, 2)) << (layers - 1), draw(st.integers(1, 3)) << (layers - 1)
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 4)), config.stack_sizes[0], height, width)
    return model, config.pixel_max * torch.rand(shape, generator=rng, dtype=torch.float64)


@given(case=networks(), extrap_start_time=st.sampled_from([None, 1, 2]))
@bounded
def test_every_unit_of_every_step_equals_the_plain_implementation(plain, case, extrap_start_time):
    model, frames = case
    with torch.no_grad():
        output = model(frames, extrap_start_time=extrap_start_time, activations=True)
        predictions, errors, units = plain.run(model, frames, extrap_start_time)
    torch.testing.assert_close(output.predictions, predictions, rtol=0, atol=1e-12)
    torch.testing.assert_close(output.errors, errors, rtol=0, atol=1e-12)
    assert len(output.activations) == len(units) == frames.shape[1]
    for ours, theirs in zip(output.activations, units, strict=True):
        for name, layers in (("A", ours.a), ("Ahat", ours.ahat), ("R", ours.r), ("E", ours.e)):
            for tensor, expected in zip(layers, theirs[name], strict=True):
                torch.testing.assert_close(tensor.expand_as(expected), expected, rtol=0, atol=1e-12)


@given(case=networks())
@bounded
def test_gradients_equal_those_of_the_plain_implementation(plain, case):
    model, frames = case
    # The steps weigh differently, so that a gradient of the wrong step would show.
    weights = torch.linspace(0.5, 1, frames.shape[1], dtype=torch.float64)[:, None]
    (model(frames).errors * weights).sum().backward()
    ours = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    (plain.run(model, frames)[1] * weights).sum().backward()
    for gradient, parameter in zip(ours, model.parameters(), strict=True):
        if parameter.grad is None:  # what no step reads, such as A of the top layer
            assert gradient is None
        else:
            torch.testing.assert_close(gradient, parameter.grad, rtol=1e-10, atol=1e-12)


@given(case=networks())
@bounded
def test_a_sequence_does_not_see_its_batch_nor_its_future(case):
    model, frames = case
    with torch.no_grad():
        whole = model(frames)
        alone, early = model(frames[-1:]), model(frames[:, :1])
    torch.testing.assert_close(alone.errors, whole.errors[-1:], rtol=0, atol=1e-12)
    torch.testing.assert_close(early.predictions, whole.predictions[:, :1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("pixel_max", [0.5, 1.0])
def test_predictions_stay_within_the_range_of_pixels(pixel_max):
    model = PredNet(PredNetConfig((3, 4), pixel_max=pixel_max), seed=0)
    model.ahat[0].bias.data += torch.tensor([5.0, -5.0, 0.2])
    with torch.no_grad():
        predictions = model(torch.zeros(1, 2, 3, 8, 8)).predictions
    assert torch.all(predictions[:, :, 0] == pixel_max) and torch.all(predictions[:, :, 1] == 0)
    assert 0 < predictions[:, :, 2].mean() < pixel_max
