"""Commands of `hms study` that hand on what a study is and has found. Registered by `cli_study.py`."""

from pathlib import Path
from typing import Annotated

import typer

from search.cli_options import say
from search.paths import results_root

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


@app.command()
def preregister(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="a frozen study: its name, folder or configuration")],
    out: Annotated[Path | None, typer.Option(help="file; default: preregistration.md in the study's folder")] = None,
    baseline: Annotated[float, typer.Option(help="assumed share correct of one condition, or at the lowest HMS")] = 0.6,
    accuracies: Annotated[
        list[float] | None, typer.Option("--accuracy", help="assumed of the other; repeatable; default: 0.67, 0.64")
    ] = None,
    slope: Annotated[float, typer.Option(help="assumed accuracy at the highest HMS less that at the lowest")] = 0.1,
) -> None:
    """Write the text to preregister a frozen study: hypotheses, design, exclusions, analysis, power, hashes."""
    from psychophysics.export.preregistration import Assumptions, preregistration
    from psychophysics.stimuli.files import written
    from psychophysics.stimuli.freeze import open_frozen
    from psychophysics.study_folder import find_study

    folder = find_study(study, results_root())
    frozen, manifest = open_frozen(folder)
    text = preregistration(frozen, manifest, 0, Assumptions(baseline, accuracies or (0.67, 0.64), slope))
    path = out or folder.root / "preregistration.md"
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(str(path))
