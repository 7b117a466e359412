"""`hms study ...`: the psychophysics part. Each command is a few lines that call one function."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from search.cli_options import say
from search.cli_stimuli import app as stimuli_app

app = typer.Typer(no_args_is_help=True)
app.registered_commands += stimuli_app.registered_commands

Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def power(
    accuracies: Annotated[
        list[float] | None,
        typer.Option("--accuracy", help="share correct to be found; repeatable; default: 0.67 and 0.64"),
    ] = None,
    baseline: Annotated[float, typer.Option(help="share correct of the other condition")] = 0.6,
    participants: Annotated[
        list[int] | None, typer.Option("--participants", help="a condition; repeatable; default: 50, 100")
    ] = None,
    trials: Annotated[int, typer.Option(help="trials a participant, one a unit")] = 18,
    sets: Annotated[int, typer.Option(help="image sets")] = 10,
    sd_participant: Annotated[float, typer.Option(help="SD of participants, log-odds")] = 0.35,
    sd_unit: Annotated[float, typer.Option(help="SD of units, log-odds")] = 0.6,
    sd_unit_by_set: Annotated[float, typer.Option(help="SD of image sets within a unit, log-odds")] = 0.6,
    alpha: Annotated[float, typer.Option(help="level of the two-sided test")] = 0.05,
    simulations: Annotated[int, typer.Option(help="simulated studies for each number; at least 5000")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="of the simulations")] = 0,
    as_json: Json = False,
) -> None:
    """How likely a study is to find a difference in accuracy between two conditions of other participants.

    Accuracies are marginal: means over participants, units and image sets, as a study reports them.
    """
    from psychophysics.power import PowerDesign
    from psychophysics.power_table import power_json, power_table, simulate_all

    design = PowerDesign(trials, sets, sd_participant, sd_unit, sd_unit_by_set)
    found = simulate_all(
        baseline, accuracies or [0.67, 0.64], participants or [50, 100], design,
        simulations=simulations, alpha=alpha, seed=seed,
    )  # fmt: skip
    if as_json:
        say(json.dumps(power_json(found, design), indent=1, allow_nan=False))
    else:
        Console().print(power_table(found, design))


@app.command()
def report(
    responses: Annotated[Path, typer.Argument(help="folder with trials.csv and participants.csv of a study")],
    out: Annotated[Path | None, typer.Option(help="folder; default: RESPONSES/report")] = None,
) -> None:
    """Analyse the answers of a study: report.html, tables/ (CSV), figures/ (PNG, PDF)."""
    from psychophysics.report import write_report

    say(str(write_report(responses, out or responses / "report")))
