"""What all parts of the configuration share: frozen sections, and the nearest name for one that is unknown."""

import difflib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen part of the configuration in which an unknown key is an error.

    The string below a key is its description, which the configuration reference shows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
PositiveInt = Annotated[int, Field(ge=1)]


def nearest(word: str, choices: list[str]) -> str:
    """`: did you mean X?`, or the list of valid names where none is near."""
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    return f": did you mean `{close[0]}`?" if close else f"; valid names: {', '.join(choices)}"
