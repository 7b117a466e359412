"""`hms study ...`: the psychophysics part. Each command is a few lines that call one function."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console

from search.cli_options import say
from search.cli_stimuli import app as stimuli_app
from search.cli_study_answers import app as answers_app
from search.cli_study_export import app as export_app
from search.cli_study_networks import app as networks_app
from search.cli_study_page import app as page_app
from search.cli_study_server import app as server_app
from search.errors import UsageError

app = typer.Typer(no_args_is_help=True)
for part in (stimuli_app, networks_app, page_app, server_app, answers_app, export_app):
    app.registered_commands += part.registered_commands

Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def power(
    accuracies: Annotated[
        list[float] | None,
        typer.Option("--accuracy", help="share correct to be found; repeatable; default: 0.67 and 0.64"),
    ] = None,
    baseline: Annotated[
        float, typer.Option(help="share correct of the other condition; over networks: at the lowest HMS")
    ] = 0.6,
    networks: Annotated[
        list[int] | None,
        typer.Option(
            "--networks", help="power of the question whether accuracy goes with HMS over so many; repeatable"
        ),
    ] = None,
    slopes: Annotated[
        list[float] | None,
        typer.Option("--slope", help="accuracy at the highest HMS less that at the lowest; repeatable; default: 0.1"),
    ] = None,
    participants: Annotated[
        list[int] | None,
        typer.Option("--participants", help="a condition; repeatable; default: 50, 100; over networks: in all"),
    ] = None,
    trials: Annotated[int, typer.Option(help="trials a participant, one a unit")] = 18,
    units: Annotated[int, typer.Option(help="units a network")] = 6,
    sets: Annotated[int, typer.Option(help="image sets")] = 10,
    sd_participant: Annotated[float, typer.Option(help="SD of participants, log-odds")] = 0.35,
    sd_unit: Annotated[float, typer.Option(help="SD of units, log-odds")] = 0.6,
    sd_unit_by_set: Annotated[float, typer.Option(help="SD of image sets within a unit, log-odds")] = 0.6,
    sd_network: Annotated[float, typer.Option(help="SD of networks beside their HMS and units, log-odds")] = 0.0,
    alpha: Annotated[float, typer.Option(help="level of the two-sided test")] = 0.05,
    simulations: Annotated[int, typer.Option(help="simulated studies for each number; at least 5000")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="of the simulations")] = 0,
    as_json: Json = False,
) -> None:
    """How likely a study is to find a difference in accuracy between two conditions, or a relation to HMS.

    Accuracies are marginal: means over participants, units and image sets, as a study reports them. With --networks
    the question is whether accuracy is correlated with HMS over networks, of which every participant sees all units.
    """
    from psychophysics import power_table as tables
    from psychophysics.network_power import NetworkDesign
    from psychophysics.power import PowerDesign

    wrong = "--accuracy" if networks and accuracies else "--slope" if slopes and not networks else ""
    if wrong:
        raise UsageError(f"{wrong} {'does not go' if networks else 'goes only'} with --networks.")
    people = participants or [50, 100]
    chosen: dict[str, Any] = {"simulations": simulations, "alpha": alpha, "seed": seed}
    if networks:
        over = NetworkDesign(units, people[0], sets, sd_participant, sd_unit, sd_unit_by_set, sd_network)
        rows = tables.simulate_all_networks(networks, people, baseline, slopes or [0.1], over, **chosen)
        document, table = tables.network_power_json(rows, over), tables.network_power_table(rows, over)
    else:
        design = PowerDesign(trials, sets, sd_participant, sd_unit, sd_unit_by_set)
        found = tables.simulate_all(baseline, accuracies or [0.67, 0.64], people, design, **chosen)
        document, table = tables.power_json(found, design), tables.power_table(found, design)
    if as_json:
        say(json.dumps(document, indent=1, allow_nan=False))
    else:
        Console().print(table)
