"""The `hms` command. Each command is a few lines that call one function; `main` turns exceptions into exit codes."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from metrics.errors import MetricError
from prednet.errors import PredNetError
from search.cli_data import app as data_app
from search.cli_operation import app as operation_app
from search.cli_options import Convention, Mongo, Name, SetOption, say
from search.cli_report import app as report_app
from search.cli_score import app as score_app
from search.cli_study import app as study_app
from search.config_reader import load_config
from search.errors import EXIT_INTERRUPTED, EXIT_TRIALS_FAILED, HmsError, UsageError
from search.paths import RunFolder, data_root, results_root
from search.place import Place
from search.printable import printable
from search.progress import shown_progress
from search.store import Store

app = typer.Typer(
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    add_completion=False,
    help="A hyperparameter model search for brain-like video networks.\n\n"
    "Exit codes: 0 ok, 1 internal error, 2 usage or configuration (missing data and unreadable files too), "
    "3 store unreachable or authentication failed, 4 finished with trials in ERROR, 5 a worker's machine failed "
    "attempt after attempt, 130 interrupted.",
)
app.add_typer(data_app, name="data", help="Prepare data once; running a command again changes nothing.")
app.add_typer(study_app, name="study", help="Psychophysics: what visualizations of units tell people.")

Config = Annotated[Path, typer.Argument(help="YAML file of the search, e.g. configs/quickstart.yaml")]
NameOption = Annotated[str | None, typer.Option("--name", help="name of the search; default: the configuration's")]
Devices = Annotated[
    str | None, typer.Option(help="comma-separated: cpu, cuda:0,cuda:1; default: all of the class asked for")
]
AllowMixed = Annotated[bool, typer.Option(help="take trials that ask for another device class or precision")]
Force = Annotated[
    bool,
    typer.Option("--force-space", help="continue although the search space changed"),
]


@app.command()
def run(
    config: Config,
    overrides: SetOption = None,
    name: NameOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help="worker processes; default: one a core or GPU")] = None,
    devices: Devices = None,
    mongo: Mongo = None,
    allow_mixed: AllowMixed = False,
    force_space: Force = False,
) -> None:
    """Run or continue a whole search on this machine, then write its report."""
    from search.launch_choice import RunOptions
    from search.logged_metrics import metrics_of
    from search.run import run_search
    from search.watch import Watcher

    settings = load_config(config, overrides, name)
    command = command_line("run", config, overrides, settings.search.name)
    options = RunOptions(command, workers, devices, allow_mixed, force_space)
    console = Console()
    with _continued_by(command), shown_progress(console) as progress:
        watcher = Watcher(console, settings.search.max_trials, metrics_of(settings))
        outcome, report = run_search(Place.given(mongo), settings, options, say=say, progress=progress, watcher=watcher)
    _finish(outcome, settings.search.name, command, report)


@app.command()
def driver(
    config: Config,
    overrides: SetOption = None,
    name: NameOption = None,
    mongo: Mongo = None,
    force_space: Force = False,
) -> None:
    """Run the driver alone: sample, enqueue, reap, finish. Workers are started with `hms worker`."""
    from search.run import drive, note_materials, open_search, resolve_device

    settings = load_config(config, overrides, name)
    command = command_line("driver", config, overrides, settings.search.name)
    lease = settings.search.lease_seconds
    with (
        _continued_by(command),
        Place.given(mongo).server() as server,
        Store.connect(server.uri, lease_seconds=lease) as store,
    ):
        settings = resolve_device(store, settings)
        _, lock = open_search(store, settings, command, force_space=force_space)
        with shown_progress(Console()) as progress:
            warnings = note_materials(store, settings, lock, progress)
        for warning in warnings:
            say(f"warning: {warning}")
        outcome = drive(store, settings, lock, say=say, on_outage=lambda: server.revive(say))
    _finish(outcome, settings.search.name, command, None)


@app.command()
def worker(
    name: Annotated[str, typer.Option("--name", help="name of the search to serve")],
    mongo: Mongo = None,
    devices: Devices = None,
    per_device: Annotated[int, typer.Option(min=1, help="workers a device")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads a worker; default: cores / workers")] = None,
    slot: Annotated[int, typer.Option(hidden=True)] = 0,
    launcher: Annotated[int | None, typer.Option(hidden=True)] = None,
    allow_mixed: AllowMixed = False,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="in a Slurm job: put it back into the queue when a signal ended it early")
    ] = False,
) -> None:
    """Serve the trials of a search until it is finished; Ctrl-C and SIGTERM give the running trial back."""
    from search.serve_slots import WorkerOptions, serve

    options = WorkerOptions(devices, per_device, threads, slot, launcher, allow_mixed, requeue)
    serve(Place.given(mongo), name, options, say)


@app.command()
def export(
    name: Name,
    format: Annotated[
        str | None, typer.Option("--format", help="csv (the default), parquet, json, latex or weights")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder; default: results/NAME/export")] = None,
    optuna: Annotated[
        str | None, typer.Option(help="mirror it as a study of Optuna in this database, e.g. sqlite:///study.db")
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(help="write event files below this folder, for tensorboard --logdir")
    ] = None,
    mongo: Mongo = None,
) -> None:
    """Write the tables of a search, one row a trial and one row an evaluated epoch; or the weights that were kept.

    For other dashboards: --optuna and --tensorboard, once or repeatedly while it runs; each replaces what it wrote.
    """
    from search.export_formats import export_as

    folder = RunFolder.of(results_root(), name)
    with Place.given(mongo).store() as store:
        if optuna is not None:
            from search.optuna_mirror import mirror

            counts = mirror(store, name, optuna)
            say(f"study `{name}`: {', '.join(f'{count} {state}' for state, count in counts.items()) or 'no trials'}")
        if tensorboard is not None:
            from search.tensorboard_export import write_events

            say(str(write_events(store, name, tensorboard)))
        if format is not None or (optuna is None and tensorboard is None):
            for path in export_as(store, name, folder, data_root(), format or "csv", out or folder.root / "export"):
                say(str(path))


@app.command()
def predict(
    video: Annotated[Path, typer.Argument(help="a video file, a folder of pictures, or a KITTI drive")],
    weights: Annotated[Path, typer.Option(help="network.pt of a trial, or original Keras weights (.hdf5)")],
    out: Annotated[Path, typer.Option(help="folder of the results; made when missing")],
    extrapolate: Annotated[
        int, typer.Option(min=0, help="after the last frame go on for this many, from the network's own predictions")
    ] = 0,
    start: Annotated[int, typer.Option("--from", min=0, help="first frame, counted from 0")] = 0,
    frames: Annotated[int, typer.Option(min=1, help="how many frames the network sees, at most")] = 100,
    nt: Annotated[
        int | None,
        typer.Option(min=2, help="forget everything each NT frames, as the search's MSE does; default: never"),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(min=0.1, help="frames a second to take from a video; default: all")
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="HEIGHTxWIDTH; default: as trained, or near 128x160 where that is not known")
    ] = None,
    convention: Convention = None,
) -> None:
    """Predict the next frames of a video: pictures, a film beside the true frames, and the error of each step."""
    from search.predict import PredictOptions, predict_video

    options = PredictOptions(out, start, frames, extrapolate, nt, fps, size, convention)
    with shown_progress(Console(stderr=True)) as progress:
        text = predict_video(video, weights, options, progress)
    say(text)


@app.command()
def plan(
    config: Config,
    overrides: SetOption = None,
    name: NameOption = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1; default: the search's, or cpu")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="trials at a time; default: as `hms run`")] = None,
    measure: Annotated[bool, typer.Option(help="time a few networks here")] = True,
    gflops: Annotated[float | None, typer.Option(help="speed of the device, GFLOP/s, in place of measuring")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="how long measuring may take, about")] = 30.0,
    like: Annotated[str | None, typer.Option(help="search, or folder of tables, whose stops are expected")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """What a search will cost, before it starts: networks, FLOPs, memory, disk, device-hours, the rule's saving."""
    settings = load_config(config, overrides, name)
    from search.plan.estimate import PlanOptions, plan_search
    from search.plan.text import print_plan

    options = PlanOptions(device, workers, measure, gflops, seconds, like)
    with shown_progress(Console(stderr=True)) as progress:
        planned = plan_search(settings, options, progress)
    if as_json:
        say(json.dumps(planned.to_dict(), indent=1, allow_nan=False))
    else:
        print_plan(Console(), planned)


