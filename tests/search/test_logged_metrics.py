"""Which metrics a search logs, how they are validated and hashed, and how the rules follow their direction."""

import importlib
import json
import sys

import pytest

from metrics.errors import MetricError
from metrics.registry import METRICS
from search.config import SearchConfig
from search.config_reader import parse_config
from search.errors import ConfigError
from search.logged_metrics import as_described, described, metric_columns, metric_versions, metrics_of
from search.metric_sections import StoppingSection
from search.order import TrialOrder
from search.stopping import Evaluation, decide, discard_threshold
from search.toy_learner import ToyLearner
from search.trial import Trial, guided_loss

BASE = {"search": {"name": "t"}, "space": {"learning_rate": {"uniform": [0.1, 1.0]}}}
PACKAGE = """
from metrics.metric import Metric

METRIC = Metric({name!r}, "Blur", "px", False, 0.0, 9.0, "", lambda network, inputs: {{{name!r}: 0.5}}, digits=1)
"""


def config(**sections):
    return parse_config({**BASE, **sections}, source="the test")


@pytest.fixture
def install(install_metric, monkeypatch):
    def install(name="blur"):
        monkeypatch.syspath_prepend(install_metric(PACKAGE.format(name=name), metric=name))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "sharp_metric", raising=False)

    return install


def test_the_three_are_always_logged_and_nothing_else():
    assert metrics_of(config()) == METRICS
    assert metric_versions(config()) == {}


def test_further_ones_follow_in_order(install):
    install()
    given = config(metrics={"also": ["blur"], "hms": {"references": {"monkey_it": "monkey.npz"}}})
    names = ["hms", "mse", "accuracy", "hms_monkey_it", "blur"]
    assert list(metrics_of(given)) == list(given.metrics.names) == names
    monkey = metrics_of(given)["hms_monkey_it"]
    assert (monkey.short, monkey.measure, monkey.higher_is_better) == ("HMS (monkey_it)", None, True)
    assert metric_versions(given) == {"metric blur": "sharp 1.2"}
    facts = json.loads(json.dumps(described(given)))
    assert list(as_described(facts)) == names and facts[-1]["package"] == "sharp"
    assert as_described(None) == as_described([]) == METRICS


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"metrics": {"also": ["blurr"]}}, "metrics.also: `blurr` is no metric on this machine: did you mean `blur`?"),
        ({"metrics": {"also": ["mse"]}}, "`mse` is always logged: leave it out"),
        ({"metrics": {"also": ["blur", "blur"]}}, "given twice: blur"),
        (
            {"search": {"name": "t", "guide": "hmss"}},
            "search.guide is `hmss`, which is not logged: did you mean",
        ),
        (
            {"stopping": {"metric": "blur"}},
            "stopping.metric is `blur`, which is not logged; valid names: hms, mse",
        ),
        ({"metrics": {"hms": {"references": {"Monkey IT": "x.npz"}}}}, "'Monkey IT' is no name of a reference"),
        ({"metrics": {"hms": {"references": {"it": {"pth": "x"}}}}}, "it.pth: unknown key: did you mean `path`?"),
    ],
)
def test_a_wrong_name_is_an_error_with_the_nearest_valid_one(install, sections, message):
    install()
    with pytest.raises(ConfigError) as raised:
        config(**sections)
    assert message in str(raised.value)


def test_without_any_package_the_error_says_where_to_read():
    with pytest.raises(ConfigError, match="`blur` is no metric on this machine: no installed package offers one"):
        config(metrics={"also": ["blur"]})


@pytest.mark.parametrize("name", ["loss", "train_loss", "rho_a", "blur_best", "blur_status", "mse_test"])
def test_a_name_that_a_column_has_already_is_refused(install, name):
    install(name)
    with pytest.raises(MetricError, match=f"`{name}` cannot be the name of a metric here"):
        metrics_of(config(metrics={"also": [name]}))


@pytest.mark.parametrize("name", ["status", "best", "since_epoch_0", "v1_rho_a"])
def test_a_reference_whose_column_is_there_already_is_refused(name):
    references = {"v1": "v1.npz", name: "x.npz"}
    with pytest.raises(MetricError, match=f"`hms_{name}` cannot be the name of a metric here: a column of that name"):
        metrics_of(config(metrics={"hms": {"references": references}}))


def test_a_name_that_the_error_on_another_video_has_is_refused(install):
    install("mse_vlog")
    with pytest.raises(MetricError, match="`mse_vlog` cannot be the name"):
        metrics_of(config(data={"transfer": ["vlog"]}, metrics={"also": ["mse_vlog"]}))


