"""Commands that look after searches: see, repeat, end, remove, back up, adopt. Registered beside those of `cli.py`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from search.cli_options import Mongo, Name, say
from search.errors import UsageError
from search.paths import RunFolder, results_root
from search.place import Place
from search.progress import shown_progress

app = typer.Typer()

Lines = Annotated[int, typer.Option(min=0, help="how many lines of a log's end")]


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help="name of the search; default: list all")] = None,
    mongo: Mongo = None,
    watch: Annotated[bool, typer.Option("--watch", help="follow it until it is finished; Ctrl-C leaves it be")] = False,
) -> None:
    """Show a search: its trials, driver, workers, trials an hour, time left, stale leases, last errors."""
    from search.status import show_status

    with Place.given(mongo).store() as store:
        show_status(store, name, Console(), watch=watch)


@app.command()
def workers(
    name: Annotated[str | None, typer.Argument(help="name of the search; default: of all")] = None,
    mongo: Mongo = None,
) -> None:
    """List the workers: where they run, what they do, their last sign of life; those that went silent too."""
    from search.workers import show_workers

    with Place.given(mongo).store() as store:
        show_workers(store, name, Console())


@app.command()
def log(
    name: Name,
    tid: Annotated[int | None, typer.Option(help="one trial; default: the workers' own logs")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="go on until the trial, or the search, has ended")] = False,
    lines: Lines = 40,
    mongo: Mongo = None,
) -> None:
    """Show a trial's log, how its attempts ended, and its traceback; or the ends of the workers' logs."""
    from search.logs import show_trial_log, show_worker_logs

    folder = RunFolder.of(results_root(), name)
    with Place.given(mongo).store() as store:
        if tid is None:
            show_worker_logs(store, name, folder, say, lines=lines, follow=follow)
        else:
            show_trial_log(store, name, tid, folder, say, lines=lines, follow=follow)


@app.command()
def serve(
    name: Name,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port; 0: any that is free")] = 8080,
    host: Annotated[
        str, typer.Option(help="address to listen on; 0.0.0.0: all of this machine, which asks for a token")
    ] = "127.0.0.1",
    token: Annotated[
        bool, typer.Option("--token", help="ask for a token here too: others who are logged in could look")
    ] = False,
    mongo: Mongo = None,
) -> None:
    """Follow a search in the browser: workers, trials, curves as they arrive; a page that can only be read.

    The page filters trials, shows their logs, gives tables and the whole report. Ctrl-C ends it, and leaves the search
    be. From another machine, best: ssh -L 8080:localhost:8080 THIS_MACHINE, then http://localhost:8080/ there. With
    --host, whoever has the address with its token may look; the connection is not encrypted.
    """
    from search.serve.command import serve as serve_page

    serve_page(Place.given(mongo), name, host, port, token=token, say=say)


@app.command()
def retry(
    name: Name,
    state: Annotated[
        Literal["failed", "stale"],
        typer.Option(help="failed: trials in ERROR; stale: running ones whose lease has expired"),
    ],
    mongo: Mongo = None,
) -> None:
    """Make trials NEW again, so that the next `hms run` repeats them."""
    from search.status import retry_trials

    with Place.given(mongo).store() as store:
        tids = retry_trials(store, name, state)
    say(f"{len(tids)} trials of `{name}` are NEW again; continue with the `hms run` or `hms driver` that made them")


@app.command()
def rerun(
    name: Name,
    tid: Annotated[int, typer.Option(min=0, help="the trial")],
    out: Annotated[Path | None, typer.Option(help="a new folder; default: results/NAME/reruns/TID")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda:0; default: where the trial ran")] = None,
    mongo: Mongo = None,
) -> None:
    """Train the network of one trial again, and say whether its numbers are those that are logged.

    Seed, hyperparameters and threads are the trial's own; the search and its files stay as they are. Ctrl-C ends it.
    """
    from search.rerun import rerun as train_again

    say(str(train_again(Place.given(mongo), name, tid, out, device, say)))


@app.command()
def cancel(
    name: Name,
    tid: Annotated[int | None, typer.Option(help="one trial; default: all that are not final")] = None,
    mongo: Mongo = None,
) -> None:
    """Cancel one trial, or all that wait or run; without --tid the driver proposes no more until the next `hms run`.

    A worker notices within two seconds and ends the trial's process there and then; what it had recorded stays.
    """
    from search.status import cancel_trials

    with Place.given(mongo).store() as store:
        tids = cancel_trials(store, name, tid)
    say(f"{len(tids)} trials of `{name}` cancelled")


@app.command()
def forget(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    force: Annotated[bool, typer.Option("--force", help="although its driver or workers are alive")] = False,
    mongo: Mongo = None,
) -> None:
    """Remove a search for ever: its documents and files in the store, results/NAME on this machine, nothing else."""
    from search.forget import belongings
    from search.forget import forget as remove

    def confirm(question: str) -> bool:
        if not yes and not sys.stdin.isatty():
            raise UsageError(f"{question} Nobody can be asked here: hms forget {name} --yes")
        return yes or typer.confirm(question)

    with Place.given(mongo).store() as store:
        removed = remove(store, belongings(store, name, results_root()), confirm, force=force)
    say(f"`{name}` was removed" if removed else f"`{name}` stays as it is")


@app.command()
def backup(
    names: Annotated[
        list[str], typer.Argument(metavar="[NAME]... FILE", help="searches, then the file, e.g. paper.jsonl.gz")
    ],
    everything: Annotated[bool, typer.Option("--all", help="every search of the store; give FILE alone")] = False,
    mongo: Mongo = None,
) -> None:
    """Write searches to one file of compressed JSON lines, as of one moment; they may run meanwhile.

    Networks, checkpoints and logs under results/NAME are files: copy them as files. With `search.checkpoints: gridfs`
    the store's copies are in the backup.
    """
    from search.backup import write_backup

    *chosen, file = names
    if everything == bool(chosen):
        raise UsageError("which searches? hms backup NAME... FILE, or hms backup --all FILE")
    if not file.endswith(".jsonl.gz"):  # a forgotten FILE would make one of a search's name
        raise UsageError(
            f"the last argument is the file, and ends in .jsonl.gz: hms backup {' '.join(names)} FILE.jsonl.gz"
        )
    with Place.given(mongo).store() as store, shown_progress(Console(stderr=True)) as progress:
        written = write_backup(store, chosen or store.names(), Path(file), progress)
    for name, counts in written.searches.items():
        say(f"{name}: {', '.join(f'{count} in {collection}' for collection, count in counts.items())}")
    say(str(written.path))


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="what `hms backup` wrote")],
    name: Annotated[str | None, typer.Option("--name", help="another name, for a backup of one search")] = None,
    mongo: Mongo = None,
) -> None:
    """Put the searches of a backup into the store, once it proved whole; a search that is there is never changed.

    Trials that ran at that time are NEW again, and go on from their last checkpoint where its file is at hand.
    """
    from search.backup import restore as put_back

    with Place.given(mongo).store() as store, shown_progress(Console(stderr=True)) as progress:
        restored = put_back(store, file, name, progress)
    for known, counts in restored.searches.items():
        say(f"{known}: {', '.join(f'{count} in {collection}' for collection, count in counts.items())}")


@app.command()
def import_hyperopt(
    uri: Annotated[
        str, typer.Argument(help="mongodb://HOST/DATABASE, or a file that holds it (for a password: a file)")
    ],
    exp_key: Annotated[str | None, typer.Option(help="which search; default: the only one there is")] = None,
    name: Annotated[str | None, typer.Option("--name", help="name in our store; default: the exp_key")] = None,
    loss_is: Annotated[
        str | None,
        typer.Option(help="the metric that its loss was: mse, -hms, -accuracy, a package's; default: none of ours"),
    ] = None,
    mongo: Mongo = None,
) -> None:
    """Adopt a search that stock HyperOpt's MongoTrials ran: its trials then appear in status, exports and reports.

    Read from there: sampled values, status, loss and other numbers of the result, times, errors. Nothing is written
    there and nothing unpickled, so that values of hp.choice stay the numbers of their options.
    """
    from search.import_hyperopt import import_hyperopt as adopt
    from search.import_hyperopt import source_uri
    from search.store.hyperopt_database import HyperoptDatabase

    with HyperoptDatabase.open(source_uri(uri)) as database, Place.given(mongo).store() as store:
        told = adopt(store, database, exp_key, name, loss_is)
    say(f"imported from {told['from']}: {', '.join(f'{count} {state}' for state, count in told['counts'].items())}")
    for note in told["notes"]:
        say(f"note: {note}")
