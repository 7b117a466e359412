"""The study report: files, numbers that agree with the tables, and what it says when something is missing."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from psychophysics.analysis.comparisons import mann_whitney
from psychophysics.errors import ResponsesError, StimuliError
from psychophysics.report import write_report
from psychophysics.report.analysis import analyse
from psychophysics.report.drawings import drawings
from psychophysics.report.page import render
from psychophysics.responses import Study, read_responses
from search.cli import app


def _text(page: str) -> str:
    """What a person reads."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def _page(folder: Path) -> str:
    """The page's HTML, without the printed figures."""
    analysis = analyse(read_responses(folder))
    return render(analysis, drawings(analysis))


def test_page_tables_and_figures_agree_with_the_answers(write_study, tmp_path: Path) -> None:
    folder = write_study(study=Study("demo", "a" * 64, 0.1))
    page = write_report(folder, tmp_path / "out")
    text, trials = _text(page.read_text(encoding="utf-8")), pd.read_csv(folder / "trials.csv")
    main = trials[(trials["kind"] == "main") & (trials["participant"] != "none-011")]
    means = main.groupby(["condition", "participant"])["correct"].mean()
    natural, none = means["natural"], means["none"]
    for values in (natural, none):
        shown = f"{100 * values.mean():.1f} ± {100 * 2 * values.std() / len(values) ** 0.5:.1f} %"
        assert shown in text
    test = mann_whitney(natural, none)
    assert f"Mann-Whitney U = {test.statistic:.1f}" in text
    table = pd.read_csv(tmp_path / "out" / "tables" / "comparisons.csv").iloc[0]
    assert table["p"] == pytest.approx(test.p) and table["p_holm"] == pytest.approx(test.p)
    assert table["difference"] == pytest.approx(natural.mean() - none.mean())
    assert "Equivalence p TOST, ± 10.0 points" in text and "Frozen configuration aaaaaaaaaaaa" in text
    assert "0 of 3 catch trials correct, fewer than 2" in text and "Not in the numbers: 1 excluded." in text
    assert "baseline: variance" in text and "60 ± 3 %" in text
    names = {path.stem for path in (tmp_path / "out" / "figures").glob("*.png")}
    assert {"accuracy", "reaction_times", "confidence", "units", "consistency"} <= names
    model = pd.read_csv(tmp_path / "out" / "tables" / "model_conditions.csv").iloc[0]
    assert (model["first"], model["second"]) == ("natural", "none")
    assert model["low"] < model["log_odds"] < model["high"] and model["log_odds"] > 0


def test_without_a_bound_nothing_is_tested_for_equivalence(write_study) -> None:
    text = _text(_page(write_study()))
    assert "fixed no bound for equivalence" in text and "Equivalence p" not in text


def test_networks_are_the_sample_of_their_question(write_study) -> None:
    text = _text(_page(write_study(networks=3)))
    assert "3 networks with a defined HMS: the question cannot be answered with fewer than 6" in text
    text = _text(_page(write_study(networks=6)))
    assert "n = 6 networks" in text and "Spearman ρ =" in text


def test_a_condition_without_errors_has_no_model_and_says_so(write_study) -> None:
    def all_right(trials: pd.DataFrame, people: pd.DataFrame) -> None:
        chosen = trials["condition"] == "natural"
        trials.loc[chosen, "response_side"] = trials.loc[chosen, "target_side"]
        trials.loc[chosen, "correct"] = True

    text = _text(_page(write_study(change=all_right)))
    assert "No mixed model: All answers in condition natural are correct" in text and "100.0 ± 0.0 %" in text


def test_nobody_accepted_is_a_page_too(write_study, tmp_path: Path) -> None:
    def too_fast(trials: pd.DataFrame, people: pd.DataFrame) -> None:
        people["total_s"] = 10.0

    page = write_report(write_study(change=too_fast), tmp_path / "out")
    assert "No accepted participant has answered a main trial" in _text(page.read_text(encoding="utf-8"))
    assert len(pd.read_csv(tmp_path / "out" / "tables" / "exclusions.csv")) == 25
    assert not (tmp_path / "out" / "figures").exists()


def test_the_studys_own_limits_decide(write_study) -> None:
    study = Study("lenient", exclusions={"catch_correct": 0})
    text = _text(_page(write_study(study=study)))
    assert "accepted of 24 finished" in text and "excluded." not in text
    with pytest.raises(ResponsesError, match="exclusions has `catch`; the limits are practice_attempts, catch_correct"):
        _page(write_study(study=Study(exclusions={"catch": 2})))


def test_names_are_text_and_never_markup(write_study) -> None:
    assert "<script>alert" not in _page(write_study(study=Study("<script>alert(1)</script>")))


def test_the_command_writes_it_and_names_what_is_missing(write_study, tmp_path: Path) -> None:
    def nobody(trials: pd.DataFrame, people: pd.DataFrame) -> None:
        people["finished"] = False

    folder = write_study(change=nobody)
    done = CliRunner().invoke(app, ["study", "report", str(folder)])
    assert done.exit_code == 0 and done.output.strip() == str(folder / "report" / "report.html")
    failed = CliRunner().invoke(app, ["study", "report", str(tmp_path / "nowhere")])
    assert isinstance(failed.exception, StimuliError) and "is no study" in str(failed.exception)
