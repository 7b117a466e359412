"""From a folder of responses to a report: one HTML page that works offline, CSV tables, PNG and PDF figures."""

from pathlib import Path

from psychophysics.report.analysis import analyse
from psychophysics.report.drawings import drawings
from psychophysics.report.page import render
from psychophysics.responses import read_responses
from search.atomic import replacing
from search.report.drawings import print_all

__all__ = ["write_report"]


def write_report(responses: Path, out: Path, *, printed: bool = True) -> Path:
    """Write `report.html`, `tables/*.csv` and `figures/*.{png,pdf}` into `out`; return the path of the page.

    `printed`: False leaves out `figures/`, most of the time that a report takes.
    Raises ResponsesError where `responses` is no folder of a study's tables. What the data do not determine is named on
    the page.
    """
    analysis = analyse(read_responses(responses))
    drawn = drawings(analysis)
    for name, table in analysis.tables().items():
        with replacing(out / "tables" / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    if printed:
        print_all(drawn, out / "figures")
    page = out / "report.html"
    with replacing(page) as temporary:
        temporary.write_text(render(analysis, drawn), encoding="utf-8")
    return page
