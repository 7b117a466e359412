"""What all pages of a report share: how templates are filled, the style in both colour schemes, data in scripts."""

import json
from pathlib import Path
from typing import Any

import jinja2

from search.report import wording
from search.report.palette import DARK, LIGHT, css_variables

HERE = Path(__file__).parent


def environment(folder: Path = HERE) -> jinja2.Environment:
    """Templates of `folder`, then of this package; values are escaped, and a name that is not given is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, HERE]), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"number": wording.number, "duration": wording.duration, "flat": wording.flat}
    return made


def style() -> str:
    """The style sheet, with the colours of the light and the dark scheme."""
    dark = f"@media (prefers-color-scheme: dark){{:root{{{css_variables(DARK)}}}}}"
    return f":root{{{css_variables(LIGHT)}}}\n{dark}\n{source('page.css')}"


def source(name: str) -> str:
    """The text of a style or script file of this package."""
    return (HERE / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    """JSON that cannot end the script element that holds it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=float).replace("<", "\\u003c")
