"""`hms study collect`, `report` and `simulate`, as typed."""

import re
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from psychophysics.responses import read_responses
from psychophysics.server.store.contract import Event, Newcomer
from psychophysics.server.store.opening import open_answers
from psychophysics.session_plan import Place, session_plan
from search.cli import app
from search.errors import HmsError


@pytest.fixture
def study(drawn_study, tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_RESULTS", str(tmp_path))
    return drawn_study


def typed(*words):
    """What is printed; errors as the terminal shows them."""
    done = CliRunner().invoke(app, ["study", *words])
    if isinstance(done.exception, HmsError):
        return str(done.exception)
    assert done.exception is None, done.exception
    return done.stdout


def answer(study, folder):
    """Somebody begins and answers one trial."""
    frozen, manifest, _ = study
    place = Place("none", 1, 0)
    store = open_answers(folder, frozen)
    store.join(Newcomer("ann", "1", (1280, 800), "code"), lambda people: place, 1e9)
    trial = session_plan(frozen, manifest, place).main[0]
    button = 3 if trial.target_side == "right" else -3
    kinds = [("instructions_shown", {}), ("instructions_done", {}), ("trial_shown", {"trial": trial.id})]
    kinds.append(("answer", {"trial": trial.id, "button": button, "rt_ms": 2000.0}))
    store.append(
        "ann", [Event("ann", n, kind, 1e12 + 1e4 * n, 1e9 + 10 * n, c) for n, (kind, c) in enumerate(kinds)], 1e9
    )
    store.close()


def test_answers_are_collected_and_reported_by_the_name_of_the_study(study, tmp_path):
    folder = study[2]
    assert "there are no answers" in typed("collect", "drawn") and not folder.answers.exists()
    answer(study, folder)
    assert typed("collect", "drawn").splitlines() == [
        f"{folder.responses}: 1 participants, 0 finished, 1 not finished, 0 withdrawn; 1 answers",
        "next: hms study report drawn",
    ]
    found = read_responses(folder.responses)
    assert found.trials["correct"].tolist() == [True] and found.trials["confidence"].tolist() == [3]
    assert found.participants[["instruction_s", "total_s"]].to_numpy().tolist() == [[10.0, 30.0]]
    assert len(found.baselines) == 24 and found.study.name == "drawn"
    assert typed("report", "drawn").splitlines()[-1] == str(folder.report / "report.html")
    assert pd.read_csv(folder.report / "tables" / "pass_rates.csv")["finished"].tolist() == [0] * 5
    folder.answers.unlink()  # as in a copy for a colleague
    assert typed("report", "drawn").startswith(f"{folder.responses}: as collected before\n")
    answer(study, folder)
    other = tmp_path / "other"
    assert typed("collect", str(folder.root), "--out", str(other)).endswith(f"next: hms study report {other}\n")
    assert typed("report", str(other)) == f"{other / 'report' / 'report.html'}\n"


def test_a_rehearsal_is_apart(study):
    folder = study[2]
    folder.rehearsed(True).taken.mkdir()
    answer(study, folder.rehearsed(True))
    assert "there are no answers" in typed("collect", "drawn")
    told = typed("collect", "drawn", "--rehearsal")
    assert f"{folder.root / 'rehearsal' / 'responses'}: 1 participants" in told
    assert "next: hms study report drawn --rehearsal" in told
    assert read_responses(folder.root / "rehearsal" / "responses").study.name == "drawn (rehearsal)"
    assert not folder.answers.exists() and not folder.responses.exists()


@pytest.mark.long
def test_a_study_is_rehearsed_from_server_to_report(study, tmp_path):
    folder = study[2]
    command = [sys.executable, "-m", "search", "study", "serve", "drawn", "--port", "0", "--rehearsal"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = [process.stdout.readline() for _ in range(5)]
            url = re.search(r"participants: (http://[^/]+)/", "".join(told))[1]
            simulated = typed("simulate", "drawn", "--url", url, "--participants", "10", "--strategy", "perfect")
        finally:
            process.terminate()
    assert simulated.splitlines() == ["10 done", "next: hms study report drawn --rehearsal"]
    typed("report", "drawn", "--rehearsal")
    tables = folder.rehearsed(True).report / "tables"
    assert pd.read_csv(tables / "accuracy.csv")["mean"].tolist() == [1.0] * 5
    assert pd.read_csv(tables / "pass_rates.csv")["passed"].tolist() == [1.0] * 5
    assert not folder.answers.exists()
