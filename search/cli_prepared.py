"""`hms data inspect|list|verify|remove`: what data are there, before and after they are prepared."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from search.cli_options import say
from search.errors import UsageError
from search.paths import data_root
from search.progress import shown_progress

app = typer.Typer()

Prepared = Annotated[str, typer.Argument(metavar="NAME", help="name that `hms data list` shows")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="a folder or file of any kind of data")],
    quick: Annotated[bool, typer.Option("--quick", help="read headers only; broken pixels stay unseen")] = False,
    sheet: Annotated[
        Path | None, typer.Option("--contact-sheet", help="also write a PNG with frames to look at")
    ] = None,
    as_json: Json = False,
) -> None:
    """What a folder or file is, what would be used of it, what is wrong, and the next command. Writes nothing else."""
    from prednet.data.inspection.contact_sheet import write_contact_sheet
    from search.data_inspection import inspect_path
    from search.inspection_text import inspection_lines

    with shown_progress(Console(stderr=True)) as progress:
        found = inspect_path(path, data_root() / "video", quick=quick, progress=progress)
        if sheet is not None:
            recordings = [recording for inspection in found for recording in inspection.recordings]
            write_contact_sheet(recordings, sheet, height=128, width=160, progress=progress)
    if as_json:
        print(json.dumps([inspection.to_dict() for inspection in found], indent=1))
        return
    for number, inspection in enumerate(found):
        say("\n" * bool(number) + "\n".join(inspection_lines(inspection, quick=quick)))
    if sheet is not None:
        say(f"\n{sheet}")


@app.command("list")
def list_prepared(as_json: Json = False) -> None:
    """What is prepared under HMS_DATA, how large it is, and whether its source has changed."""
    from search.inspection_text import prepared_lines
    from search.prepared_data import prepared_data

    found = prepared_data(data_root())
    if as_json:
        print(json.dumps([item.to_dict() for item in found], indent=1))
    elif found:
        say("\n".join(prepared_lines(found)))
    else:
        say(f"nothing yet under {data_root()}: try `hms data demo`")


@app.command()
def verify(name: Prepared, as_json: Json = False) -> None:
    """Recompute checksums, compare the source with what was read, and say what changed. Exit 2 when something did."""
    from search.prepared_data import find_prepared
    from search.prepared_data import verify as check

    item = find_prepared(data_root(), name)
    with shown_progress(Console(stderr=True)) as progress:
        verdict = check(item, progress)
    if as_json:
        told = {"problems": list(verdict.problems), "notes": list(verdict.notes), "command": verdict.command}
        print(json.dumps({**item.to_dict(), **told}, indent=1))
    for note in () if as_json else verdict.notes:
        say(f"note: {note}")
    if verdict.problems:
        raise UsageError(
            "\n  - ".join([f"{name} is not as it was prepared:", *verdict.problems]) + f"\nNext: {verdict.command}"
        )
    if not as_json:
        source = f", {item.state}" if item.state.startswith("source") else ""
        say(f"{name}: every checksum is right{source}")


@app.command()
def remove(
    name: Prepared,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
) -> None:
    """Delete prepared data; their sources stay. Refused while a process of this machine reads them."""
    from search.prepared_data import find_prepared, users_of
    from search.prepared_data import remove as delete

    item = find_prepared(data_root(), name)
    if users := users_of(item.path):
        raise UsageError(
            f"{name} is in use by {'; '.join(users[:3])}. Next: wait for it, or end its search with `hms cancel`"
        )
    if not yes:
        say("Searches on other machines that read this folder cannot be seen from here.")
        typer.confirm(f"Delete {item.path} ({item.bytes / 1e6:,.1f} MB)?", abort=True)
    left = delete(item)
    say(f"removed {item.path}" + (f"; left alone: {', '.join(left)}" if left else ""))
