"""Commands of `hms study` around its server. Registered by `cli_study.py`."""

import shlex
import sys
from typing import Annotated

import typer

from search.cli_options import say
from search.errors import EXIT_INTERRUPTED, UsageError
from search.paths import results_root

app = typer.Typer()

Study = Annotated[str, typer.Argument(metavar="STUDY", help="name of a study, its folder, or its configuration")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", help="MongoDB URI without a password, or a file that holds one; default: answers.sqlite of the study"
    ),
]
Rehearsal = Annotated[
    bool, typer.Option("--rehearsal", help="a rehearsal: its answers are kept apart from those of the study")
]


@app.command()
def serve(
    study: Study,
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0: all of this machine")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port; 0: any that is free")] = 8000,
    public_url: Annotated[
        str | None, typer.Option(help="what participants open, where a reverse proxy stands before the server")
    ] = None,
    store: Store = None,
    reserve: Annotated[
        float, typer.Option(min=1, help="minutes that a place is kept for somebody who is not seen any more")
    ] = 60.0,
    rehearsal: Rehearsal = False,
) -> None:
    """Serve a frozen study to participants: consent, instructions, practice, trials; answers are stored at once.

    Prints the participants' address, that for Prolific, and the admin page's with its token. Ctrl-C ends it with exit
    code 130; started again, it goes on, and participants with it. The connection is not encrypted: on the internet,
    put a reverse proxy with TLS before it (docs/howto/study_server.md).
    """
    from psychophysics.study_folder import find_study

    try:
        from psychophysics.server.serve import ServeOptions, serve_study
    except ModuleNotFoundError as missing:
        raise UsageError(f"{missing.name} is not installed. Next: pip install 'hms-search[study]'") from None
    options = ServeOptions(host, port, public_url, store, reserve * 60)
    folder = find_study(study, results_root()).rehearsed(rehearsal)
    try:
        serve_study(folder, options, say)
    except KeyboardInterrupt:
        say(f"stopped; every answer that was received is stored. Go on with: {shlex.join(['hms', *sys.argv[1:]])}")
        raise typer.Exit(EXIT_INTERRUPTED) from None


@app.command()
def withdraw(
    study: Study,
    code: Annotated[str | None, typer.Option(help="the withdrawal code that the participant's page showed")] = None,
    prolific_id: Annotated[str | None, typer.Option(help="the participant's id at Prolific")] = None,
    store: Store = None,
    rehearsal: Rehearsal = False,
) -> None:
    """Erase a participant's answers, as who took part can do at /withdraw. The study may be served meanwhile."""
    from psychophysics.server.withdrawal import withdraw as erase
    from psychophysics.study_folder import find_study

    folder = find_study(study, results_root()).rehearsed(rehearsal)
    erase(folder, store, code=code, prolific_id=prolific_id)
    say("erased: answers, times and pseudonym; backups that hold them are yours to delete")
