"""Tables 1 and 2 as the page shows them: our values with the paper's beside them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from search.report import paper
from search.report.analysis import Counted
from search.report.correlations import DISREGARDED_BELOW, LEARNING_RATE, NO_CONTROLS
from search.report.figures.matrix import label
from search.report.rank_correlation import cohen
from search.report.wording import interval, mean_sd, number, p_value


def table_1_rows(counted: Counted) -> list[dict[str, Any]]:
    """One row a group: label, n, and for each metric our and the paper's mean (SD) with a note."""
    rows = []
    for _, members in counted.table_1.groupby("group", sort=False):
        cells = {
            row["metric"]: {
                "ours": mean_sd(row["mean"], row["sd"]),
                "paper": mean_sd(row["paper_mean"], row["paper_sd"]),
                "note": row["paper_note"],
            }
            for row in members.to_dict("records")
        }
        rows.append({"label": members["label"].iloc[0], "n": int(members["n"].max()), "cells": cells})
    return rows


def table_2_rows(counted: Counted) -> list[dict[str, Any]]:
    """Pairs of metrics and metrics with the learning rate and planned epochs: plain and partial coefficients."""
    table = counted.correlations
    wanted = {*counted.sample.measured, LEARNING_RATE, "param.epochs"}
    plain = table[table["controls"] == NO_CONTROLS]
    return [_row(counted, row) for row in plain.to_dict("records") if {row["x"], row["y"]} <= wanted]


def parameter_rows(counted: Counted) -> list[dict[str, Any]]:
    """Every metric with every other hyperparameter."""
    table = counted.correlations
    shown = {*counted.sample.measured, LEARNING_RATE, "param.epochs"}
    plain = table[table["controls"] == NO_CONTROLS]
    return [_row(counted, row) for row in plain.to_dict("records") if not {row["x"], row["y"]} <= shown]


def family_sizes(counted: Counted) -> str:
    """`45 plain, 42 controlling learning rate, ...`: what Bonferroni multiplies by."""
    table = counted.correlations
    names = {NO_CONTROLS: "plain", LEARNING_RATE: "controlling the learning rate"}
    sizes = table.groupby("controls", sort=False)["family_size"].first()
    parts = [f"{int(size)} {names[controls]}" for controls, size in sizes.items() if controls in names]
    rest = [int(size) for controls, size in sizes.items() if controls not in names]
    return ", ".join(parts + ([f"{rest[0]} controlling all hyperparameters"] if rest else []))


def _row(counted: Counted, plain: Mapping[Any, Any]) -> dict[str, Any]:
    table, metrics = counted.correlations, counted.sample.metrics
    x, y = plain["x"], plain["y"]
    pair = table[(table["x"] == x) & (table["y"] == y)]
    by_rate = pair[pair["controls"] == LEARNING_RATE]
    by_all = pair[~pair["controls"].isin([NO_CONTROLS, LEARNING_RATE])]
    between_metrics = {x, y} <= set(metrics)
    disregarded = between_metrics and abs(plain["rho"]) < DISREGARDED_BELOW
    return {
        "pair": f"{label(x, metrics)} – {label(y, metrics)}",
        "n": int(plain["n"]),
        "rho": number(plain["rho"], 3),
        "ci": interval(plain["ci_low"], plain["ci_high"]),
        "p": p_value(plain["p_bonferroni"]),
        "effect": f"disregarded (|ρ| < {DISREGARDED_BELOW})" if disregarded else cohen(plain["rho"]),
        "partial_rate": _partial(by_rate),
        "partial_all": _partial(by_all),
        "paper": number(paper.published_correlation(x, y), 3),
        "paper_partial": number(paper.published_partial(x, y), 2),
        "reason": "" if plain["rho"] == plain["rho"] else plain["reason"],
    }


def _partial(rows: pd.DataFrame) -> dict[str, str]:
    if rows.empty:
        return {"rho": number(None), "ci": "", "p": "", "reason": ""}
    row = rows.iloc[0]
    defined = row["rho"] == row["rho"]
    return {
        "rho": number(row["rho"], 3),
        "ci": interval(row["ci_low"], row["ci_high"]),
        "p": p_value(row["p_bonferroni"]),
        "reason": "" if defined else row["reason"],
    }
