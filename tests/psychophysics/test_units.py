import numpy as np
import pytest

from psychophysics.config import UnitsSection
from psychophysics.errors import StimuliError
from psychophysics.units import Unit, choose_units, refuse_silent

LAYERS = {"conv1": 8, "conv2": 16}


def chosen(seed=0, taken=(), **section):
    return choose_units(UnitsSection(**section), LAYERS, seed=seed, network="net", taken=taken)


def test_listed_units_keep_their_order():
    assert chosen(listed=("conv2/3", "conv1/0")) == [Unit("conv2", 3), Unit("conv1", 0)]


def test_a_draw_is_fixed_by_the_seed_and_of_each_layer_by_itself():
    both = chosen(layers=("conv1", "conv2"), per_layer=3)
    assert both == chosen(layers=("conv1", "conv2"), per_layer=3)
    assert [unit for unit in both if unit.layer == "conv2"] == chosen(layers=("conv2",), per_layer=3)
    assert len({tuple(chosen(seed, layers=("conv2",), per_layer=3)) for seed in range(20)}) > 10


def test_units_in_use_and_excluded_ones_are_not_drawn():
    taken = [Unit("conv1", n) for n in range(5)]
    assert chosen(taken=taken, layers=("conv1",), per_layer=2, exclude=("conv1/6",)) == [
        Unit("conv1", 5),
        Unit("conv1", 7),
    ]
    with pytest.raises(StimuliError, match="`conv1` has 8 channels, 3 of them free, but per_layer is 4"):
        chosen(taken=taken, layers=("conv1",), per_layer=4)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"listed": ("conv3/0",)}, "no unit conv3/0: no layer `conv3`: did you mean `conv2`"),
        ({"listed": ("conv1/8",)}, "no unit conv1/8: layer `conv1` has channels 0 to 7"),
        ({"layers": ("con2",)}, "no layer `con2`: did you mean `conv2`"),
        ({"listed": ("conv1/1",), "taken": [Unit("conv1", 1)]}, "conv1/1: already in use"),
    ],
)
def test_unknown_units_are_refused_by_name(section, told):
    with pytest.raises(StimuliError, match=told):
        chosen(**section)


def test_units_that_tell_no_images_apart_are_refused_by_name():
    units = [Unit("conv1", n) for n in range(4)]
    activations = np.array([[0, 2.5, 1, 0.1], [0, 2.5, np.nan, 0.2]], np.float32)
    with pytest.raises(StimuliError) as caught:
        refuse_silent(units, activations, "net")
    told = str(caught.value)
    assert "conv1/0 is silent; conv1/1 is constant at 2.5; conv1/2 is not finite" in told and "conv1/3" not in told
    refuse_silent(units[3:], activations[:, 3:], "net")
