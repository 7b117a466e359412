"""A study's page: one HTML file that works offline, in the style of the search report."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from psychophysics.report import targets
from psychophysics.report.analysis import Numbers, StudyAnalysis
from psychophysics.report.notices import notices
from search.report.drawings import Drawing
from search.report.page import packed_plotly
from search.report.templates import environment, script_json, source, style
from search.report.wording import NOTHING, duration, interval, number, p_value

HERE = Path(__file__).parent


def render(analysis: StudyAnalysis, drawn: list[Drawing]) -> str:
    """The whole page as HTML."""
    figures = {d.name: d.interactive(d.data) for d in drawn if d.interactive is not None}
    context = {
        "study": analysis.responses.study,
        "n": analysis.numbers,
        "drawn": {d.name for d in drawn},
        "cards": _cards(analysis),
        "notices": notices(analysis),
        "rates": _records(analysis.rates),
        "excluded": _records(analysis.excluded),
        "limits": analysis.responses.study.thresholds,
        "targets": targets,
        "style": style(),
        "script": source("page.js"),
        "plotly": packed_plotly(),
    }
    if analysis.numbers is not None:
        context |= _rows(analysis.numbers)
    made = environment(HERE)
    made.filters |= {"percent": percent, "p": p_value, "plain": number, "time": duration}
    return made.get_template("study.html.j2").render(context, figures=script_json(figures))


def percent(mean: Any, error: Any = None) -> str:
    """`67.1 ± 3.9 %`; without an error the mean alone, the dash for none."""
    if mean is None or not math.isfinite(mean):
        return NOTHING
    around = f" ± {100 * error:.1f}" if error is not None and math.isfinite(error) else ""
    return f"{100 * mean:.1f}{around} %".replace("-", "−")


def _cards(analysis: StudyAnalysis) -> list[dict[str, str]]:
    people, n = analysis.responses.participants, analysis.numbers
    finished = int((people["finished"] & ~people["withdrawn"]).sum())
    cards = [{"name": "Participants", "value": str(len(analysis.accepted)), "note": f"accepted of {finished} finished"}]
    if n is None:
        return cards
    best = n.accuracy.sort_values("mean", kind="stable").iloc[-1]
    design = {
        "between": "other participants in each",
        "within": "the same participants in all",
        "mixed": "some participants in several",
    }
    return [
        *cards,
        {"name": "Answers", "value": f"{int(n.accuracy['trials'].sum()):,}", "note": "main trials"},
        {
            "name": "Conditions",
            "value": str(len(n.conditions)),
            "note": design.get(n.design, "some participants in several"),
        },
        {"name": "Highest accuracy", "value": percent(best["mean"]), "note": f"condition {best['condition']}"},
    ]


def _rows(n: Numbers) -> dict[str, Any]:
    """The rows of the page's tables."""
    with_failures = n.accuracy_with_catch_failures.set_index("condition")
    times, shares = n.times.set_index("condition"), n.confidence.set_index(["condition", "confidence"])["share"]
    typical = None if n.model.typical is None else n.model.typical.set_index("condition")
    conditions = []
    for row in _records(n.accuracy):
        name = row["condition"]
        more = with_failures.loc[name]
        conditions.append(
            row
            | {"all_mean": more["mean"], "all_sem2": more["sem2"], "all_participants": int(more["participants"])}
            | {"rt": times.loc[name, "mean"], "rt_sem2": times.loc[name, "sem2"]}
            | {"shares": [shares[name, level] for level in (1, 2, 3)]}
            | {"typical": None if typical is None else typical.loc[name].to_dict()}
        )
    return {
        "conditions": conditions,
        "pairs": _pairs(n),
        "consistency": _kappa_rows(n.consistency),
        "baseline_consistency": _kappa_rows(n.baseline_consistency),
        "baselines": [] if n.baseline_accuracy is None else _records(n.baseline_accuracy),
        "spreads": [] if n.model.spreads is None else _records(n.model.spreads),
        "activation": [] if n.activation is None else _records(n.activation),
        "networks": [] if n.networks is None else _records(n.networks),
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _pairs(n: Numbers) -> list[dict[str, Any]]:
    """Each pair of conditions: its test and the mixed model's difference."""
    rows = _records(n.pairs)
    model = None if n.model.pairs is None else n.model.pairs.set_index(["first", "second"])
    for row in rows:
        found = None if model is None else model.loc[(row["first"], row["second"])]
        row["log_odds"] = NOTHING if found is None else number(found["log_odds"], 2)
        row["log_odds_interval"] = "" if found is None else interval(found["low"], found["high"])
        row["model_p"] = NOTHING if found is None else p_value(found["p_holm"])
    return rows


def _kappa_rows(table: pd.DataFrame | None) -> list[dict[str, Any]]:
    rows = [] if table is None else _records(table)
    return [row | {"interval": interval(row["low"], row["high"])} for row in rows]
