"""The report of a search names the studies with people that compared its networks, and what they found."""

import re
import shutil
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from psychophysics.report import write_report as write_study_report
from search.report import write_report

FIXED = Path(__file__).parents[2] / "search" / "report" / "fixed"


@pytest.fixture
def results(tmp_path) -> Path:
    """A results folder with the tables of a small search."""
    shutil.copytree(FIXED, tmp_path / "results" / "fixed" / "tables")
    return tmp_path / "results"


def _page(results: Path) -> str:
    out = results / "fixed" / "report"
    return write_report(results / "fixed" / "tables", out, printed=False).read_text(encoding="utf-8")


def _section(page: str) -> str:
    part = re.search(r'<section id="people">.*?</section>', page, re.DOTALL)
    assert part is not None
    return part.group()


def _text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_search_without_studies_says_nothing_of_people(results, make_drawn_study) -> None:
    make_drawn_study(results, study={"search": "another"})
    (results / "studies" / "broken").mkdir()
    (results / "studies" / "broken" / "frozen.json").write_text('{"config": ')
    assert 'id="people"' not in _page(results)


def test_a_study_without_a_report_is_named_with_the_command_that_writes_it(results, make_drawn_study) -> None:
    make_drawn_study(results, study={"search": "fixed"})
    assert "drawn 1 – – frozen, no report yet: hms study report drawn" in _text(_section(_page(results)))


def test_a_study_with_a_report_is_linked_with_what_it_found(results, make_drawn_study, write_study) -> None:
    make_drawn_study(results, study={"search": "fixed"})
    study = results / "studies" / "drawn" / "report"
    write_study_report(write_study(networks=6), study, printed=False)
    table = pd.read_csv(study / "tables" / "networks.csv")
    shown = table[table["condition"] == "natural"]  # the other condition is `none`
    rho = stats.spearmanr(shown["hms"], shown["accuracy"]).statistic
    section = _section(_page(results))
    link = re.search(r'href="([^"]+)#networks"', section)
    assert link is not None
    assert (results / "fixed" / "report" / link.group(1)).resolve() == (study / "report.html").resolve()
    row = f"drawn 6 {rho:.2f}".replace("-", "−")
    assert row in _text(section) and "Over 6 networks no relation is shown." in _text(section)


def test_a_study_of_too_few_networks_says_so_there_too(results, make_drawn_study, write_study) -> None:
    make_drawn_study(results, study={"search": "fixed"})
    write_study_report(write_study(networks=3), results / "studies" / "drawn" / "report", printed=False)
    assert "drawn 3 – – 3 networks with a defined HMS: the question cannot be answered" in _text(
        _section(_page(results))
    )
