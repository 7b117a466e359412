"""`hms study build-page`. Registered by `cli_study.py`."""

from typing import Annotated

import typer

from search.cli_options import say

app = typer.Typer()


@app.command("build-page")
def build_page(
    again: Annotated[bool, typer.Option("--again", help="also when it is built already")] = False,
) -> None:
    """Build the page that participants see, once on each machine, with Node.js and npm; prints its folder."""
    from psychophysics.page_build import build_page as build

    say(str(build(again=again)))
