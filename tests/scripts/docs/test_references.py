"""The references made from the code: nothing is undescribed, and the hashes are those that a search really has."""

import importlib
from pathlib import Path

import pytest

from metrics.registry import METRICS
from psychophysics.config_reader import load_study
from search.config import searchable_names
from search.export import result_columns

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "docs"))
    return importlib.import_module


def test_every_key_of_the_configuration_is_described(script):
    sections = list(script("configuration").sections())
    keys = [key for _, _, found in sections for key in found]
    assert len(keys) > 60
    assert [name for name, description, _ in sections if not description] == []
    assert [key.name for key in keys if not key.meaning.endswith((".", "..."))] == []


def test_every_key_of_a_study_is_there_with_its_default(script):
    sections = {name: keys for name, description, keys in script("study_configuration").sections() if description}
    document = load_study(ROOT / "configs" / "study-demo.yaml").document()
    given = {name: value for name, value in document.items() if isinstance(value, dict)}
    given |= {"networks[]": document["networks"][0], "networks[].units": document["networks"][0]["units"]}
    for name, values in given.items():
        plain = [key for key, value in values.items() if not isinstance(value, dict)]
        assert [key.path[-1] for key in sections[name]] == plain
    assert set(sections) == {*given, "further_network", "curation.units"}
    text = script("study_configuration").markdown()
    assert "| `equivalence_bound` | number above 0 and below 0.5 | must be given |" in text
    assert "| `total_seconds` | list of numbers | `[90.0, 900.0]` |" in text and "| `title` | text | empty |" in text


def test_every_command_argument_and_option_is_described(script):
    commands = dict(script("commands").commands())
    assert {"hms run", "hms data kitti", "hms weights"} < set(commands)
    assert [name for name, command in commands.items() if not command.help] == []
    undescribed = [
        f"{name} {parameter.name}"
        for name, command in commands.items()
        for parameter in command.params
        if not getattr(parameter, "hidden", False) and not parameter.help
    ]
    assert undescribed == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("space", "space"),
        ("search.max_trials", None),
        ("search.seed", "training"),
        ("data.transfer", "training"),
        ("training.epochs", "training"),
        ("training.recompute_every", None),
        ("training.tensorboard", None),
        ("metrics.also", "training"),
        ("metrics.hms.references", "training"),
        ("metrics.hms.references.NAME.path", None),
        ("metrics.matching.folder", "training"),
        ("stopping.metric", "training"),
        ("launch.slurm.minutes", None),
    ],
)
def test_a_key_is_in_the_hash_that_another_value_of_it_changes(script, name, part):
    assert script("configuration").part_hashed(tuple(name.split("."))) == part


def test_types_ranges_and_defaults_are_in_words(script):
    keys = {key.name: key for _, _, found in script("configuration").sections() for key in found}
    shown = {
        name: (keys[name].values, keys[name].default)
        for name in ("network.filter_size", "training.grad_clip", "stopping.ddof", "metrics.also", "search.name")
    }
    assert shown == {
        "network.filter_size": ("whole number at least 1 and at most 8", "`3`"),
        "training.grad_clip": ("number above 0", "unset"),
        "stopping.ddof": ("`0` or `1`", "`0`"),
        "metrics.also": ("list of texts", "empty"),
        "search.name": ("text", "must be given"),
    }


def test_the_page_names_every_hyperparameter_that_can_be_sampled():
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    kinds = {name.rstrip("0123456789") for name in searchable_names(4)}
    assert [kind for kind in kinds if kind not in page] == []


def test_the_page_of_tables_has_every_column_that_all_trials_have():
    page = (ROOT / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    assert [column for column in result_columns(METRICS) if f"`{column}`" not in page] == []
