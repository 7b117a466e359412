from pathlib import Path

import pytest

from search.config import SearchConfig
from search.config_reader import load_config
from search.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "configs"
CONFIGS = sorted(path for path in FOLDER.glob("*.yaml") if not path.name.startswith("study-"))
MINIMAL = "search: {name: t}\nspace: {learning_rate: {log_uniform: [1e-4, 1e-2]}}\n"


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "search.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_every_shipped_configuration_is_valid(path):
    assert load_config(path).search.name


def test_scientific_notation_without_a_point_is_a_number(write):
    assert load_config(write(MINIMAL)).space["learning_rate"].low == 1e-4


def test_set_overrides_and_name(write):
    config = load_config(write(MINIMAL), ["search.max_trials=7", "metrics.matching.gallery=20"], name="other")
    assert (config.search.max_trials, config.metrics.matching.gallery, config.search.name) == (7, 20, "other")


@pytest.mark.parametrize(
    ("text", "override", "expected"),
    [
        (MINIMAL.replace("space:", "spaec:"), None, "spaec: unknown key: did you mean `space`"),
        (MINIMAL + "trainig: {nt: 5}", None, "did you mean `training`"),
        (MINIMAL, "training.bach_size=4", "did you mean `batch_size`"),
        (MINIMAL, "search.max_trials=many", "search.max_trials: "),
        (MINIMAL, "search.max_trials", "expected key=value"),
        (MINIMAL, "search.name.x=1", "not a section"),
        (MINIMAL.replace("learning_rate", "leaning_rate"), None, "did you mean `learning_rate`"),
        (MINIMAL.replace("log_uniform", "lognormal"), None, "expected one of {choice:"),
        (MINIMAL.replace("[1e-4, 1e-2]", "[1e-2, 1e-4]"), None, "low must be below high"),
        (MINIMAL.replace("{log_uniform: [1e-4, 1e-2]}", "{kind: log_uniform, low: 1, hihg: 2}"), None, "`high`"),
        (MINIMAL, "space.learning_rate={uniform: [-1, 1]}", "can be -1.0, 1.0: expected numbers above 0"),
        (MINIMAL, "space.learning_rate={choice: [fast]}", "can be fast: expected numbers above 0"),
        (MINIMAL, "space.batch_size={choice: [0, 2]}", "can be 0, 2: expected whole numbers from 1"),
        (MINIMAL, "space.epochs={uniform: [10, 50]}", "expected whole numbers from 1 (choice or stepped)"),
        (MINIMAL, "space.filter_size_A1={stepped: [1, 12]}", "can be 1, 12: expected whole numbers from 1 to 8"),
        (MINIMAL, "space.loss={choice: [L1]}", "can be L1: expected choices of L0 and Lall"),
        (MINIMAL + "data: {height: 100}", None, "must divide by 8"),
        (MINIMAL + "stopping: {window: 24}", None, "no multiple of metrics.every"),
        (MINIMAL + "stopping: {rule: threshold}", None, "needs exactly one of threshold"),
        (MINIMAL + "metrics: {matching: {objects: 30}}", None, "gallery is 50 but only 30 objects"),
        (MINIMAL + "network: {channels: [1, 8]}", None, "layer 0 is the RGB frame"),
        (MINIMAL + "training: {nt: 5}\ntraining: {nt: 6}", None, "key given twice: training"),
        ("search: [", None, "is not valid YAML"),
        ("- a list", None, "not a mapping"),
        ("search: {name: t}\nspace: {}", None, "search space is empty"),
        (MINIMAL.replace("name: t", "name: 'a/b'"), None, "search.name"),
    ],
)
def test_mistakes_are_named(write, text, override, expected):
    with pytest.raises(ConfigError, match=None) as caught:
        load_config(write(text), [override] if override else None)
    assert expected in str(caught.value)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(tmp_path / "none.yaml")


def test_hashes_ignore_the_budget_and_see_everything_else(write):
    base = load_config(write(MINIMAL))
    assert base.hashes() == load_config(write(MINIMAL), ["search.max_trials=3", "search.name=x"]).hashes()
    for override in ("training.precision=bf16", "training.device=cpu", "stopping.tolerance=0.02", "search.seed=5"):
        changed = load_config(write(MINIMAL), [override])
        assert changed.hashes()["training"] != base.hashes()["training"], override
        assert changed.hashes()["space"] == base.hashes()["space"]
    for override in ("training.recompute_every=3", "training.tensorboard=true"):
        assert load_config(write(MINIMAL), [override]).hashes() == base.hashes(), override
    assert load_config(write(MINIMAL), ["training.deterministic=true"]).hashes() != base.hashes()
    space = load_config(write(MINIMAL), ["space.epochs={stepped: [10, 50, 10]}"])
    assert space.hashes()["space"] != base.hashes()["space"]


def test_the_stored_document_reads_back_to_the_same_configuration(write):
    config = load_config(write(MINIMAL))
    assert SearchConfig.model_validate(config.document()) == config
