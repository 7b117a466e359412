"""Commands of `hms study` that hand on what a study is and has found. Registered by `cli_study.py`."""

from pathlib import Path
from typing import Annotated

import typer

from search.cli_options import say
from search.cli_study_server import Rehearsal, Store, Study
from search.paths import results_root

app = typer.Typer()


@app.command()
def export(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="a study, or a folder with its trials.csv")],
    out: Annotated[
        Path | None, typer.Option(help="folder; default: psych-ds in the study's folder or in that of the tables")
    ] = None,
    title: Annotated[str, typer.Option(help="name of the dataset; default: the study's")] = "",
    authors: Annotated[list[str] | None, typer.Option("--author", help="who made it; repeatable")] = None,
    license: Annotated[str, typer.Option(help="URL of the licence of the data")] = "",
    comments: Annotated[bool, typer.Option("--comments", help="free texts too: read them first, they may name people")]
    = False,
    store: Store = None,
    rehearsal: Rehearsal = False,
) -> None:  # fmt: skip
    """Write the answers of a study as a dataset to publish: Psych-DS layout, tidy CSV, data dictionary, README."""
    from psychophysics.export import export_study, write_dataset
    from psychophysics.export.dataset import Particulars
    from psychophysics.responses import read_responses
    from psychophysics.study_folder import find_study

    particulars, tables = Particulars(title, authors or (), license, comments), Path(study)
    if (tables / "trials.csv").is_file():
        say(str(write_dataset(read_responses(tables), out or tables / "psych-ds", particulars)))
        return
    folder = find_study(study, results_root()).rehearsed(rehearsal)
    say(str(export_study(folder, store, out or folder.dataset, particulars)))


@app.command()
def preregister(
    study: Study,
    out: Annotated[Path | None, typer.Option(help="file; default: preregistration.md in the study's folder")] = None,
    baseline: Annotated[float, typer.Option(help="assumed share correct of one condition, or at the lowest HMS")] = 0.6,
    accuracies: Annotated[
        list[float] | None, typer.Option("--accuracy", help="assumed of the other; repeatable; default: 0.67, 0.64")
    ] = None,
    slope: Annotated[float, typer.Option(help="assumed accuracy at the highest HMS less that at the lowest")] = 0.1,
    store: Store = None,
) -> None:
    """Write the text to preregister a frozen study: hypotheses, design, exclusions, analysis, power, hashes."""
    from psychophysics.export.preregistration import Assumptions, write_preregistration
    from psychophysics.study_folder import find_study

    assumptions = Assumptions(baseline, accuracies or (0.67, 0.64), slope)
    say(str(write_preregistration(find_study(study, results_root()), store, assumptions, out)))


@app.command()
def replay(
    study: Study,
    participant: Annotated[str, typer.Argument(help="pseudonym, or how it begins")],
    trial: Annotated[str | None, typer.Argument(help="main-07, practice-1-0, instruction; default: list them")] = None,
    out: Annotated[Path | None, typer.Option(help="file; default: replays/PARTICIPANT-TRIAL.html of the study")] = None,
    store: Store = None,
    rehearsal: Rehearsal = False,
) -> None:
    """Show a trial as a participant saw it: one HTML page with the screen, the answer, activations and patches."""
    from psychophysics.replay import replay_trial
    from psychophysics.study_folder import find_study

    folder = find_study(study, results_root()).rehearsed(rehearsal)
    say(replay_trial(folder, store, participant, trial, out))
