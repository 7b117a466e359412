"""The real learner on real video: continued anywhere, it ends with the weights of an unbroken run, bit by bit."""

import pytest
import torch

from prednet.checkpoint import load_checkpoint, load_network, save_checkpoint
from search.config_reader import parse_config
from search.learning_curve import read_curve
from search.order import Preempted, TrialOrder
from search.prednet_learner import PredNetLearner

CONFIG = {
    "search": {"name": "t"},
    "space": {"learning_rate": {"uniform": [0.001, 0.01]}},
    "data": {"height": 24, "width": 32},
    "network": {"channels": [3, 4, 8]},
    "metrics": {
        "mse": {"max_windows": 2},
        "matching": {"objects": 4, "views": 2, "gallery": 2, "same_family": 1, "trials": 2, "frames": 2},
    },
}
TRAINING = {"nt": 4, "epochs": 3, "batch_size": 2, "train_sequences": 5, "val_sequences": 3, "device": "cpu"}


@pytest.fixture
def root(small_data):
    return small_data


@pytest.fixture
def learner(root, tmp_path):
    def learner(name, seed=11, **training):
        config = parse_config({**CONFIG, "training": {**TRAINING, **training}}, source="the test")
        params = {"learning_rate": 5e-3}
        own = tmp_path / name / "attempt" if name == "kept" else None
        order = TrialOrder("t", 0, seed, params, config, tmp_path / name, root, "cpu", threads=1, attempt_folder=own)
        order.folder.mkdir(exist_ok=True)
        return PredNetLearner(order)

    return learner


class StopAfter:
    """A `check` that asks the learner to stop at its n-th call."""

    def __init__(self, calls):
        self.left = calls

    def __call__(self):
        self.left -= 1
        if self.left < 0:
            raise Preempted


def weights(learner):
    return {name: value.clone() for name, value in learner.model.state_dict().items()}


def on(learner, first=1):
    for epoch in range(first, 4):
        learner.train_epoch(epoch, lambda: None)
    return learner


@pytest.mark.parametrize(
    ("adam", "loss", "precision"),
    [("torch", "L0", "fp32"), ("keras", "Lall", "bf16"), ("keras", "L0", "fp32"), ("torch", "Lall", "bf16")],
)
def test_a_trial_stopped_anywhere_ends_with_the_weights_of_an_unbroken_one(learner, tmp_path, adam, loss, precision):
    settings = {"adam": adam, "loss": loss, "precision": precision, "lr_drop_epoch": 2, "grad_clip": 0.1}
    unbroken = on(learner("unbroken", **settings))
    # An epoch asks five times: after each of three steps, then after each of two validation batches.
    for stopped_at in (1, 4, 7):
        broken = learner(f"broken{stopped_at}", **settings)
        check = StopAfter(stopped_at)
        with pytest.raises(Preempted):
            for epoch in (1, 2, 3):
                broken.train_epoch(epoch, check)
        digest = save_checkpoint(tmp_path / "state.pt", broken.state())
        resumed = learner(f"broken{stopped_at}", **settings)
        resumed.restore(load_checkpoint(tmp_path / "state.pt", digest))
        on(resumed, first=epoch)
        expected = weights(unbroken)
        for name, value in weights(resumed).items():
            assert torch.equal(value, expected[name]), (stopped_at, name)
        assert (resumed.train_loss, resumed.val_loss) == (unbroken.train_loss, unbroken.val_loss)
        curves = [read_curve(tmp_path / name / "curve.csv") for name in ("unbroken", f"broken{stopped_at}")]
        kept = [[{key: row[key] for key in row if key != "seconds"} for row in curve] for curve in curves]
        assert kept[0] == kept[1] and [row["epoch"] for row in kept[0]] == [1, 2, 3]
        assert [row["learning_rate"] for row in kept[0]] == pytest.approx([5e-3, 5e-3, 5e-4])


def test_the_seed_decides_weights_and_order_and_global_generators_nothing(learner):
    first = weights(on(learner("first")))
    torch.manual_seed(99)
    again, other = weights(on(learner("again"))), weights(on(learner("other", seed=12)))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if name.endswith("weight"))


def test_last_and_best_weights_are_left_for_a_person(learner, tmp_path):
    trained = on(learner("kept", tensorboard=True))
    trained.evaluate(lambda: None)
    trained.conclude(lambda: None)
    shared, folder = tmp_path / "kept", tmp_path / "kept" / "attempt"
    assert {path.name for path in folder.iterdir()} == {"network.pt", "best.pt", "rdm.npz", "predictions.npz"}
    assert {path.name for path in shared.iterdir()} == {"attempt", "curve.csv", "tensorboard"}
    last, best = (load_network(folder / f"{name}.pt").state_dict() for name in ("network", "best"))
    assert all(torch.equal(last[name], value) for name, value in weights(trained).items())
    assert all(torch.equal(best[name], value) for name, value in trained.best["weights"].items())
    assert (
        trained.best["epoch"] == min(read_curve(tmp_path / "kept" / "curve.csv"), key=lambda r: r["val_loss"])["epoch"]
    )
    assert {path.name for path in (tmp_path / "kept" / "tensorboard").iterdir()} == {"training", "evaluation"}
