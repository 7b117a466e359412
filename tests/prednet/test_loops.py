"""The network equals the specification written in NumPy loops, from a file of weights on; nothing is shared.

The loops convolve as the two backends do: TensorFlow cross-correlates and pads (k - 1) // 2 before; Theano flips the
kernel and pads k // 2 before. Frames are (H, W, channels), kernels (kh, kw, in, out).
"""

import h5py
import numpy as np
import pytest
import torch

from prednet.keras_weights import load_keras_weights

A_SIZES, R_SIZES = (2, 3, 2), (2, 1, 3)


def random_weights(filters, rng):
    """{Keras name: array} of three layers; `filters` gives the sizes of a, ahat and the gates from layer 0 up."""
    weights = {}

    def convolution(name, k, inputs, outputs):
        weights[f"{name}/kernel"] = rng.normal(0, 1.5 / (k * np.sqrt(inputs)), (k, k, inputs, outputs))
        weights[f"{name}/bias"] = rng.normal(0, 0.7, outputs)

    for n in range(2):
        convolution(f"a_{n}", filters["a"][n], 2 * A_SIZES[n], A_SIZES[n + 1])
    for n in range(3):
        convolution(f"ahat_{n}", filters["ahat"][n], R_SIZES[n], A_SIZES[n])
    for gate in "cfio":
        for n in range(3):
            above = R_SIZES[n + 1] if n < 2 else 0
            convolution(f"{gate}_{n}", filters["gates"][n], R_SIZES[n] + 2 * A_SIZES[n] + above, R_SIZES[n])
    weights["ahat_0/kernel"] *= 8  # some predicted pixels reach 0, some 1
    return {name: array.astype(np.float32) for name, array in weights.items()}


def convolve(x, kernel, bias, backend):
    k = kernel.shape[0]
    height, width, _ = x.shape
    out = np.zeros((height, width, len(bias))) + bias
    for row in range(height):
        for column in range(width):
            for i in range(k):
                for j in range(k):
                    if backend == "tensorflow":
                        y, z = row + i - (k - 1) // 2, column + j - (k - 1) // 2
                    else:
                        y, z = row + (k - 1 - i) - k // 2, column + (k - 1 - j) - k // 2
                    if 0 <= y < height and 0 <= z < width:
                        for channel in range(x.shape[2]):
                            out[row, column] += x[y, z, channel] * kernel[i, j, channel].astype(float)
    return out


def predict_in_loops(weights, frames, backend, extrap_start_time):
    """(predictions, layer errors) of each step for frames (T, H, W, C)."""

    def conv(name, x):
        return convolve(x, weights[f"{name}/kernel"], weights[f"{name}/bias"], backend)

    def gate(name, x):
        return np.clip(0.2 * conv(name, x) + 0.5, 0, 1)

    height, width = frames.shape[1:3]
    r = [np.zeros((height >> n, width >> n, R_SIZES[n])) for n in range(3)]
    c = [np.zeros((height >> n, width >> n, R_SIZES[n])) for n in range(3)]
    e = [np.zeros((height >> n, width >> n, 2 * A_SIZES[n])) for n in range(3)]
    predictions, errors = [], []
    for t, frame in enumerate(frames):
        for n in (2, 1, 0):
            above = [] if n == 2 else [np.kron(r[n + 1], np.ones((2, 2, 1)))]
            x = np.concatenate([r[n], e[n], *above], axis=2)
            c[n] = gate(f"f_{n}", x) * c[n] + gate(f"i_{n}", x) * np.tanh(conv(f"c_{n}", x))
            r[n] = gate(f"o_{n}", x) * np.tanh(c[n])
        a = frame if extrap_start_time is None or t < extrap_start_time else predictions[-1]
        for n in (0, 1, 2):
            ahat = np.maximum(conv(f"ahat_{n}", r[n]), 0)
            if n == 0:
                ahat = np.minimum(ahat, 1)
                predictions.append(ahat)
            e[n] = np.concatenate([np.maximum(ahat - a, 0), np.maximum(a - ahat, 0)], axis=2)
            if n < 2:
                a = np.maximum(conv(f"a_{n}", e[n]), 0)
                a = a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2, -1).max(axis=(1, 3))
        errors.append([units.mean() for units in e])
    return np.array(predictions), np.array(errors)


@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
@pytest.mark.parametrize(
    "filters",
    [
        {"a": (3, 1), "ahat": (5, 3, 3), "gates": (3, 3, 5)},
        {"a": (2, 4), "ahat": (4, 1, 6), "gates": (3, 2, 8)},
    ],
    ids=["odd", "even"],
)
@pytest.mark.parametrize("extrap_start_time", [None, 2])
def test_a_file_of_weights_computes_what_the_loops_compute(tmp_path, backend, filters, extrap_start_time):
    rng = np.random.default_rng(3)
    weights = random_weights(filters, rng)
    with h5py.File(tmp_path / "w.hdf5", "w") as file:
        file.attrs["backend"] = backend
        group = file.create_group("pred_net_1")
        group.attrs["weight_names"] = [f"pred_net_1/layer_{name}:0" for name in weights]
        for name, array in weights.items():
            group[f"pred_net_1/layer_{name}:0"] = array
    frames = rng.random((3, 4, 8, A_SIZES[0]))
    predictions, errors = predict_in_loops(weights, frames, backend, extrap_start_time)
    model = load_keras_weights(tmp_path / "w.hdf5").double()
    with torch.no_grad():
        output = model(torch.from_numpy(frames).permute(0, 3, 1, 2)[None], extrap_start_time=extrap_start_time)
    np.testing.assert_allclose(output.predictions[0].permute(0, 2, 3, 1), predictions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(output.errors[0], errors, rtol=0, atol=1e-12)
    assert (predictions == 1).any() and (predictions == 0).any() and ((predictions > 0) & (predictions < 1)).any()
