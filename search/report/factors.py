"""Hyperparameters as columns for statistics: numbers as they are, two categories as 0 and 1, more as indicators."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

TRAINED = "epochs_trained"


@dataclass(frozen=True)
class Factor:
    """One hyperparameter of n networks.

    columns: what stands for it in a regression, by name, (n,) each: itself, or `NAME=CATEGORY` for every category but
    the first when there are more than two. levels: the categories of one that is text, sorted.
    why_not: why it has no order or no values, and so no rank correlation; empty where it has.
    """

    name: str
    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def coding(self) -> str:
        """`L0 = 0, Lall = 1` of two categories; empty for numbers."""
        return ", ".join(f"{level} = {code}" for code, level in enumerate(self.levels)) if len(self.levels) == 2 else ""


def factors(frame: pd.DataFrame) -> list[Factor]:
    """The hyperparameters of `frame` (columns `param.NAME`) and the trained epochs, in their order there."""
    names = [*[column for column in frame.columns if column.startswith("param.")], TRAINED]
    return [_factor(name, frame[name]) for name in names]


def _factor(name: str, column: pd.Series) -> Factor:
    if column.isna().any() or column.empty:
        missing = int(column.isna().sum())
        return Factor(name, why_not=f"not given for {missing} of {len(column)}" if missing else "no networks")
    numbers = pd.to_numeric(column.map(_as_number), errors="coerce").to_numpy(dtype=np.float64)
    if np.isfinite(numbers).all():
        return Factor(name, {name: numbers})
    text = column.astype(str)
    levels = tuple(sorted(text.unique()))
    if len(levels) <= 2:
        return Factor(name, {name: (text == levels[-1]).to_numpy(dtype=np.float64) * (len(levels) - 1)}, levels)
    indicators = {f"{name}={level}": (text == level).to_numpy(dtype=np.float64) for level in levels[1:]}
    return Factor(name, indicators, levels, why_not=f"categories without an order: {', '.join(levels)}")


def _as_number(value: object) -> object:
    return float(value) if isinstance(value, bool | np.bool_) else value
