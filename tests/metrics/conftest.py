import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.stimuli92 import Stimuli92, load_stimuli92


@pytest.fixture(scope="session")
def human92() -> Path:
    """Folder of the 92 stimuli, the human RDMs and the oracle's numbers."""
    data = os.environ.get("HMS_TEST_DATA")
    if not data:
        pytest.skip("HMS_TEST_DATA is not set: it names the folder that holds human92/")
    return Path(data) / "human92"


@pytest.fixture(scope="session")
def stimuli92(human92: Path) -> Stimuli92:
    return load_stimuli92(human92)


@pytest.fixture(scope="session")
def oracle(human92: Path) -> dict[str, Any]:
    return json.loads((human92 / "oracle.json").read_text())


@pytest.fixture(scope="session")
def oracle_arrays(human92: Path) -> dict[str, np.ndarray]:
    with np.load(human92 / "oracle_features.npz") as arrays:
        return dict(arrays)


@pytest.fixture
def deviations(record_property: Callable[[str, object], None]) -> Callable[[str, float, float], None]:
    """Bounds the largest deviation from an oracle; the end of the run prints them all (tests/conftest.py)."""

    def check(what: str, found: float, bound: float) -> None:
        record_property("largest_oracle_deviation", f"{what}: {found:.2g} (bound {bound:.0e})")
        assert found <= bound

    return check