@app.command()
def doctor() -> None:
    """Say what works on this machine; each failure with the command that mends it."""
    from search.doctor import examine

    if not examine(say, results_root(), data_root()):
        raise typer.Exit(2)


@app.command()
def weights(
    source: Annotated[Path, typer.Argument(help="network.pt of a trial, or original Keras weights (.hdf5)")],
    target: Annotated[
        Path | None, typer.Argument(help="write it there too: .hdf5 (and .json) for Keras, or .pt")
    ] = None,
    convention: Convention = None,
    backend: Annotated[
        Literal["tensorflow", "theano"] | None,
        typer.Option(help="of the Keras that will read the .hdf5; default: the network's convention"),
    ] = None,
    size: Annotated[str | None, typer.Option(help="HEIGHTxWIDTH in the .json; default: as trained, or 128x160")] = None,
) -> None:
    """Describe a network, or convert it between our checkpoints and original Keras weights."""
    from search.weights import convert_weights

    say(convert_weights(source, target, convention=convention, backend=backend, size=size))


app.registered_commands += [
    *report_app.registered_commands,
    *score_app.registered_commands,
    *operation_app.registered_commands,
]


def command_line(command: str, config: Path, overrides: list[str] | None, name: str) -> str:
    """What a person types to repeat or continue a search."""
    settings = [word for override in overrides or [] for word in ("--set", override)]
    return shlex.join(["hms", command, str(config), "--name", name, *settings])


