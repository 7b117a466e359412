"""What a column of a tidy table holds, and the check that it does. The data dictionary is made of the same words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from psychophysics.errors import ResponsesError

Kind = Literal["text", "integer", "number", "truth"]
Columns = Mapping[str, "Column"]


@dataclass(frozen=True)
class Column:
    """kind: text (str), integer (int64), number (float64), truth (bool).

    low, high: inclusive limits of numbers; choices: all values that text may have; missing: whether a cell may be
    empty (numbers NaN, text ""); unit: of numbers, empty for counts and labels.
    """

    kind: Kind
    description: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    missing: bool = False


def checked(frame: pd.DataFrame, columns: Columns, table: str) -> pd.DataFrame:
    """A copy of `frame` with exactly the kinds of `columns`, those columns first and further ones behind, as they are.

    Raises ResponsesError that names `table`, column, row (counted from 1, without the header) and value.
    """
    absent = [name for name in columns if name not in frame]
    if absent:
        raise ResponsesError(
            f"{table}: column `{absent[0]}` is missing; the table has {', '.join(map(str, frame.columns)) or 'none'}."
        )
    given = {name: _converted(frame[name], column, f"{table}, column `{name}`") for name, column in columns.items()}
    further = {name: frame[name].reset_index(drop=True) for name in frame.columns if name not in columns}
    return pd.DataFrame(given | further)


def _converted(values: pd.Series, column: Column, place: str) -> pd.Series:
    values = values.reset_index(drop=True)
    empty = values.isna() | (values.astype(str) == "")
    if not column.missing:
        _refuse(values, empty, place, "must have a value")
    if column.kind == "text":
        text = values.where(~empty, "").astype(str)
        if column.choices:
            _refuse(text, ~text.isin(column.choices) & ~empty, place, f"must be one of {', '.join(column.choices)}")
        return text.astype(object)
    if column.kind == "truth":
        words = values.map(lambda value: str(value).lower())
        _refuse(values, ~words.isin(["true", "false", "1", "0", "1.0", "0.0"]), place, "must be true or false")
        return words.isin(["true", "1", "1.0"])
    return _numbers(values, empty, column, place)


def _numbers(values: pd.Series, empty: pd.Series, column: Column, place: str) -> pd.Series:
    numbers = pd.to_numeric(values.where(~empty), errors="coerce").astype(np.float64)
    _refuse(values, (numbers.isna() | numbers.abs().eq(np.inf)) & ~empty, place, "must be a finite number")
    unit = f" {column.unit}" if column.unit else ""
    if column.low is not None:
        _refuse(values, numbers < column.low, place, f"must be at least {column.low:g}{unit}")
    if column.high is not None:
        _refuse(values, numbers > column.high, place, f"must be at most {column.high:g}{unit}")
    if column.kind == "number":
        return numbers
    _refuse(values, (numbers % 1 != 0) & ~empty, place, "must be a whole number")
    return numbers if column.missing else numbers.astype(np.int64)


def _refuse(values: pd.Series, wrong: pd.Series, place: str, rule: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = values.iloc[row]
        shown = "empty" if pd.isna(value) or value == "" else repr(value if isinstance(value, str) else str(value))
        raise ResponsesError(f"{place}, row {row + 1}: {shown} {rule} ({int(wrong.sum())} such rows).")


def data_dictionary(columns: Columns) -> dict[str, dict[str, object]]:
    """What each column holds, as JSON: type, description, and where they apply unit, minimum, maximum, values."""
    described: dict[str, dict[str, object]] = {}
    for name, column in columns.items():
        words: dict[str, object] = {"type": column.kind, "description": column.description}
        limits = {"unit": column.unit, "minimum": column.low, "maximum": column.high, "values": list(column.choices)}
        words |= {key: value for key, value in limits.items() if value not in ("", None, [])}
        described[name] = words | ({"may_be_empty": True} if column.missing else {})
    return described
