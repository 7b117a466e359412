from pathlib import Path

import pytest
import yaml

from psychophysics.config import StudyConfig
from psychophysics.config_reader import load_study, parse_study
from search.errors import ConfigError

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def document():
    return yaml.safe_load((CONFIGS / "study-demo.yaml").read_text())


def test_the_defaults_are_the_design_of_the_paper():
    config = load_study(CONFIGS / "study-inceptionv1.yaml")
    design, occlusion, trials, curation = config.design, config.occlusion, config.trials, config.curation
    assert (design.ranked_sets, design.sets, design.references, design.participants_per_cell) == (20, 10, 9, 5)
    assert design.ranked_sets * (design.references + 1) == 200
    assert design.conditions == ("natural", "synthetic", "mixed", "blurred", "none")
    assert (occlusion.side, occlusion.strides, config.synthesis.learning_rate) == (0.4, (8, 4, 2), 0.05)
    assert (trials.main, trials.catch, trials.practice_very_easy, trials.practice_easy) == (18, 3, 1, 3)
    assert (curation.very_easy, curation.easy, curation.catch) == (3, 7, 3)
    assert len(config.networks[0].units.listed) == 18


def test_an_unknown_key_names_the_nearest(document):
    document["design"]["condition"] = ["natural"]
    document["networks"][0]["units"]["per_layers"] = 2
    document["further_network"] = {"name": "clear", "sourc": "efficientnet-lite0"}
    with pytest.raises(ConfigError) as caught:
        parse_study(document, "study.yaml")
    told = str(caught.value)
    assert "design.condition: unknown key: did you mean `conditions`?" in told
    assert "networks.0.units.per_layers: unknown key: did you mean `per_layer`?" in told
    assert "further_network.sourc: unknown key: did you mean `source`?" in told


def test_the_equivalence_bound_has_no_default(document):
    del document["analysis"]["equivalence_bound"]
    with pytest.raises(ConfigError, match=r"analysis\.equivalence_bound: Field required"):
        parse_study(document, "study.yaml")


@pytest.mark.parametrize(
    ("section", "key", "value", "told"),
    [
        ("design", "sets", 9, "sets is 9, but only ranked_sets = 3 are formed"),
        ("design", "conditions", ["natural", "natural"], "conditions are"),
        ("occlusion", "strides", [8, 3], "each a multiple of the next"),
        ("curation", "network", "eficientnet", "did you mean `efficientnet`"),
        ("curation", "units", {"listed": ["x/1"], "layers": ["x"]}, "one of the two"),
        ("curation", "units", {"listed": ["x-1"]}, "give layer/channel"),
        ("curation", "easy", 2, "a practice block takes 1 very easy and 3 easy trials"),
        ("trials", "catch", 3, "trials.catch is 3, curation.catch 1"),
        ("recruitment", "kind", "prolific", "give the completion_code"),
        ("exclusions", "catch_correct", 2, "nobody could be accepted: exclusions ask for 2 of 1 catch trials correct"),
        ("exclusions", "rarer_side", 3, "and for 3 of 4 main trials on the rarer side"),
    ],
)
def test_what_cannot_work_is_refused(document, section, key, value, told):
    document.setdefault(section, {})[key] = value
    with pytest.raises(ConfigError, match=told):
        parse_study(document, "study.yaml")


def test_a_study_survives_its_document(document):
    config = parse_study(document, "study.yaml")
    assert StudyConfig.model_validate(config.document()) == config


def test_a_missing_file_and_one_without_sections_say_so(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_study(tmp_path / "study.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(ConfigError, match="not a mapping with the sections study, networks, images"):
        load_study(tmp_path / "list.yaml")
