import copy
from pathlib import Path

import pytest
import yaml

from search.config_reader import parse_config
from search.plan.data import DataFacts

SMALL = """
search: {name: small, max_trials: 6, seed: 3}
space:
  epochs: {stepped: [20, 80, 10]}
  batch_size: {choice: [2, 4]}
  train_sequences: {stepped: [6, 10, 1]}
  filter_size_R1: {stepped: [1, 5]}
data: {height: 8, width: 16}
network: {channels: [3, 4, 6]}
training: {nt: 4, val_sequences: 5, device: cpu}
metrics: {every: 5, matching: {objects: 50, views: 2}}
"""


@pytest.fixture
def configured():
    """Makes the small configuration, with values of some sections replaced: `configured(search={"seed": 1})`."""

    def make(**sections):
        document = copy.deepcopy(yaml.safe_load(SMALL))
        for section, values in sections.items():
            document[section] = {**document.get(section, {}), **values}
        return parse_config(document, source="the test")

    return make


@pytest.fixture
def facts():
    return DataFacts(val_windows=9, mse_windows=4, test_windows=2, prepared=True, stimuli=92, object_images=100)


@pytest.fixture
def configs():
    return Path(__file__).parents[3] / "configs"
