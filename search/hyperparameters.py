"""The hyperparameters of a search's trials, by name: what other programs' formats are filled with."""

from collections.abc import Sequence
from typing import Any

from search.store import Document


def hyperparameter_values(jobs: Sequence[Document]) -> dict[str, list[Any]]:
    """Name -> all values that trials have; those that are no plain values are left out."""
    found: dict[str, list[Any]] = {}
    for job in jobs:
        for key, value in job["params"].items():
            if isinstance(value, bool | int | float | str):
                found.setdefault(key, []).append(value)
    return found
