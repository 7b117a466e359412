"""Commands of `hms study` that hand on what a study is and has found. Registered by `cli_study.py`."""

from pathlib import Path
from typing import Annotated

import typer

from search.cli_options import say

app = typer.Typer()


@app.command()
def export(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="a study, or a folder with its trials.csv")],
    out: Annotated[Path | None, typer.Option(help="folder; default: psych-ds beside the tables")] = None,
    title: Annotated[str, typer.Option(help="name of the dataset; default: the study's")] = "",
    authors: Annotated[list[str] | None, typer.Option("--author", help="who made it; repeatable")] = None,
    license: Annotated[str, typer.Option(help="URL of the licence of the data")] = "",
    comments: Annotated[
        bool, typer.Option("--comments", help="free texts too: read them first, they may name people")
    ] = False,
) -> None:
    """Write the answers of a study as a dataset to publish: Psych-DS layout, tidy CSV, data dictionary, README."""
    from psychophysics.export import write_dataset
    from psychophysics.export.dataset import Particulars
    from psychophysics.responses import read_responses

    particulars = Particulars(title, authors or (), license, comments)
    say(str(write_dataset(read_responses(study), out or study / "psych-ds", particulars)))
