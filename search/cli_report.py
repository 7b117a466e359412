"""`hms report`. Registered beside the commands of `cli.py`."""

from pathlib import Path
from typing import Annotated

import typer

from search.cli_options import EpochRuleOption, Mongo, say
from search.errors import UsageError
from search.place import Place

app = typer.Typer()


@app.command()
def report(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="a search; several are set side by side in one page")
    ],
    out: Annotated[
        Path | None, typer.Option(help="folder; default: results/NAME/report, or results/NAME+NAME for several")
    ] = None,
    epoch_rule: EpochRuleOption = "last",
    watch: Annotated[
        bool, typer.Option("--watch", help="write it again and again until the search is finished, or Ctrl-C")
    ] = False,
    every: Annotated[float, typer.Option(min=5, help="with --watch: seconds from one report to the next")] = 60.0,
    mongo: Mongo = None,
) -> None:
    """Export the tables of a search and write its report: report.html, trials/, tables/, figures/. Works while it runs.

    NAME may be a folder of exported tables, with a / in it or `.`: no database is needed.
    """
    from search.reporting import compare, follow, report_one

    place = Place.given(mongo)
    if len(names) > 1 and watch:
        raise UsageError(f"--watch follows one search, not {len(names)}; the seconds are given by --every")
    if len(names) > 1:
        path = compare(place, names, out, epoch_rule)
    elif watch:
        path = follow(place, names[0], out, epoch_rule, every, say)
    else:
        path = report_one(place, names[0], out, epoch_rule)
    say(str(path))
