"""The original Keras code (coxlab/prednet@843b452, float64) and ours give the same numbers."""

import copy
import math

import numpy as np
import pytest
import torch

from prednet.recurrence import Recurrence, layer_weights


def loss_of(model, frames, loss):
    return Recurrence(model, layer_weights(loss, model.config.n_layers)).loss(frames)


def channels_last(tensor):
    return tensor.detach().numpy().transpose(0, 2, 3, 1)


@pytest.mark.parametrize("name", ["odd", "even", "extrap"])
def test_activations_errors_and_predictions(oracle, name):
    case = oracle(name)
    output = case.model(case.frames, extrap_start_time=case.settings.get("extrap_start_time"), activations=True)
    np.testing.assert_allclose(output.errors.detach(), case.arrays["error"], rtol=0, atol=1e-10)
    predictions = output.predictions.detach().numpy().transpose(0, 1, 3, 4, 2)
    np.testing.assert_allclose(predictions, case.arrays["prediction"], rtol=0, atol=2e-7)
    compared = 0
    for t, units in enumerate(output.activations):
        for kind, layers in (("A", units.a), ("Ahat", units.ahat), ("R", units.r), ("E", units.e)):
            for n, tensor in enumerate(layers):
                if f"{kind}{n}" in case.arrays:
                    expected = case.arrays[f"{kind}{n}"][:, t]
                    # Recorded as float32: half a unit in the last place is 6e-8 of the value.
                    np.testing.assert_allclose(channels_last(tensor), expected, rtol=6e-8, atol=2e-7)
                    compared += 1
    assert compared >= 10 * len(output.activations)


@pytest.mark.parametrize("name", ["odd", "even"])
@pytest.mark.parametrize("loss", ["L0", "Lall"])
def test_losses_and_gradients(oracle, name, loss):
    case = oracle(name)
    recurrence = Recurrence(case.model, layer_weights(loss, case.model.config.n_layers))
    value = recurrence.loss_and_gradients(case.frames)
    assert abs(float(value) - float(case.arrays[f"loss_{loss}"])) < 1e-10
    gradients = case.in_keras_layout(lambda parameter: parameter.grad)
    norms = [np.linalg.norm(gradients[name]) for name in case.weight_names]
    np.testing.assert_allclose(norms, case.arrays[f"gradnorm_{loss}"], rtol=1e-9, atol=1e-14)
    if loss == "L0":
        for weight_name, gradient in gradients.items():
            expected = case.arrays[f"g/{weight_name}"]
            np.testing.assert_allclose(gradient, expected, rtol=2e-7, atol=1e-10)


# TensorFlow 1 keeps weights in variables that the optimiser changes in place, while the last iteration of a
# back-propagation loop may still be reading them. In this run the third step wrote the kernel of Ahat_0 before t = 0
# had read it. `test_the_run_that_was_recorded_with_a_race` reads it as late, and gets the recorded numbers.
RACED = ("odd", "Lall")


def one_step(optimizer, step):
    """Keras puts epsilon outside of the bias correction."""
    optimizer.param_groups[0]["eps"] = 1e-7 / math.sqrt(1 - 0.999**step)
    optimizer.step()


def assert_recorded_after_three_steps(case, loss):
    assert abs(float(loss_of(case.model, case.frames, loss)) - float(case.arrays[f"loss_after3_{loss}"])) < 1e-10
    weights = case.in_keras_layout(lambda parameter: parameter)
    norms = [np.linalg.norm(weights[name]) for name in case.weight_names]
    np.testing.assert_allclose(norms, case.arrays[f"wnorm_after3_{loss}"], rtol=1e-10)


@pytest.mark.parametrize("name", ["odd", "even"])
@pytest.mark.parametrize("loss", ["L0", "Lall"])
def test_three_steps_of_keras_adam(oracle, plain, name, loss):
    case = oracle(name)
    recurrence = Recurrence(case.model, layer_weights(loss, case.model.config.n_layers))
    optimizer = torch.optim.Adam(case.model.parameters(), lr=1e-3)
    losses = []
    for step in range(1, 4):
        losses.append(float(recurrence.loss_and_gradients(case.frames)))
        one_step(optimizer, step)
    np.testing.assert_allclose(losses, case.arrays[f"train_losses_{loss}"], rtol=0, atol=1e-10)
    after = float(loss_of(case.model, case.frames, loss))
    assert abs(after - plain_loss_after_three_steps(plain, oracle(name), loss)) < 1e-12
    if (name, loss) != RACED:
        assert_recorded_after_three_steps(case, loss)


def test_the_run_that_was_recorded_with_a_race(oracle):
    name, loss = RACED
    case = oracle(name)
    weights = torch.tensor(layer_weights(loss, case.model.config.n_layers), dtype=torch.float64)

    def advance(model, optimizer, step):
        optimizer.zero_grad()
        (model(case.frames).errors[:, 1:] @ weights).mean().backward()
        one_step(optimizer, step)

    optimizer = torch.optim.Adam(case.model.parameters(), lr=1e-3)
    for step in (1, 2):
        advance(case.model, optimizer, step)
    ahead, ahead_optimizer = copy.deepcopy((case.model, optimizer))
    advance(ahead, ahead_optimizer, 3)
    written = ahead.ahat[0].weight.detach()
    remaining = list(range(case.frames.shape[1]))

    def read_late(_, grad_input, grad_output):
        if remaining.pop() == 0:
            return (torch.nn.grad.conv2d_input(grad_input[0].shape, written, grad_output[0], padding=1),)

    case.model.ahat[0].register_full_backward_hook(read_late)
    advance(case.model, optimizer, 3)
    assert not remaining
    assert_recorded_after_three_steps(case, loss)


def plain_loss_after_three_steps(plain, case, loss):
    """Autograd through the plain implementation, and Adam as Keras writes it, epsilon outside of the correction."""
    weights = layer_weights(loss, case.model.config.n_layers)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in case.model.parameters()]
    for step in range(1, 4):
        case.model.zero_grad()
        plain.loss(case.model, case.frames, weights).backward()
        rate = 1e-3 * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        with torch.no_grad():
            for p, (m, v) in zip(case.model.parameters(), moments, strict=True):
                m.mul_(0.9).add_(0.1 * p.grad)
                v.mul_(0.999).add_(0.001 * p.grad**2)
                p.sub_(rate * m / (v.sqrt() + 1e-7))
    return float(plain.loss(case.model, case.frames, weights).detach())
