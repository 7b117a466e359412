"""Every `hms` command that README and the docs show exists, with its options."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from search.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"```bash\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(hms [^`]+)`")


def shown(page):
    """The words after `hms` of each command in code of a page."""
    text = page.read_text(encoding="utf-8").partition("## Not done yet")[0]
    lines = [line for block in FENCE.findall(text) for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    lines += INLINE.findall(FENCE.sub("", text))
    for line in lines:
        for part in re.split(r"&&|\||;", line.partition(" #")[0]):
            words = shlex.split(part.replace("[", " ").replace("]", " ").replace("'", ""))
            if words[:1] == ["hms"] and len(words) > 1:
                yield words[1:]


def complaint(words):
    """What is wrong with a command; None where nothing is."""
    command, given = get_command(app), list(words)
    while hasattr(command, "commands") and given and not given[0].startswith("-"):
        name = given.pop(0)
        if name in ("...", "COMMAND"):
            return None
        if name not in command.commands:
            return f"no command {name}"
        command = command.commands[name]
    known = {"--help"} | {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    unknown = [word for word in given if word.startswith("--") and word.partition("=")[0] not in known]
    return f"no option {' '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_that_a_page_shows_exist(page):
    wrong = [(complaint(words), "hms " + " ".join(words)) for words in shown(page)]
    assert [found for found in wrong if found[0]] == []


def test_commands_are_found_and_a_wrong_one_is_noticed():
    assert sum(len(list(shown(page))) for page in PAGES) > 100
    assert complaint(["run", "a.yaml", "--set", "a=b"]) is None
    assert complaint(["rnu", "a.yaml"]) == "no command rnu"
    assert complaint(["data", "kitti", "DIR", "--camra", "02"]) == "no option --camra"
