"""The page that sets several searches side by side, its figures and its tables."""

from pathlib import Path
from typing import Any

import numpy as np

from search.atomic import replacing
from search.report.analysis import Analysis
from search.report.artifacts import best_networks
from search.report.comparable import configuration_differences
from search.report.comparison import table_1_rows
from search.report.drawings import Drawing, print_all
from search.report.figures import distributions, found
from search.report.figures.distributions import Distributions
from search.report.figures.matrix import label
from search.report.page import packed_plotly
from search.report.side_by_side import SideBySide, shared_metrics
from search.report.summary import facts
from search.report.templates import environment, script_json, source, style
from search.report.wording import NOTHING, duration, interval, number, p_value, share, significant


def write_side_by_side(compared: SideBySide, out: Path) -> Path:
    """Write `report.html`, `tables/` and `figures/` of a comparison into `out`; the path of the page."""
    drawn = drawings(compared)
    for name, table in (("differences", compared.differences), ("paired", compared.paired)):
        with replacing(out / "tables" / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    print_all(drawn, out / "figures")
    page = out / "report.html"
    with replacing(page) as temporary:
        temporary.write_text(render(compared, drawn), encoding="utf-8")
    return page


def drawings(compared: SideBySide) -> list[Drawing]:
    """The figures for which there is something to draw."""
    first = next(iter(compared.analyses.values())).tables
    metrics = [first.metrics[name] for name in compared.metrics if name in first.metrics]
    values = {
        metric.name: {
            name: analysis.defined.rows.frame[metric.name].to_numpy(dtype=np.float64)
            for name, analysis in compared.analyses.items()
            if metric.name in analysis.defined.sample.measured and analysis.defined.rows.n
        }
        for metric in metrics
    }
    shown = [metric for metric in metrics if values[metric.name]]
    spread = Distributions(shown, values) if shown else None
    tables = {name: analysis.tables for name, analysis in compared.analyses.items()}
    candidates = [
        Drawing("distributions", spread, distributions.interactive, distributions.printed),
        Drawing("found", found.prepare(tables, first.metrics["hms"]), found.interactive, found.printed),
    ]
    return [drawing for drawing in candidates if drawing.data is not None]


def render(compared: SideBySide, drawn: list[Drawing]) -> str:
    """The page as HTML."""
    analyses = compared.analyses
    titles = {name: metric.short for a in analyses.values() for name, metric in a.tables.metrics.items()}
    records = [analysis.tables.record for analysis in analyses.values()]
    context = {
        "style": style(),
        "script": source("page.js"),
        "plotly": packed_plotly(),
        "drawn": {drawing.name: drawing.data for drawing in drawn},
        "names": list(analyses),
        "records": records,
        "facts": _facts(analyses),
        "titles": titles,
        "table_1": _table_1(analyses),
        "table_1_metrics": shared_metrics(list(analyses.values())),
        "differences": [_difference_row(row, titles) for row in compared.differences.to_dict("records")],
        "family": int(compared.differences["p"].notna().sum()),
        "paired": [_paired_row(row, titles) for row in compared.paired.to_dict("records")],
        "costs": _costs(analyses),
        "parameters": _parameters(analyses),
        "settings": configuration_differences(records),
        "obstacles": _obstacles(compared, titles),
    }
    figures = script_json({d.name: d.interactive(d.data) for d in drawn if d.interactive is not None})
    return environment().get_template("side_by_side.html.j2").render(context, figures=figures)


def _facts(analyses: dict[str, Analysis]) -> list[tuple[str, list[str]]]:
    """What ran, one column a search."""
    columns = [dict(facts(analysis)) for analysis in analyses.values()]
    keys = dict.fromkeys(key for column in columns for key in column)
    return [(key, [column.get(key, NOTHING) for column in columns]) for key in keys]


def _table_1(analyses: dict[str, Analysis]) -> list[dict[str, Any]]:
    """Table 1 of each search, its groups beside each other."""
    rows = [
        row | {"search": name, "place": place}
        for name, analysis in analyses.items()
        for place, row in enumerate(table_1_rows(analysis.defined))
    ]
    return sorted(rows, key=lambda row: row["place"])


def _obstacles(compared: SideBySide, titles: dict[str, str]) -> list[str]:
    """What is not comparable, one sentence a pair of searches and reason, naming its metrics."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in compared.differences.to_dict("records"):
        if row["reason"].startswith("not comparable: "):
            key = (row["first"], row["second"], row["reason"].removeprefix("not comparable: "))
            found.setdefault(key, []).append(titles[row["metric"]])
    return [
        f"{', '.join(metrics)} of {first} and {second} cannot be compared: {why}."
        for (first, second, why), metrics in found.items()
    ]


def _difference_row(row: dict[Any, Any], titles: dict[str, str]) -> dict[str, str]:
    return {
        "metric": titles[row["metric"]],
        "pair": f"{row['second']} − {row['first']}",
        "n": f"{row['n_second']}, {row['n_first']} {row['unit']}",
        "medians": f"{number(row['median_second'], 4)}, {number(row['median_first'], 4)}",
        "difference": number(row["difference"], 4),
        "ci": _wide(row["ci_low"], row["ci_high"]),
        "p": p_value(row["p_bonferroni"]),
        "delta": number(row["cliffs_delta"], 2),
        "delta_ci": interval(row["delta_low"], row["delta_high"]),
        "effect": row["effect"] if isinstance(row["effect"], str) else "",
        "reason": row["reason"],
    }


def _wide(low: float, high: float) -> str:
    return f"[{number(low, 4)}, {number(high, 4)}]" if np.isfinite([low, high]).all() else ""


def _paired_row(row: dict[Any, Any], titles: dict[str, str]) -> dict[str, str]:
    return {
        "metric": titles[row["metric"]],
        "pair": f"{row['second']} − {row['first']}",
        "pairs": str(row["pairs"]),
        "difference": number(row["median_difference"], 4),
        "ci": _wide(row["ci_low"], row["ci_high"]),
        "rho": number(row["spearman"], 2),
        "best": f"trial {row['best_first']}: place {row['place_in_second']} in {row['second']}",
    }


def _costs(analyses: dict[str, Analysis]) -> list[dict[str, str]]:
    """Stopping and time, one row a search."""
    rows = []
    for name, analysis in analyses.items():
        account, record = analysis.account, analysis.tables.record
        stopped = sum(count for how, count in account.finishes.items() if how in ("hms_stable", "stable"))
        planned = account.epochs_planned
        best = best_networks(analysis.tables, "hms", 1)
        hms = analysis.tables.trials.set_index("tid")["hms"]
        rows.append(
            {
                "search": name,
                "rule": record.stopping_rule or NOTHING,
                "done": str(account.done),
                "stopped": str(stopped),
                "epochs": f"{account.epochs_trained:,} of {planned:,}",
                "saved": share(account.epochs_untrained / planned) if planned else NOTHING,
                "device": duration(account.device_seconds),
                "each": duration(account.device_seconds / account.done) if account.done else NOTHING,
                "wall": duration(account.wall_seconds),
                "best": f"{number(hms[best[0]])} (trial {best[0]})" if best else NOTHING,
            }
        )
    return rows


def _parameters(analyses: dict[str, Analysis]) -> list[dict[str, Any]]:
    """Each hyperparameter: what each search drew from it; `shared` when all have it."""
    names = dict.fromkeys(name for analysis in analyses.values() for name in analysis.tables.parameters)
    rows = []
    for name in names:
        cells = []
        for analysis in analyses.values():
            trials = analysis.tables.trials
            values = trials[name].dropna().unique() if name in trials else np.array([])
            cells.append(_drawn(sorted(values, key=lambda value: (isinstance(value, str), value))))
        rows.append({"name": label(name), "cells": cells, "shared": NOTHING not in cells})
    return sorted(rows, key=lambda row: not row["shared"])


def _drawn(values: list[Any]) -> str:
    if not values:
        return NOTHING
    if len(values) > 6:
        return f"{significant(values[0])} to {significant(values[-1])}"
    return ", ".join(significant(value) for value in values)
