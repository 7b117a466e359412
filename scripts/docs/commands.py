"""The command reference, from the Typer application: every command with its arguments and options.

python scripts/docs/commands.py prints it as Markdown; `docs/conf.py` puts it into docs/reference/commands.md.
"""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from search.cli import app


def commands() -> Iterator[tuple[str, Any]]:
    """(words, command) of each command that can be typed: `hms run`, `hms data kitti`, ...; not of their groups."""
    yield from _below("hms", get_command(app))


def markdown() -> str:
    """A table of all commands, then a section each."""
    found = list(commands())
    rows = [f"| [`{name}`](#{name.replace(' ', '-')}) | {_first_sentence(command.help)} |" for name, command in found]
    table = ["| command | what it does |", "|---|---|", *rows, ""]
    parts = [
        get_docs_for_click(obj=command, ctx=typer.Context(command, info_name=name), name=name, indent=1, title=name)
        for name, command in found
    ]
    return _escaped("\n".join([*table, *parts]))


def _below(words: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _below(f"{words} {name}", command)
        else:
            yield f"{words} {name}", command


def _first_sentence(text: str | None) -> str:
    line = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<!\bal)\. (?=[A-Z])", line)[0].rstrip(".")


def _escaped(text: str) -> str:
    """`<` outside of code would begin an HTML tag."""
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


if __name__ == "__main__":
    print(markdown())
