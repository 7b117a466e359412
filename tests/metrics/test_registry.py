import importlib
import sys
from dataclasses import FrozenInstanceError

import pytest

from metrics import registry
from metrics.errors import MetricError
from metrics.registry import METRICS, Origin, find, offered

CODE = """
from metrics.metric import Metric

METRIC = Metric("sharpness", "Sharpness", "", True, 0.0, 1.0, "", lambda network, inputs: {"sharpness": 0.5})
"""


@pytest.fixture
def offer(install_metric, monkeypatch):
    """Installs a package where this process finds it."""

    def offer(code=CODE, **named):
        folder = install_metric(code, **named)
        monkeypatch.syspath_prepend(folder)
        importlib.invalidate_caches()
        for module in [name for name in sys.modules if name.endswith("_metric")]:
            monkeypatch.delitem(sys.modules, module)
        return folder

    return offer


def test_the_three_metrics_with_direction_and_range() -> None:
    facts = {name: (metric.higher_is_better, metric.low, metric.high) for name, metric in METRICS.items()}
    assert facts == {
        "hms": (True, -1, 1),
        "mse": (False, 0, float("inf")),
        "accuracy": (True, 0, 1),
    }


def test_each_metric_says_what_it_is_and_where_it_comes_from() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.label and metric.unit and metric.measure
        assert "20" in metric.citation
        with pytest.raises(FrozenInstanceError):
            metric.low = 0.5  # type: ignore[misc]


def test_a_package_offers_a_metric(offer):
    assert offered() == []
    offer()
    assert offered() == ["sharpness"]
    metric, origin = find("sharpness")
    assert metric.measure(None, None) == {"sharpness": 0.5}
    assert origin == Origin("sharp", "1.2")
    assert find("hms") == (METRICS["hms"], None)


def test_offers_are_listed_without_importing_them(offer):
    offer("raise SystemError")
    assert offered() == ["sharpness"]
    assert "sharp_metric" not in sys.modules


def test_an_unknown_name_suggests_the_nearest(offer):
    with pytest.raises(MetricError, match="`sharpnes` is no metric on this machine; offered: none"):
        find("sharpnes")
    offer()
    with pytest.raises(MetricError, match="did you mean `sharpness`"):
        find("sharpnes")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no such layer')", "cannot be imported: ValueError: no such layer. Mend or reinstall sharp"),
        ("import a_module_that_is_not_there", "cannot be imported: ModuleNotFoundError"),
        ("x = 1", "cannot be imported: AttributeError"),
        ("METRIC = 'sharpness'", "is str, not a metrics.metric.Metric"),
        (CODE.replace('lambda network, inputs: {"sharpness": 0.5}', "None"), "with a measure"),
        (CODE.replace("sharpness", "blur"), "calls itself `blur`"),
    ],
)
def test_a_broken_package_is_named_with_its_version(offer, code, message):
    offer(code)
    with pytest.raises(MetricError, match=f"metric `sharpness` of sharp 1.2 .sharp_metric:METRIC.*{message}"):
        find("sharpness")


def test_a_name_that_two_packages_offer_is_refused(offer):
    offer()
    offer(package="dull", version="3")
    with pytest.raises(MetricError, match=r"`sharpness` is offered by (sharp 1.2 and dull 3|dull 3 and sharp 1.2)"):
        find("sharpness")


def test_a_line_of_the_registry_is_offered_too(monkeypatch):
    metric = METRICS["mse"].__class__("blur", "Blur", "", False, 0.0, 1.0, "", lambda network, inputs: {"blur": 0.5})
    monkeypatch.setitem(registry.BUILT_IN, "blur", metric)
    assert offered() == ["blur"]
    assert find("blur") == (metric, None)
