"""A published dataset against the rules of Psych-DS 1.5.1, written here from its schema; and what may not leave."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from psychophysics.errors import StudyError
from psychophysics.export.dataset import Particulars, write_dataset
from psychophysics.responses import Responses, check_trials, read_responses, write_responses
from search.cli import app

FILE = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")  # the schema's fileRegex
OFFICIAL = {"study", "site", "subject", "session", "task", "condition", "trial", "stimulus", "description"}
REQUIRED = {"name", "description", "variableMeasured", "@type", "@context"}
PROPERTY = {"@type", "name", "description", "unitText", "minValue", "maxValue", "valuePattern"}


def problems(root: Path) -> list[str]:
    """The rules of level error, and the warnings about keywords, README and CHANGES."""
    found = []
    described = json.loads((root / "dataset_description.json").read_text(encoding="utf-8"))
    found += [f"no {key}" for key in REQUIRED - set(described)]
    if described.get("@type") != "Dataset" or "schema.org" not in described.get("@context", ""):
        found.append("no Dataset of schema.org")
    found += [f"no {name}" for name in ("README.md", "CHANGES.md") if not (root / name).stat().st_size]
    files = list((root / "data").rglob("*.csv"))
    found += [] if files else ["no data file"]
    everything = set()
    for file in files:
        if not FILE.fullmatch(file.name):
            found.append(f"{file.name} has no keyword formatting")
        words = {pair.partition("-")[0] for pair in file.name.split("_")[:-1]}
        found += [f"{word} is no official keyword" for word in words - OFFICIAL]
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
        found += [f"{file.name}: a row of {len(row)} cells" for row in rows if len(row) != len(rows[0])]
        sidecar = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        measured = (described | sidecar)["variableMeasured"]  # a sidecar's list takes the place of the global one
        missing = set(rows[0]) - {one["name"] for one in measured}
        found += [f"{file.name}: {name} is not in variableMeasured" for name in missing]
        found += [f"{one['name']}: {sorted(set(one) - PROPERTY)}" for one in measured if set(one) - PROPERTY]
        everything |= set(rows[0])
    missing = everything - {one["name"] for one in described["variableMeasured"]}
    return found + [f"{name} is nowhere in dataset_description.json" for name in missing]


def test_the_rules_hold_and_are_noticed_when_broken(responses: Responses, tmp_path: Path) -> None:
    out = write_dataset(responses, tmp_path / "out", Particulars("A study", ["A. Author"], "https://example.org/cc0"))
    assert problems(out) == []
    names = sorted(path.name for path in (out / "data").glob("*.csv"))
    tables = ["baselines", "exclusions", "networks", "participants", "queries", "trials"]
    assert names == [f"study-demostudy2_description-{name}_data.csv" for name in tables]
    described = json.loads((out / "dataset_description.json").read_text())
    assert described["name"] == "A study" and described["author"] == [{"@type": "Person", "name": "A. Author"}]
    by_name = {one["name"]: one for one in described["variableMeasured"]}
    assert by_name["rt_s"]["unitText"] == "s" and by_name["rt_s"]["minValue"] == 0
    assert by_name["target_side"]["valuePattern"] == "left|right"
    assert "in baselines: expected correctness" in by_name["correct"]["description"]
    (out / "data" / "Study-x_data.csv").write_text("a,b\n1\n")
    (out / "data" / "Study-x_data.json").write_text('{"variableMeasured": [{"name": "a"}]}')
    assert len(problems(out)) == 6


def test_the_tables_are_those_of_the_study_without_people_who_withdrew(responses: Responses, tmp_path: Path) -> None:
    out = write_dataset(responses, tmp_path / "out")
    stem = "study-demostudy2_description"
    trials = pd.read_csv(out / "data" / f"{stem}-trials_data.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(check_trials(trials), responses.trials)
    people = pd.read_csv(out / "data" / f"{stem}-participants_data.csv", keep_default_na=False)
    assert len(people) == 11 and "none-005" not in set(people["participant"])
    excluded = pd.read_csv(out / "data" / f"{stem}-exclusions_data.csv", keep_default_na=False)
    assert excluded.loc[excluded["rule"] == "total", "participant"].tolist() == ["natural-000"]
    readme = (out / "README.md").read_text()
    assert "1 withdrew consent" in readme and "`total_seconds`: 90 to 900" in readme and "ab" * 32 in readme
    dictionary = json.loads((out / "documentation" / "data_dictionary.json").read_text())
    assert dictionary["trials"]["confidence"] == {
        "type": "integer",
        "description": "|button|, equal on both sides: 1 least, 3 most confident",
        "minimum": 1,
        "maximum": 3,
    }


def test_only_documented_columns_leave(responses: Responses, tmp_path: Path) -> None:
    out = write_dataset(responses, tmp_path / "out")
    assert "prolific_pid" in responses.participants
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) == 16
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "5f1c2d3e" not in text and "prolific" not in text and "Ann Smith" not in text


def test_free_texts_leave_when_asked_for(responses: Responses, tmp_path: Path) -> None:
    out = write_dataset(responses, tmp_path / "out", Particulars(comments=True))
    assert "Ann Smith" in (out / "data" / "study-demostudy2_description-comments_data.csv").read_text()
    assert "free texts of participants as they wrote them" in (out / "README.md").read_text()
    assert problems(out) == []


def test_again_is_the_same_and_changes_are_told(responses: Responses, tmp_path: Path) -> None:
    out = write_dataset(responses, tmp_path / "out")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    write_dataset(responses, out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    write_dataset(replace(responses, trials=responses.trials.iloc[:-1]), out)
    entries = [line for line in (out / "CHANGES.md").read_text().splitlines() if line.startswith("- ")]
    assert len(entries) == 2 and "55 trials" in entries[0] and "54 trials" in entries[1]


def test_another_folder_is_not_written_into(responses: Responses, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StudyError, match=r"is there and is no earlier export: give another folder with --out"):
        write_dataset(responses, tmp_path)


def test_the_command_exports_a_folder_of_responses(responses: Responses, tmp_path: Path) -> None:
    write_responses(responses, tmp_path / "answers")
    done = CliRunner().invoke(app, ["study", "export", str(tmp_path / "answers"), "--title", "T", "--author", "A"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "answers" / "psych-ds")
    assert problems(tmp_path / "answers" / "psych-ds") == []
    assert len(read_responses(tmp_path / "answers").participants) == 12  # as they were
