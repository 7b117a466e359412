"""LaTeX tables: what is written, and that pdflatex makes of it what was meant."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.report import analyse, read_tables
from search.report.exports import export_tables, report_tables
from search.report.latex import cell, document, escape, latex_table
from search.report.latex_tables import run_tables, write_latex

WriteTables = Callable[..., Path]
NASTY = r"""100 % of $x_1^2$ & #{a}~\"b\" <c> |d| [e] − ρ ≥ ² é 中 \end{table}"""


def compiled(folder: Path, name: str = "all_tables") -> str:
    """The log of a run of pdflatex that ended well; skips where there is none."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex on this machine: apt-get install texlive-latex-base texlive-latex-recommended")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", f"{name}.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, errors="replace")
    assert done.returncode == 0, done.stdout[-3000:]
    assert (folder / f"{name}.pdf").stat().st_size > 1000
    return (folder / f"{name}.log").read_text(errors="replace")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (-0.5, "$-$0.5"),
        (1e-7, r"1$\cdot$10$^{-7}$"),
        (-1.25e-05, r"$-$1.25$\cdot$10$^{-5}$"),
        (12.0, "12"),
        (np.int64(-3), "$-$3"),
        (np.float64("nan"), "--"),
        (None, "--"),
        ("", "--"),
        (True, "True"),
        ("a_b & 5 %", r"a\_b \& 5 \%"),
        ("ρ ≥ 中", r"$\rho$ $\geq$ U+4E2D"),
    ],
)
def test_values_as_they_are_printed(value: object, text: str) -> None:
    assert cell(value) == text


def test_a_backslash_is_escaped_once() -> None:
    assert escape("\\{}") == r"\textbackslash{}\{\}"


def test_short_tables_float_and_long_ones_break_over_pages() -> None:
    short = latex_table(pd.DataFrame({"a": [1, 2]}), "Two", "two_rows")
    assert "\\begin{table}" in short and "\\label{tab:two-rows}" in short and short.count("\\midrule") == 1
    long = latex_table(pd.DataFrame({"a": range(60)}), "Sixty", "sixty")
    assert "\\begin{longtable}{r}" in long and long.count(r" \\" + "\n") >= 60 and "landscape" not in long
    wide = latex_table(pd.DataFrame({f"column {i}": ["x" * 12] for i in range(14)}), "Wide", "wide")
    assert "\\begin{landscape}" in wide


@pytest.mark.parametrize("rows", [1, 60])
def test_nothing_in_a_table_is_a_command(tmp_path: Path, rows: int) -> None:
    frame = pd.DataFrame({NASTY: [NASTY] * rows, "n": [1.5] * rows})
    (tmp_path / "nasty.tex").write_text(latex_table(frame, NASTY, "nasty"), encoding="utf-8")
    (tmp_path / "main.tex").write_text(document(["nasty"]), encoding="utf-8")
    log = compiled(tmp_path, "main")
    assert "Missing character" not in log


@pytest.mark.parametrize(
    "options",
    [
        {"trials": 34, "diverged": 1, "collapsed": 2, "epochs": 120},
        {"trials": 12, "replicates": 3, "record": {"algorithm": "tpe", "name": "a_b & 100 % {ü}"}},
        {"trials": 0, "artifacts": 0},
    ],
    ids=["usual", "adaptive", "empty"],
)
def test_all_tables_of_a_report_compile(write_tables: WriteTables, tmp_path: Path, options: dict) -> None:
    analysis = analyse(read_tables(write_tables(**options)))
    out = tmp_path / "out"
    export_tables(analysis, out)
    shown = (out / "all_tables.tex").read_text()
    names = {path.stem for path in out.glob("*.tex")} - {"all_tables"}
    assert all(f"\\input{{{name}}}" in shown for name in names)
    tables = {path.stem for path in out.glob("*.csv")} - {"trials", "epochs"}
    shaped = {name for name in tables if name.startswith(("table1", "correlations"))}
    assert tables - shaped <= names
    log = compiled(out)
    assert [line for line in log.splitlines() if line.startswith("Overfull")] == []


def test_trials_and_epochs_compile_too(write_tables: WriteTables, tmp_path: Path) -> None:
    analysis = analyse(read_tables(write_tables(trials=34, collapsed=1, failed=1)))
    paths = write_latex(analysis, report_tables(analysis) | run_tables(analysis), tmp_path / "out")
    assert {"trials.tex", "epochs.tex", "table1.tex", "table2.tex"} <= {path.name for path in paths}
    compiled(tmp_path / "out")


def test_tables_1_and_2_hold_the_numbers_of_the_page_and_carry_n_family_and_rule(
    write_tables: WriteTables, tmp_path: Path
) -> None:
    analysis = analyse(read_tables(write_tables(trials=34)))
    export_tables(analysis, tmp_path)
    first, second = ((tmp_path / f"{name}.tex").read_text() for name in ("table1", "table2"))
    cells = analysis.defined.table_1.set_index(["group", "metric"]).loc[("top", "hms")]
    assert f"{cells['mean']:.3f} ({cells['sd']:.3f})" in first and "0.178 (0.011)" in first
    row = analysis.defined.correlations.query("controls == 'none' and x == 'hms' and y == 'mse'").iloc[0]
    assert f"$-${abs(row['rho']):.3f}" in second and "$-$0.646" in second
    for text in (first, second):
        assert "n = 34 networks" in text and "epoch rule last" in text
    assert f"Bonferroni over the family ({int(row['family_size'])} plain" in second
