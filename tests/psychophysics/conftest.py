"""Tables of responses by construction: every number of them is chosen by the test that asks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

MakeTrials = Callable[..., pd.DataFrame]
MakeParticipants = Callable[..., pd.DataFrame]


@pytest.fixture
def make_trials() -> MakeTrials:
    """A function: main trials of one participant, correct as given; sides alternate, each of a unit of its own."""

    def make(participant: str, condition: str, correct: list[bool], **columns: Any) -> pd.DataFrame:
        n = len(correct)
        target = np.where(np.arange(n) % 2 == 0, "left", "right")
        other = np.where(target == "left", "right", "left")
        return pd.DataFrame(
            {
                "participant": participant,
                "condition": condition,
                "network": "net",
                "layer": "conv",
                "unit": [str(i) for i in range(n)],
                "image_set": 0,
                "kind": "main",
                "attempt": 0,
                "position": range(n),
                "query_max": "max",
                "query_min": "min",
                "target_side": target,
                "response_side": np.where(correct, target, other),
                "confidence": 2,
                "correct": correct,
                "rt_s": 3.0,
            }
            | columns
        )

    return make


@pytest.fixture
def make_participants() -> MakeParticipants:
    """A function: rows of participants (name -> condition) that pass every exclusion rule unless columns say else."""

    def make(conditions: dict[str, str], **columns: Any) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "participant": list(conditions),
                "condition": list(conditions.values()),
                "instruction_s": 60.0,
                "total_s": 300.0,
                "practice_attempts": 1,
                "finished": True,
                "withdrawn": False,
            }
            | columns
        )

    return make