@contextmanager
def _continued_by(command: str) -> Iterator[None]:
    """Ctrl-C before the driver runs, as while data are prepared: a part that is prepared stays."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; continue with: {command}")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _finish(outcome: Any, name: str, command: str, report: Path | None) -> None:
    """Say how it ended; exit 130 when interrupted, 4 with trials in ERROR. The report's path is the last line."""
    counts = ", ".join(f"{count} {state}" for state, count in outcome.counts.items() if count)
    if not outcome.worked and not outcome.interrupted:
        say(f"nothing to add: `{name}` has its {sum(outcome.counts.values())} trials")
        say(f"more: {command} --set search.max_trials=N")
    say(f"`{name}`: {counts or 'no trials'}")
    if outcome.interrupted:
        say(f"interrupted; continue with: {command}")
    if outcome.failed:
        say(
            f"{outcome.failed} trials are in ERROR: see `hms status {name}`; "
            f"repeat them with `hms retry {name} --state failed`"
        )
    if report is not None:
        say(str(report))
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if outcome.failed:
        raise typer.Exit(EXIT_TRIALS_FAILED)


def main() -> None:
    """Entry point: run the command; our exceptions become one message and an exit code."""
    try:
        app()
    except HmsError as error:
        _fail(error, error.exit_code)
    except (PredNetError, MetricError) as error:
        _fail(error, UsageError.exit_code)
    except OSError as error:
        # A folder that cannot be made, a file that cannot be read or written: the message names it.
        _fail(error, UsageError.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", EXIT_INTERRUPTED)


def _fail(error: object, code: int) -> None:
    print(printable(f"hms: {error}"), file=sys.stderr, flush=True)
    raise SystemExit(code)
