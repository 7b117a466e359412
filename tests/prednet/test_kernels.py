"""A folded kernel computes what the convolution that it was cut from computes, and its gradients are the transposes."""

import pytest
import torch
import torch.nn.functional as F

from prednet.kernels import Kernel, UpsampledKernel, tanh_from
from prednet.model import SameConv2d

KERNELS = range(1, 9)
CONVENTIONS = ["tensorflow", "theano"]


def convolution(k, convention, inputs=5, r=2):
    conv = SameConv2d(inputs, r, k, convention, torch.Generator().manual_seed(k), blocks=4).double()
    torch.nn.init.normal_(conv.bias, generator=torch.Generator().manual_seed(1))
    return conv


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("k", KERNELS)
@pytest.mark.parametrize("size", [(3, 4), (1, 1), (5, 2)])
@torch.no_grad()
def test_gates_read_the_map_above_before_it_is_upsampled(k, convention, size):
    conv, own, above = convolution(k, convention), numbers(2, 2, 2 * size[0], 2 * size[1]), numbers(2, 3, *size)
    kernel = Kernel(conv, torch.float64, columns=slice(2), gates=True)
    upsampled = UpsampledKernel(conv, torch.float64, slice(2, None))
    y = kernel.crop(kernel(own)).clone()
    upsampled.add_to(y, upsampled(above))
    i_f_o, g = conv(torch.cat([own, F.interpolate(above, scale_factor=2, mode="nearest")], dim=1)).split([6, 2], dim=1)
    torch.testing.assert_close(y, torch.cat([0.2 * i_f_o + 0.5, 2 * g], dim=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("k", KERNELS)
def test_gradients_before_the_upsampling_are_those_after_it(k, convention):
    conv, above, dy = convolution(k, convention, inputs=3), numbers(2, 3, 3, 4), numbers(2, 8, 6, 8, seed=1)
    read = above.clone().requires_grad_()
    conv(F.interpolate(read, scale_factor=2, mode="nearest")).backward(dy)
    expected = conv.weight.grad.clone()
    conv.zero_grad(set_to_none=False)
    kernel = UpsampledKernel(conv, torch.float64, slice(None))
    # As in the recurrence, gradients come with respect to 0.2 * conv for i, f, o and to conv for g.
    dy[:, :6] /= 0.2
    with torch.no_grad():
        full = torch.zeros_like(kernel(above))
        kernel.collect(dy, full)
        torch.testing.assert_close(kernel.input_gradient(full, above), read.grad, rtol=0, atol=1e-11)
        kernel.add_gradients(full, above)
    torch.testing.assert_close(conv.weight.grad, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("k", KERNELS)
def test_the_small_kernel_is_never_larger(k, convention):
    kernel = UpsampledKernel(convolution(k, convention), torch.float64, slice(None))
    small = kernel.weight.shape[-1]
    assert small <= k
    assert (small / k) ** 2 <= 4 / 9 or k in (1, 2, 4)


def test_tanh_is_exact_near_zero_and_far_from_it():
    y = torch.cat([torch.logspace(-300, 3, 200, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)])
    for values in (y, -y):
        torch.testing.assert_close(tanh_from(2 * values), torch.tanh(values), rtol=1e-14, atol=0)
