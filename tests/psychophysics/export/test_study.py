"""The export of a study from its real store: what it was made with goes along, what tells who took part does not."""

import json
from pathlib import Path

import pandas as pd
import yaml
from typer.testing import CliRunner

from psychophysics.errors import ResponsesError
from psychophysics.session_plan import Place
from search.cli import app


def test_a_study_is_collected_and_exported_with_its_documents(drawn_study, take_part, monkeypatch) -> None:
    frozen, manifest, folder = drawn_study
    monkeypatch.setenv("HMS_RESULTS", str(folder.root.parents[1]))
    nobody = CliRunner().invoke(app, ["study", "export", "drawn"])
    assert isinstance(nobody.exception, ResponsesError) and "there are no answers" in str(nobody.exception)
    assert CliRunner().invoke(app, ["study", "preregister", "drawn"]).exit_code == 0
    take_part("ab12cd", Place("mixed", 1, 0), 6)
    take_part("ef3456", Place("none", 0, 0), 2)
    done = CliRunner().invoke(app, ["study", "export", "drawn", "--license", "https://example.org/cc0"])
    assert done.exit_code == 0, done.output
    out = Path(done.output.strip())
    assert out == folder.root / "psych-ds"
    people = pd.read_csv(out / "data" / "study-drawn_description-participants_data.csv")
    assert dict(zip(people["participant"], people["finished"], strict=True)) == {"ab12cd": True, "ef3456": False}
    trials = pd.read_csv(out / "data" / "study-drawn_description-trials_data.csv")
    assert len(trials) == 2 + 6 + 2
    described = json.loads((out / "dataset_description.json").read_text())
    assert described["name"] == "Which image?" and described["identifier"] == f"sha256:{frozen.sha256}"
    configuration = yaml.safe_load((out / "materials" / "configuration.yaml").read_text())
    assert configuration["trials"] == frozen.config["trials"] and "completion_code" not in configuration["recruitment"]
    assert json.loads((out / "materials" / "manifest.json").read_text())["config_sha256"] == manifest.config_sha256
    assert "You will see images." in (out / "documentation" / "consent.md").read_text()
    assert "Nobody had begun when this text was made" in (out / "documentation" / "preregistration.md").read_text()
    for path in out.rglob("*"):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        assert "recruiter of" not in text and "withdrawal of" not in text and "edges" not in text, path
