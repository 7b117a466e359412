from dataclasses import asdict
from pathlib import Path

from prednet.cost import count_parameters
from search.config_reader import load_config
from search.export import reduced_sizes
from search.networks import plan_trial
from search.provenance import suggest_seed, trial_seed
from search.slots import device_slots

PAPER = Path(__file__).parents[2] / "configs" / "paper.yaml"


def test_sampled_values_override_the_fixed_ones_and_layers_count_from_1():
    config = load_config(PAPER)
    plan = plan_trial(
        config, {"filter_size_A1": 5, "filter_size_Ahat2": 7, "filter_size_R3": 8, "epochs": 40, "batch_size": 6}
    )
    assert plan.network.stack_sizes == (3, 48, 96, 192)
    assert plan.network.a_filter_sizes == (5, 3, 3)
    assert plan.network.ahat_filter_sizes == (3, 7, 3, 3)
    assert plan.network.r_filter_sizes == (3, 3, 8, 3)
    assert (plan.epochs, plan.batch_size, plan.training.learning_rate) == (40, 6, 1e-3)


def test_every_setting_of_training_is_reachable_from_a_configuration():
    given = {
        "loss": "Lall", "adam": "keras", "learning_rate": 0.02, "lr_drop_epoch": 7, "lr_drop_factor": 0.5,
        "precision": "bf16", "grad_clip": 2.0, "recompute_every": 3, "deterministic": True,
    }  # fmt: skip
    config = load_config(PAPER, [f"training.{key}={value}" for key, value in given.items()])
    assert asdict(plan_trial(config, {}).training) == given


def test_the_reference_network_has_the_published_number_of_parameters():
    # Lotter et al. 2017 give 6.9 million for the four-layer KITTI network.
    assert round(count_parameters(plan_trial(load_config(PAPER), {}).network) / 1e6, 1) == 6.9


def test_the_paper_samples_exactly_its_hyperparameters():
    names = set(load_config(PAPER).space)
    filters = {f"filter_size_{unit}{layer}" for unit in ("A", "Ahat", "R") for layer in (1, 2, 3)}
    assert names == filters | {"epochs", "batch_size", "train_sequences", "val_sequences", "learning_rate"}


def test_seeds_are_distinct_and_fixed():
    seeds = {trial_seed(2019, tid) for tid in range(1000)}
    assert len(seeds) == 1000 and max(seeds) < 2**63
    assert trial_seed(2019, 7) == trial_seed(2019, 7) != trial_seed(2020, 7)
    assert 0 <= suggest_seed(2019, 7) < 2**31


def test_slots_spread_over_devices():
    assert device_slots(["cuda:0", "cuda:1"], 2) == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]


def test_reduced_sizes_name_what_differs_from_the_paper_and_nothing_else():
    assert reduced_sizes(load_config(PAPER).document()) == {}
    quickstart = reduced_sizes(load_config(PAPER.with_name("quickstart.yaml")).document())
    assert quickstart["training sequences an epoch"] == {"ours": "8..16", "paper": "100..1900"}
    assert quickstart["images an object"] == {"ours": 6, "paper": 12}
    assert quickstart["planned epochs"] == {"ours": "60..100", "paper": "10..390"}
