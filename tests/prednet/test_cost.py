import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.cost import checkpoint_bytes, count_parameters, flops_per_sequence, network_file_bytes
from prednet.model import PredNet
from prednet.recurrence import layer_weights
from prednet.train import TrainConfig, Trainer

FILTERS = st.lists(st.integers(1, 8), min_size=3, max_size=3)


def sampled(a, ahat, r):
    return PredNetConfig(
        stack_sizes=(3, 4, 6), r_stack_sizes=(3, 5, 4), a_filter_sizes=a[:2], ahat_filter_sizes=ahat, r_filter_sizes=r
    )


def counted(action):
    with FlopCounterMode(display=False) as counter:
        action()
    return counter.get_total_flops()


@settings(max_examples=8, deadline=None)
@given(a=FILTERS, ahat=FILTERS, r=FILTERS)
def test_forward_flops_are_those_that_torch_counts_in_the_plain_network(plain, a, ahat, r):
    config = sampled(a, ahat, r)
    frames = torch.rand(1, 3, 3, 8, 12)
    assert counted(lambda: plain.run(PredNet(config), frames)) == flops_per_sequence(config, 8, 12, 3)


def test_training_flops_count_all_gradients_of_which_the_first_and_last_steps_skip_some(plain):
    config = sampled((3, 4, 3), (3, 3, 5), (3, 2, 3))
    model, frames = PredNet(config), torch.rand(1, 10, 3, 8, 12)
    found = counted(lambda: plain.loss(model, frames, layer_weights("L0", 3)).backward())
    nominal = flops_per_sequence(config, 8, 12, 10, training=True)
    assert 0.85 * nominal < found <= nominal


def test_parameters_are_those_of_the_network():
    config = sampled((3, 4, 3), (3, 3, 5), (1, 8, 3))
    assert count_parameters(config) == sum(p.numel() for p in PredNet(config).parameters())


def test_files_have_the_size_that_is_planned(tmp_path):
    config = PredNetConfig(stack_sizes=(3, 32, 64), r_filter_sizes=(3, 5, 5))
    trainer = Trainer(PredNet(config), TrainConfig())
    trainer.step(torch.randint(0, 256, (1, 2, 8, 8, 3), dtype=torch.uint8).numpy())
    weights = {key: value.clone() for key, value in trainer.model.state_dict().items()}
    save_checkpoint(tmp_path / "checkpoint.pt", {"trainer": trainer.state_dict(), "best": {"weights": weights}})
    save_checkpoint(tmp_path / "network.pt", {"config": config.to_dict(), "model": weights})
    for name, planned in (("checkpoint", checkpoint_bytes(config)), ("network", network_file_bytes(config))):
        size = (tmp_path / f"{name}.pt").stat().st_size
        assert planned <= size < 1.05 * planned
