"""Commands of `hms study` for the answers of its participants. Registered by `cli_study.py`."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from search.cli_options import say
from search.cli_study_server import Rehearsal, Store, Study
from search.paths import results_root
from search.progress import shown_progress

app = typer.Typer()


@app.command()
def collect(
    study: Study,
    out: Annotated[Path | None, typer.Option(help="folder; default: responses in the study's folder")] = None,
    store: Store = None,
    rehearsal: Rehearsal = False,
) -> None:
    """Write the answers so far as tidy tables: trials.csv, participants.csv and others. Works while the server runs."""
    from psychophysics.collect import collect_study
    from psychophysics.study_folder import find_study

    folder = find_study(study, results_root()).rehearsed(rehearsal)
    to = out or folder.responses
    say(f"{to}: {collect_study(folder, store, to)}")
    again = f"{study}{' --rehearsal' if rehearsal else ''}{f' --store {store}' if store else ''}"
    say(f"next: hms study report {out or again}")


@app.command()
def report(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="a study, or a folder with its trials.csv")],
    out: Annotated[
        Path | None, typer.Option(help="folder; default: report in the study's folder or in that of the tables")
    ] = None,
    store: Store = None,
    rehearsal: Rehearsal = False,
) -> None:
    """Analyse the answers of a study: report.html, tables/ (CSV), figures/. Collects them first if it can."""
    from psychophysics.collect import collect_study
    from psychophysics.report import write_report
    from psychophysics.study_folder import find_study

    tables = Path(study)
    to = out or tables / "report"
    if not (tables / "trials.csv").is_file():
        folder = find_study(study, results_root()).rehearsed(rehearsal)
        tables, to = folder.responses, out or folder.report
        sent = store is None and not folder.answers.is_file() and (tables / "trials.csv").is_file()
        say(f"{tables}: {'as collected before' if sent else collect_study(folder, store, tables)}")
    say(str(write_report(tables, to)))


@app.command()
def simulate(
    study: Study,
    url: Annotated[str, typer.Option(help="of a rehearsal, as `hms study serve STUDY --rehearsal` prints it")],
    participants: Annotated[int, typer.Option(min=1, help="so many take part")] = 50,
    strategy: Annotated[
        str, typer.Option(help="how they decide: random, perfect, centre, variance or saliency")
    ] = "random",
    at_once: Annotated[int, typer.Option(min=1, max=200, help="so many of them at the same time")] = 20,
    pace: Annotated[float, typer.Option(min=0, help="mean seconds before each of their events")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="of all that is random")] = 0,
) -> None:
    """Let simulated participants take part in a rehearsal of a study, to try it and its analysis before people come.

    Their times pass the exclusion rules. They take part in a rehearsal only, whose server keeps its answers apart from
    those of people, in the folder `rehearsal` of the study.
    """
    from psychophysics.simulated_participants import Behaviour, refuse_real, simulate
    from psychophysics.simulated_strategies import preference
    from psychophysics.stimuli.freeze import open_frozen
    from psychophysics.study_folder import find_study

    frozen, manifest = open_frozen(find_study(study, results_root()))
    refuse_real(url, frozen.study)
    behaviour = Behaviour(preference(strategy, manifest), pace=pace)
    ended: Counter[str] = Counter()
    with shown_progress(Console(stderr=True)) as progress:

        def done(status: str) -> None:
            ended[status] += 1
            progress("participants", ended.total(), participants)

        simulate(url, behaviour, participants, seed=seed, at_once=at_once, done=lambda visit: done(visit.status))
    say(", ".join(f"{count} {status}" for status, count in ended.items()))
    say(f"next: hms study report {study} --rehearsal")
