from collections.abc import Callable
from pathlib import Path

import pytest

from metrics.gazoobian.anatomy import build
from metrics.gazoobian.dataset import prepare_gazoobian
from metrics.gazoobian.grammar import Individual, draw_family, draw_individual, seed_of
from metrics.gazoobian.objects import ObjectSet
from metrics.gazoobian.sdf import Scene

SMALL = {"objects": 3, "views": 6, "height": 24, "width": 30, "samples": 1, "workers": 1}


@pytest.fixture
def individual() -> Callable[[int], Individual]:
    """An unscreened individual of a family."""
    return lambda number: draw_individual(draw_family(0, number), seed_of("test", number))


@pytest.fixture
def scene(individual: Callable[[int], Individual]) -> Callable[[int], Scene]:
    return lambda number: build(individual(number))


@pytest.fixture(scope="session")
def small() -> dict[str, int]:
    """Arguments of `prepare_gazoobian` that take a second."""
    return dict(SMALL)


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished small set; tests copy it before they change it."""
    root = tmp_path_factory.mktemp("gazoobian")
    prepare_gazoobian(root, **SMALL)
    return root


@pytest.fixture(scope="session")
def small_set(small_root: Path) -> ObjectSet:
    return prepare_gazoobian(small_root, **SMALL)
