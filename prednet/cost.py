"""What a network costs before it is built: parameters, floating-point operations, files."""

from __future__ import annotations

from prednet.config import PredNetConfig


def count_parameters(config: PredNetConfig) -> int:
    """Trainable numbers of the network: kernels and biases of all convolutions."""
    return sum((inputs * k * k + 1) * outputs for _, inputs, outputs, k in _convolutions(config))


def flops_per_sequence(config: PredNetConfig, height: int, width: int, nt: int, *, training: bool = False) -> float:
    """Floating-point operations of the convolutions for one sequence of `nt` frames.

    A multiply and an add count as two; element-wise operations, a few per cent, are left out. With `training`, the
    two gradients of each convolution are added: three times the forward pass.

    Raises:
        ModelError: when the frame size doesn't fit the network.
    """
    config.check_frames(height, width)
    macs = sum(
        (height >> layer) * (width >> layer) * inputs * outputs * k * k
        for layer, inputs, outputs, k in _convolutions(config)
    )
    return 2.0 * macs * nt * (3 if training else 1)


def network_file_bytes(config: PredNetConfig) -> int:
    """Size of a file that holds the weights, in float32."""
    return 4 * count_parameters(config)


def checkpoint_bytes(config: PredNetConfig) -> int:
    """Size of a checkpoint of a running trial: the weights, Adam's two moments of them, and the best weights so far."""
    return 16 * count_parameters(config)


def _convolutions(config: PredNetConfig) -> list[tuple[int, int, int, int]]:
    """(layer whose map it runs on, input channels, output channels, filter size) of each convolution."""
    a, r = config.stack_sizes, config.r_stack_sizes
    layers = range(config.n_layers)
    gates = [(n, config.gate_inputs(n), 4 * r[n], config.r_filter_sizes[n]) for n in layers]
    ahat = [(n, r[n], a[n], config.ahat_filter_sizes[n]) for n in layers]
    upward = [(n, 2 * a[n], a[n + 1], config.a_filter_sizes[n]) for n in layers[:-1]]
    return gates + ahat + upward
