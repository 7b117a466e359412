import json

import pytest

from prednet.config import PredNetConfig
from prednet.cost import count_parameters, flops_per_sequence
from prednet.errors import ModelError
from prednet.model import PredNet


def test_defaults_are_the_network_of_lotter():
    config = PredNetConfig()
    assert config.r_stack_sizes == (3, 48, 96, 192)
    assert config.a_filter_sizes == (3, 3, 3)
    assert config.ahat_filter_sizes == config.r_filter_sizes == (3, 3, 3, 3)
    # 6,915,948 trainable parameters: as Keras counts them for the published KITTI network.
    assert count_parameters(config) == 6_915_948


def test_json_round_trip():
    config = PredNetConfig((3, 4), (5, 6), (2,), (1, 8), (4, 7), 1.0, "theano")
    assert PredNetConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert PredNetConfig.from_dict({"stack_sizes": [3, 4], "r_stack_sizes": None}) == PredNetConfig((3, 4))


def test_count_equals_the_parameters_of_the_network():
    config = PredNetConfig((3, 4, 5), (2, 6, 7), (2, 5), (1, 8, 3), (4, 7, 3))
    assert count_parameters(config) == sum(p.numel() for p in PredNet(config).parameters())


def test_flops_of_a_network_counted_by_hand():
    config = PredNetConfig((1, 2), (3, 4), (5,), (1, 2), (3, 3))
    gates = 48 * (3 + 2 + 4) * 12 * 9 + 12 * (4 + 4) * 16 * 9
    rest = 48 * 3 * 1 * 1 + 12 * 4 * 2 * 4 + 48 * 2 * 2 * 25
    assert flops_per_sequence(config, 6, 8, 10) == 2 * 10 * (gates + rest)
    assert flops_per_sequence(config, 6, 8, 10, training=True) == 3 * flops_per_sequence(config, 6, 8, 10)


def test_default_network_costs_137_gflop_a_sequence():
    assert flops_per_sequence(PredNetConfig(), 128, 160, 10) / 1e9 == pytest.approx(137, abs=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stack_sizes": ()}, "stack_sizes is empty"),
        ({"stack_sizes": (3, 0)}, r"stack_sizes holds \[0\]"),
        ({"stack_sizes": (3, 4), "r_stack_sizes": (3,)}, r"r_stack_sizes has 1 numbers \[3\].*give 2"),
        ({"stack_sizes": (3, 4), "a_filter_sizes": (3, 3)}, "a_filter_sizes has 2 numbers.*give 1"),
        ({"stack_sizes": (3, 4), "r_filter_sizes": (3, 9)}, r"r_filter_sizes holds \[9\].*from 1 to 8"),
        ({"stack_sizes": (3, 4), "ahat_filter_sizes": (0, 3)}, r"ahat_filter_sizes holds \[0\]"),
        ({"stack_sizes": (3, 4), "ahat_filter_sizes": (2.5, 3)}, r"ahat_filter_sizes holds \[2.5\]"),
        ({"pixel_max": 0}, "pixel_max is 0"),
        ({"convention": "torch"}, "convention is 'torch'"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(settings, said):
    with pytest.raises(ModelError, match=said):
        PredNetConfig(**settings)


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ModelError, match="did you mean 'stack_sizes'"):
        PredNetConfig.from_dict({"stak_sizes": [3, 4]})


@pytest.mark.parametrize(("height", "width"), [(127, 160), (128, 164), (0, 8)])
def test_frames_that_do_not_divide_are_refused_with_the_numbers(height, width):
    with pytest.raises(ModelError, match=rf"{height}x{width}.*4 layers.*multiples of 8"):
        PredNetConfig().check_frames(height, width)
    PredNetConfig().check_frames(128, 160)
