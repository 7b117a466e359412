"""A small study of real photographs and a small convolutional network, which builds in seconds."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from psychophysics.config import StudyConfig
from psychophysics.config_reader import parse_study
from psychophysics.stimuli.build import build_stimuli
from psychophysics.study_folder import StudyFolder

NETWORK = """
import torch
from torch import nn

def network():
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(12 * 100, 20),
    )

def half_dead():
    made = network()
    made[3].weight.data[5], made[3].bias.data[5] = 0, -1
    return made

def lowered():
    made = network()
    made[3].bias.data[1] -= 5
    return made
"""
PHOTOS = (
    "astronaut", "brick", "camera", "cell", "chelsea", "coffee", "coins", "grass", "gravel", "ihc", "moon",
    "motorcycle_left",
)  # fmt: skip

MakeStudy = Callable[..., tuple[StudyConfig, StudyFolder]]


@pytest.fixture(scope="session")
def photographs(tmp_path_factory) -> Path:
    """Twelve photographs of scikit-image, reduced to 96 pixels."""
    skimage = pytest.importorskip("skimage")
    folder = tmp_path_factory.mktemp("photographs")
    for name in PHOTOS:
        with Image.open(Path(skimage.__path__[0]) / "data" / f"{name}.png") as image:
            small = image.convert("RGB")
            small.thumbnail((96, 96))
            small.save(folder / f"{name}.png")
    return folder


@pytest.fixture(scope="session")
def small_networks(tmp_path_factory) -> Iterator[None]:
    """The module `small_networks` can be imported."""
    folder = tmp_path_factory.mktemp("networks")
    (folder / "small_networks.py").write_text(NETWORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


@pytest.fixture
def make_study(tmp_path, photographs, small_networks) -> MakeStudy:
    """A function: configuration and folder of an unbuilt study; keyword arguments replace keys of its sections."""
    return lambda **changes: (study_config(photographs, **changes), StudyFolder(tmp_path / "study"))


@pytest.fixture(scope="session")
def built_once(tmp_path_factory, photographs, small_networks) -> tuple[StudyConfig, StudyFolder]:
    """The study without changes, built; tests copy it."""
    config, folder = study_config(photographs), StudyFolder(tmp_path_factory.mktemp("built") / "study")
    build_stimuli(config, folder, lambda what, done, total: None)
    return config, folder


@pytest.fixture
def built_study(built_once, tmp_path) -> tuple[StudyConfig, StudyFolder]:
    """A copy of the built study."""
    config, folder = built_once
    shutil.copytree(folder.root, tmp_path / "study")
    return config, StudyFolder(tmp_path / "study")


def study_config(photographs: Path, **changes: dict[str, Any]) -> StudyConfig:
    """The configuration of the small study."""
    document: dict[str, Any] = {
        "study": {"name": "small", "seed": 5},
        "networks": [
            {
                "name": "net", "source": "small_networks:network", "height": 28, "width": 28,
                "units": {"listed": ["3/1", "0/4"]},
            }
        ],
        "images": {"pool": str(photographs), "crops_per_photo": 4},
        "design": {"ranked_sets": 2, "sets": 2},
        "occlusion": {"strides": [32, 16, 8], "exhaustive_sample": 1},
        "synthesis": {"steps": 4},
        "trials": {"main": 2, "catch": 1, "practice_very_easy": 1, "practice_easy": 1},
        "exclusions": {"catch_correct": 1},
        "curation": {
            "network": "net", "units": {"layers": ["3"], "per_layer": 3}, "sets": 2,
            "very_easy": 1, "easy": 1, "catch": 1,
        },
        "consent": {"version": "1", "paragraphs": ["Text."], "contact": "somebody"},
        "analysis": {"equivalence_bound": 0.05},
    }  # fmt: skip
    for section, keys in changes.items():
        if section == "network":
            document["networks"][0] |= keys
        else:
            document[section] = document[section] | keys
    return parse_study(document, "test")
