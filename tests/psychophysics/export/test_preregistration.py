"""The preregistration: whatever of the configuration matters stands in it, and its power is the simulated one."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from psychophysics.export.preregistration import Assumptions, preregistration
from psychophysics.network_power import NetworkDesign, simulate_network_power
from search.cli import app

NO_POWER = Assumptions(accuracies=())
# What a reader of the preregistration need not know: how the search is batched and checked, what pays a participant,
# what only the controls use; candidates for curated trials count by what was chosen of them.
SILENT = {
    "occlusion.batch", "occlusion.exhaustive_sample", "recruitment.completion_code", "recruitment.completion_url",
    "images.labels", "curation.units", "curation.sets", "curation.instruction", "curation.very_easy", "curation.easy",
    "curation.catch", "networks", "further_network",
}  # fmt: skip
OTHER: dict[str, Any] = {
    "study.name": "another",
    "study.search": "kitti",
    "design.conditions": ["natural", "none"],
    "design.ranked_sets": 7,
    "design.sets": 1,
    "occlusion.mode": "exhaustive",
    "occlusion.strides": [12, 4],
    "synthesis.diversity_layer": "conv2",
    "trials.main": 5,
    "exclusions.catch_correct": 1,
    "trials.catch": None,  # changed with curation.catch below
    "trials.practice_very_easy": 0,
    "trials.practice_easy": 2,
    "curation.network": None,  # needs another network, below
    "recruitment.kind": None,  # needs a completion code, below
    "consent.paragraphs": ["Something else."],
}


def _body(text: str) -> str:
    return text.partition("## Appendix")[0]


def _leaves(document: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [(section, key, value) for section, keys in document.items() if isinstance(keys, dict)
            for key, value in keys.items() if section != "further_network"]  # fmt: skip


def _another(name: str, value: Any) -> Any:
    if name in OTHER:
        return OTHER[name]
    if isinstance(value, str):
        return f"{value} changed"
    if isinstance(value, list):
        return [item * 2 for item in value]
    return value + 1 if isinstance(value, int) else value / 2


def test_a_change_of_anything_that_matters_changes_the_text(make_drawn_study, tmp_path: Path) -> None:
    frozen, manifest, _ = make_drawn_study(tmp_path, draw=False)
    before = _body(preregistration(frozen, manifest, 0, NO_POWER))
    tried = 0
    for section, key, value in _leaves(frozen.config):
        name = f"{section}.{key}"
        other = None if name in SILENT else _another(name, value)
        if other is None:
            continue
        changed, made, _ = make_drawn_study(tmp_path, draw=False, **{section: {key: other}})
        assert _body(preregistration(changed, made, 0, NO_POWER)) != before, name
        tried += 1
    assert tried == 42
    for changes in (
        {"trials": {"catch": 3}, "curation": {"catch": 3}},
        {"recruitment": {"kind": "prolific", "completion_code": "C0DE77"}},
    ):
        changed, made, _ = make_drawn_study(tmp_path, draw=False, **changes)
        text = preregistration(changed, made, 0, NO_POWER)
        assert _body(text) != before and "C0DE77" not in text


def test_the_values_stand_in_their_sentences(make_drawn_study, tmp_path: Path) -> None:
    frozen, manifest, _ = make_drawn_study(
        tmp_path, draw=False, analysis={"equivalence_bound": 0.04, "alpha": 0.01}, recruitment={"refills": 2},
        exclusions={"total_seconds_none": [33, 777], "catch_correct": 1}, design={"participants_per_cell": 3},
    )  # fmt: skip
    text = re.sub(r"\s+", " ", preregistration(frozen, manifest, 0, NO_POWER))
    for words in (
        "differ by less than 4 percentage points",
        "(equivalence bound 0.04) at alpha",
        "alpha = 0.01",
        "30 places: 5 conditions x 2 image sets x 3 participants; 6 a condition, 30 in all",
        "after exclusions at most 2 times",
        "(in `none` 33 and 777 s)",
        "fewer than 1 of 2 catch trials correct",
        "for all 10 pairs of conditions",
        "4: conv/0, conv/1, conv/2, conv/3",
        "signed by A. Person",
        "> You will see images. > You may stop.",
        "No. Nobody had begun",
    ):
        assert words in text, words
    begun = preregistration(frozen, manifest, 3, NO_POWER)
    assert "Yes: 3 people had begun when this text was made." in begun


def test_power_of_the_papers_design(make_drawn_study, tmp_path: Path) -> None:
    frozen, manifest, _ = make_drawn_study(
        tmp_path, draw=False, design={"ranked_sets": 20, "sets": 10, "participants_per_cell": 5}, trials={"main": 18}
    )
    text = preregistration(frozen, manifest, 0)
    figures = re.findall(r"60.0% against (6[74]).0%, 50 participants a condition.*?power (0\.\d\d)", text)
    assert [accuracy for accuracy, _ in figures] == ["67", "64"]
    # Of 600 simulations: 99 % of them lie within 0.047.
    assert float(figures[0][1]) == pytest.approx(0.73, abs=0.047)
    assert float(figures[1][1]) == pytest.approx(0.31, abs=0.047)


def test_networks_are_a_factor_and_their_question_has_a_power_or_no_answer(make_drawn_study, tmp_path: Path) -> None:
    frozen, manifest, _ = make_drawn_study(tmp_path, draw=False, trials={"main": 36})

    hms = [-0.02, 0.05, 0.06, 0.11, 0.1234, 0.2]

    def text(count: int) -> str:
        networks = [frozen.config["networks"][0] | {"name": f"net{i}", "hms": hms[i]} for i in range(count)]
        config = frozen.config | {"networks": networks, "curation": frozen.config["curation"] | {"network": "net0"}}
        made = preregistration(frozen.model_copy(update={"config": config}), manifest, 0, NO_POWER)
        return re.sub(r"\s+", " ", made)

    six = text(6)
    assert "**H3.** Over 6 networks accuracy is correlated with human-model similarity" in six
    assert "+ (1 | network)`" in six and "HMS over the 6 networks, one value each" in six
    found = simulate_network_power(
        np.array(hms), 0.6, 0.1, NetworkDesign(units=6, participants=8, sets=2), seed=frozen.config["study"]["seed"]
    )
    assert "over 6 networks of 6 units each, 8 participants, accuracy rising linearly from 60.0% to 70.0%" in six
    assert f"power {found.power:.2f} ({found.low:.2f} to {found.high:.2f})" in six
    three = text(3)
    assert "with 3 networks of known HMS, fewer than 6, it cannot be said whether accuracy goes with HMS" in three
    assert "rising linearly" not in three and "| 0.1234 |" in six and "| -0.02 |" in three


def test_the_command_writes_it_and_refuses_a_study_that_is_not_frozen(drawn_study, monkeypatch) -> None:
    frozen, _, folder = drawn_study
    monkeypatch.setenv("HMS_RESULTS", str(folder.root.parents[1]))
    done = CliRunner().invoke(app, ["study", "preregister", "drawn", "--accuracy", "0.7"])
    assert done.exit_code == 0, done.output
    text = (folder.root / "preregistration.md").read_text(encoding="utf-8")
    assert done.output.strip() == str(folder.root / "preregistration.md")
    assert frozen.sha256 in text and frozen.manifest_sha256 in text and "60.0% against 70.0%" in text
    picture = next(folder.root.rglob("*.png"))
    content = picture.read_bytes()
    picture.write_bytes(b"another")
    changed = CliRunner().invoke(app, ["study", "preregister", "drawn"])
    assert "1 changed: stimuli/" in str(changed.exception)
    picture.write_bytes(content)
    folder.frozen.unlink()
    refused = CliRunner().invoke(app, ["study", "preregister", "drawn"])
    assert "frozen.json is missing. Next: hms study freeze" in str(refused.exception)
