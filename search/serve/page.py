"""The page's HTML and style: a skeleton that its scripts fill, in the colours and types of a report."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from search.report import page as report_page
from search.report.figures.style import axis, layout
from search.report.palette import DARK, FINISH_SYMBOLS, LIGHT, css_variables, tokens
from search.status import Status

WEB = Path(__file__).parent / "web"


def render(status: Status) -> str:
    """The page of a search."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(WEB), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    settings = json.dumps(_settings(status), allow_nan=False).replace("<", "\\u003c")
    return environment.get_template("page.html.j2").render(name=status.name, settings=settings)


def _settings(status: Status) -> dict[str, Any]:
    """What the scripts must know beforehand."""
    metrics = status.metrics
    colours = tokens(metrics)
    guide = status.search["config"]["search"].get("guide", "hms")
    return {
        "name": status.name,
        "guide": guide if guide in metrics else next(iter(metrics)),
        "metrics": [
            {
                "name": metric.name,
                "short": metric.short,
                "axis": metric.axis,
                "digits": metric.digits,
                "sign": metric.sign,
                "colour": f"@{colours[metric.name]}",
                "direction": metric.direction,
            }
            for metric in metrics.values()
        ],
        "finishes": {key: {"symbol": symbol, "words": words} for key, (symbol, _, words) in FINISH_SYMBOLS.items()},
        "layout": layout(300, margin={"l": 60, "r": 12, "t": 12, "b": 46}),
        "axis": axis(""),
    }


@cache
def style() -> str:
    """The style sheet: a report's, and what only this page has."""
    colours = f":root{{{css_variables(LIGHT)}}}@media (prefers-color-scheme: dark){{:root{{{css_variables(DARK)}}}}}"
    report = (Path(report_page.__file__).parent / "page.css").read_text(encoding="utf-8")
    return f"{colours}\n{report}\n{(WEB / 'live.css').read_text(encoding='utf-8')}"
