"""The tables of a report as LaTeX: Tables 1 and 2 as the page shows them, the others as their CSV files are."""

from pathlib import Path
from typing import Any

import pandas as pd

from search.atomic import replacing
from search.report import captions, comparison
from search.report.analysis import Analysis, Counted
from search.report.early_stopping.page_rows import settings_text
from search.report.figures.matrix import label
from search.report.latex import document, latex_table
from search.report.summaries import PAPERS

ALL = "all_tables"
SHAPED = ("table1", "correlations")  # whose CSV files are long; print has the page's layout


def write_latex(analysis: Analysis, tables: dict[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write `NAME.tex` for each of `tables`, Tables 1 and 2 among them, and `all_tables.tex`, which shows all."""
    texts: dict[str, str] = {}
    for counted, suffix in ((analysis.defined, ""), (analysis.scored, "_undefined_scored")):
        if counted is not None:
            texts |= _shaped(analysis, counted, suffix)
    for name, table in tables.items():
        if not name.startswith(SHAPED):
            texts[name] = latex_table(_named(analysis, table), caption(analysis, name), name, _titles(analysis, table))
    texts[ALL] = document([name for name in texts if name != ALL])
    return [_write(text, folder / f"{name}.tex") for name, text in texts.items()]


def run_tables(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """`trials` and `epochs` with the columns that fit on paper; their CSV files have all."""
    tables = analysis.tables
    own = [name for name in tables.metrics if name in tables.trials]
    trials = tables.trials[["tid", "state", "finish", *own, "epochs_planned", "epochs_trained", *tables.parameters]]
    return {"trials": trials, "epochs": tables.epochs[["tid", "epoch", *own]]}


def caption(analysis: Analysis, name: str) -> str:
    """The caption of a table by the name of its file."""
    own: dict[str, Any] = {
        "undefined": captions.undefined, "importance": captions.importance, "replicates": captions.replicates,
        "references": captions.references,
    }  # fmt: skip
    if name in own:
        return str(own[name](analysis))
    if name == "pareto":
        return f"Networks on the Pareto front. {captions.sample(analysis, analysis.defined.sample)}"
    if name.startswith(("early_stopping", "stabil")):
        return _of_early_stopping(analysis, name)
    return f"{_words(name)}. {analysis.tables.record.name}, n = {len(analysis.tables.trials)} trials."


def _of_early_stopping(analysis: Analysis, name: str) -> str:
    early, search = analysis.early_stopping, analysis.tables.record.name
    stable = f"Stable: {settings_text(early)}."
    if name == "stabilisation":
        return f"When each metric is stable, n = {early.networks} networks of {search}. {stable}"
    table, what = early.tables[name], "Does a stable metric stay so" if name == "stability_holds" else _words(name)
    methods = "; ".join(dict.fromkeys(table["method"])) if "method" in table else ""
    words = f"{what}: the logged runs replayed, n = {early.usable.n} networks of {search}. {stable}"
    return f"{words} {methods[:1].upper()}{methods[1:]}." if methods else words


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _shaped(analysis: Analysis, counted: Counted, suffix: str) -> dict[str, str]:
    found = {}
    if counted.sample.n:
        text = captions.table_1(analysis, counted)
        found[f"table1{suffix}"] = latex_table(_table_1(analysis, counted), text, f"table1{suffix}")
    text = captions.correlations(analysis, counted)
    pairs = {"table2": comparison.table_2_rows(counted), "parameters": comparison.parameter_rows(counted)}
    for name, rows in pairs.items():
        if rows:
            frame = _coefficients(rows, with_paper=analysis.random_sample and name == "table2")
            found[f"{name}{suffix}"] = latex_table(frame, text, f"{name}{suffix}")
    return found


def _table_1(analysis: Analysis, counted: Counted) -> pd.DataFrame:
    metrics, rows = analysis.tables.metrics, []
    for row in comparison.table_1_rows(counted):
        cells: dict[str, Any] = {"Networks": row["label"], "n": row["n"]}
        for name, values in row["cells"].items():
            cells[metrics[name].short] = values["ours"]
            if analysis.random_sample and name in PAPERS:
                cells[f"{metrics[name].short}, paper"] = values["paper"]
        rows.append(cells)
    return pd.DataFrame(rows)


def _coefficients(rows: list[dict[str, Any]], *, with_paper: bool) -> pd.DataFrame:
    shaped = []
    for row in rows:
        cells = {"Pair": row["pair"], "n": row["n"], "ρ": row["rho"], "95 %": row["ci"] or row["reason"], "p": row["p"]}
        cells |= {"Effect": row["effect"].partition(" (")[0]}
        cells |= {"given LR": _partial(row["partial_rate"]), "given all": _partial(row["partial_all"])}
        shaped.append(cells | ({"Paper": row["paper"], "given LR (paper)": row["paper_partial"]} if with_paper else {}))
    return pd.DataFrame(shaped)


def _partial(found: dict[str, str]) -> str:
    p = f" ({found['p']})" if found["p"] not in ("", "–") else ""
    return f"{found['rho']}{p}"


def _named(analysis: Analysis, table: pd.DataFrame) -> pd.DataFrame:
    """Metrics and hyperparameters in cells called as people call them."""
    metrics = analysis.tables.metrics

    def name(value: Any) -> Any:
        known = isinstance(value, str) and (value in metrics or value.startswith("param."))
        return label(value, metrics) if known else value

    texts = table.select_dtypes(exclude="number").columns
    return table.assign(**{column: table[column].map(name) for column in texts})


def _titles(analysis: Analysis, table: pd.DataFrame) -> dict[str, str]:
    return {name: label(name, analysis.tables.metrics) for name in map(str, table.columns)}


def _write(text: str, path: Path) -> Path:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
