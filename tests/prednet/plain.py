"""PredNet written out as the specification reads: slow, separate convolutions, explicit padding, no shortcuts.

It takes only the weights from the network under test. Fixtures hand this module to the tests, and
`scripts/benchmarks/training.py` measures against it.
"""

import torch
import torch.nn.functional as F


def hard_sigmoid(x):
    return torch.clamp(0.2 * x + 0.5, 0, 1)


def same_conv(x, kernel, bias, convention):
    """Padding of TensorFlow: (k-1)//2 before and k//2 after; of Theano: the other way around."""
    k = kernel.shape[-1]
    before, after = (k - 1) // 2, k // 2
    if convention == "theano":
        before, after = after, before
    return F.conv2d(F.pad(x, (before, after, before, after)), kernel, bias)


def run(model, frames, extrap_start_time=None):
    """frames (B, T, C, H, W) -> predictions (B, T, C, H, W), errors (B, T, L), units [t][name][layer]."""
    config = model.config
    n_layers, padding = config.n_layers, config.convention
    batch, steps, _, height, width = frames.shape
    a_sizes, r_sizes = config.stack_sizes, config.r_stack_sizes

    def blank(channels, layer):
        return frames.new_zeros(batch, channels, height // 2**layer, width // 2**layer)

    def gate(layer, index, x):
        rows = slice(index * r_sizes[layer], (index + 1) * r_sizes[layer])
        conv = model.gates[layer]
        return same_conv(x, conv.weight[rows], conv.bias[rows], padding)

    R = [blank(r_sizes[n], n) for n in range(n_layers)]
    C = [blank(r_sizes[n], n) for n in range(n_layers)]
    E = [blank(2 * a_sizes[n], n) for n in range(n_layers)]
    predictions, errors, units = [], [], []
    for t in range(steps):
        for n in reversed(range(n_layers)):
            parts = [R[n], E[n]]
            if n < n_layers - 1:
                parts.append(R[n + 1].repeat_interleave(2, dim=2).repeat_interleave(2, dim=3))
            x = torch.cat(parts, dim=1)
            i, f, o = (hard_sigmoid(gate(n, index, x)) for index in range(3))
            C[n] = f * C[n] + i * torch.tanh(gate(n, 3, x))
            R[n] = o * torch.tanh(C[n])
        extrapolating = extrap_start_time is not None and t >= extrap_start_time
        A, Ahat = [predictions[-1] if extrapolating else frames[:, t]], []
        for n in range(n_layers):
            conv = model.ahat[n]
            ahat = F.relu(same_conv(R[n], conv.weight, conv.bias, padding))
            Ahat.append(torch.clamp(ahat, max=config.pixel_max) if n == 0 else ahat)
            E[n] = torch.cat([F.relu(Ahat[n] - A[n]), F.relu(A[n] - Ahat[n])], dim=1)
            if n < n_layers - 1:
                conv = model.a[n]
                A.append(F.max_pool2d(F.relu(same_conv(E[n], conv.weight, conv.bias, padding)), 2))
        predictions.append(Ahat[0])
        errors.append(torch.stack([e.flatten(1).mean(dim=1) for e in E], dim=1))
        units.append({"A": A, "Ahat": Ahat, "R": list(R), "E": list(E)})
    return torch.stack(predictions, 1), torch.stack(errors, 1), units


def loss(model, frames, layer_weights):
    """Batch mean of the layer errors, weighted over layers, and over time: 0 at t = 0, then 1 / (nt - 1)."""
    _, errors, _ = run(model, frames)
    steps = frames.shape[1]
    time_weights = errors.new_tensor([0.0] + [1.0 / (steps - 1)] * (steps - 1))
    return torch.einsum("btl,t,l->b", errors, time_weights, errors.new_tensor(layer_weights)).mean()
