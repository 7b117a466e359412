"""Every command, argument and option says what it is for, and `hms --help` is quick; what `hms report` is given."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from search.cli import app
from search.errors import StoreUnreachable, UsageError


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))
PROMISED = {
    *(
        "run",
        "driver",
        "worker",
        "status",
        "serve",
        "retry",
        "cancel",
        "report",
        "export",
        "score",
        "plan",
        "predict",
        "doctor",
    ),
    *("workers", "log", "forget", "backup", "restore", "import-hyperopt"),
}


def test_the_promised_commands_are_there():
    names = {path[0] for path in COMMANDS}
    assert PROMISED | {"data"} <= names


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help(path):
    command = COMMANDS[path]
    assert command.help and command.help[0].isupper() and command.help.rstrip().endswith((".", "?"))
    undocumented = [p.name for p in command.params if p.name != "help" and not p.hidden and not p.help]
    assert not undocumented
    shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=200)
    assert shown.exit_code == 0 and "Usage: " in shown.output


def test_help_imports_nothing_heavy():
    code = "import sys, search.cli; print([m for m in ('torch', 'hyperopt', 'pandas', 'plotly') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def reported(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_a_report_of_a_folder_of_tables_needs_no_database(tmp_path, monkeypatch):
    tables = tmp_path / "toy" / "tables"
    shutil.copytree(Path(__file__).parent / "report" / "fixed", tables)
    monkeypatch.setenv("HMS_MONGO", "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100")
    monkeypatch.chdir(tables)
    expected = str(tmp_path / "toy" / "report" / "report.html")
    outcome = reported(".")
    assert outcome.exit_code == 0 and outcome.output.splitlines()[-1] == expected, outcome.output
    without = reported(f"{tmp_path}/")
    assert isinstance(without.exception, UsageError) and "hms export" in str(without.exception)


def test_a_report_of_a_name_is_of_the_store_also_where_a_folder_has_that_name(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    monkeypatch.setenv("HMS_MONGO", "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100")
    monkeypatch.chdir(tmp_path)
    for name in ("toy", "nowhere/toy"):
        assert isinstance(reported(name).exception, StoreUnreachable)


def test_folders_of_tables_are_compared_without_a_database(tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_MONGO", "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100")
    monkeypatch.setenv("HMS_RESULTS", str(tmp_path / "results"))
    for name in ("one", "two"):
        shutil.copytree(Path(__file__).parent / "report" / "fixed", tmp_path / name / "tables")
    outcome = reported(tmp_path / "one", tmp_path / "two" / "tables")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.splitlines()[-1] == str(tmp_path / "results" / "one+two" / "report.html")
    followed = reported(tmp_path / "one", "--watch")
    assert isinstance(followed.exception, UsageError) and "does not change" in str(followed.exception)