def test_the_hash_sees_what_is_set_and_nothing_that_is_not(install):
    install()
    plain = config().hashes()
    explicit = config(metrics={"also": [], "hms": {"references": {}}}, stopping={"metric": "hms"})
    assert explicit.hashes() == plain
    changed = [
        config(metrics={"also": ["blur"]}),
        config(stopping={"metric": "mse"}),
        config(metrics={"hms": {"references": {"it": "a.npz"}}}),
    ]
    assert len({given.hashes()["training"] for given in changed} | {plain["training"]}) == 4
    moved = config(metrics={"hms": {"references": {"it": "elsewhere/b.npz"}}})
    assert moved.hashes() == changed[-1].hashes()
    for given in changed:
        assert SearchConfig.model_validate(json.loads(json.dumps(given.document()))) == given


def test_columns_belong_to_their_metric():
    row = {
        "hms": 1,
        "hms_status": "ok",
        "rho_a": 1,
        "accuracy_rotation": 1,
        "train_loss": 1,
        "window_sd": 0,
        "mse_x": 2,
    }
    assert metric_columns(METRICS, row).keys() == row.keys() - {"train_loss", "window_sd"}
    assert metric_columns({"mse": METRICS["mse"]}, row) == {"mse_x": 2}


FLAT = [Evaluation(epoch, 0.5) for epoch in range(0, 31, 5)]


@pytest.mark.parametrize(
    ("threshold", "sign", "finish"),
    [(0.6, 1, "below_threshold"), (0.4, 1, None), (0.4, -1, "below_threshold"), (0.6, -1, None), (0.5, -1, None)],
)
def test_a_threshold_discards_what_is_worse_in_either_direction(threshold, sign, finish):
    rule = StoppingSection(rule="threshold", metric="mse", threshold=threshold)
    assert decide(FLAT, rule, every=5, epochs_planned=100, sign=sign).finish == finish


def test_a_threshold_from_finished_networks_is_k_sd_better_than_their_mean():
    rule = StoppingSection(rule="threshold", threshold_sd=2.0, threshold_after=3)
    values = (1.0, 2.0, 3.0)  # mean 2, SD 1
    assert discard_threshold(rule, values) == 4.0
    assert discard_threshold(rule, values, -1) == 0.0
    assert discard_threshold(rule, values[:2]) is None


def test_a_stable_run_says_of_which_metric():
    assert decide(FLAT, StoppingSection(), every=5, epochs_planned=100).finish == "hms_stable"
    assert decide(FLAT, StoppingSection(metric="mse"), every=5, epochs_planned=100).finish == "stable"


def run(folder, given, learner=ToyLearner):
    order = TrialOrder("t", 0, 0, {"epochs": 60}, given, folder, folder, "cpu", threads=1)
    told = []
    result = Trial(order, learner(order), lambda kind, payload: told.append((kind, payload)), lambda: False).run()
    return result, [payload for kind, payload in told if kind == "epoch"]


TOY = {"learner": "toy", "toy_seconds": 0.0, "device": "cpu"}


def test_a_trial_stops_on_it_and_is_guided_by_it(install, tmp_path):
    install()
    stopping = {"metric": "blur", "tolerance": 0.0002}
    result, rows = run(
        tmp_path,
        config(search={"name": "t", "guide": "blur"}, training=TOY, metrics={"also": ["blur"]}, stopping=stopping),
    )
    assert result["finish"] == "stable" and result["stopped"] == {"epoch": rows[-1]["epoch"], "rule": "stability"}
    assert result["loss"] == result["blur"] == rows[-1]["blur"] > 0
    assert [row["stable"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert rows[-1]["window_sd"] <= 0.0002 < rows[-2]["window_sd"]


def test_a_value_that_is_nan_ends_the_trial_where_the_rule_looks_at_it_and_nowhere_else(install, tmp_path):
    install()

    class Broken(ToyLearner):
        def evaluate(self, check):
            return {**super().evaluate(check), "blur": float("nan")}

    for metric, finish in (("blur", "diverged"), ("accuracy", "max_epochs")):
        given = config(training=TOY, metrics={"also": ["blur"]}, stopping={"metric": metric, "rule": "none"})
        result, rows = run(tmp_path / metric, given, Broken)
        assert result["finish"] == finish and result["blur"] is None and result["blur_status"] == "diverged"
        assert rows[0]["blur"] is None and rows[0]["hms"] is not None


def test_the_loss_of_an_undefined_guide_is_a_failure():
    result = {"mse": None, "mse_status": "diverged", "reason": ""}
    expected = {"status": "fail", "loss": None, "reason": "mse is undefined (diverged)"}
    assert guided_loss(METRICS["mse"], result) == expected
