import json

import pytest

from psychophysics.errors import StimuliError
from psychophysics.study_folder import find_study
from search.errors import ConfigError


def test_a_study_is_found_by_name_by_folder_and_by_configuration(drawn_once, tmp_path):
    frozen, _, folder = drawn_once
    results = folder.root.parents[1]
    assert find_study("drawn", results) == folder
    assert find_study(str(folder.root), tmp_path) == folder
    (tmp_path / "study.yaml").write_text(json.dumps(frozen.config))  # JSON is YAML
    assert find_study(str(tmp_path / "study.yaml"), results) == folder


def test_an_unknown_study_names_the_known_ones(drawn_once, tmp_path):
    results = drawn_once[2].root.parents[1]
    with pytest.raises(StimuliError, match="`drawm` is no study: did you mean `drawn`"):
        find_study("drawm", results)
    with pytest.raises(StimuliError, match=r"there are none under .*studies\. Next: hms study stimuli"):
        find_study("drawn", tmp_path)
    with pytest.raises(ConfigError, match=r"missing\.yaml"):
        find_study("missing.yaml", results)
