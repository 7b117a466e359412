"""Which tables and columns are published, and what they hold in the words of schema.org's PropertyValue."""

from collections.abc import Mapping

import pandas as pd

from psychophysics.columns import Column, Columns
from psychophysics.exclusions import exclusions
from psychophysics.responses import BASELINES, COMMENTS, NETWORKS, PARTICIPANTS, QUERIES, TRIALS, Responses

EXCLUSIONS: Columns = {
    "participant": PARTICIPANTS["participant"],
    "condition": PARTICIPANTS["condition"],
    "rule": Column("text", "rule that is broken", choices=("practice", "catch", "side", "instruction", "total")),
    "value": Column("number", "what the rule counts or times: answers, attempts or seconds", low=0),
    "limit": Column("number", "limit of the rule, in the same unit", low=0),
    "reason": Column("text", "the same in words"),
}

TABLES: Mapping[str, tuple[Columns, tuple[str, ...]]] = {
    "trials": (TRIALS, ("participant", "kind", "attempt", "position")),
    "participants": (PARTICIPANTS, ("participant",)),
    "exclusions": (EXCLUSIONS, ("participant", "rule", "value")),
    "queries": (QUERIES, ("network", "layer", "unit", "image_set")),
    "baselines": (BASELINES, ("baseline", "network", "layer", "unit", "image_set")),
    "networks": (NETWORKS, ("network",)),
    "comments": (COMMENTS, ("participant", "question")),
}
"""Columns of each table, and those that name a row."""

_KINDS = {"text": "text", "integer": "whole number", "number": "number", "truth": "True or False"}


def published_tables(responses: Responses, comments: bool = False) -> dict[str, pd.DataFrame]:
    """The tables with the columns of `TABLES` and no others; people who withdrew are in none of them.

    Free texts may name their writer: they are there only with `comments`.
    """
    withdrawn = set(responses.participants.loc[responses.participants["withdrawn"], "participant"])
    excluded = exclusions(responses.trials, responses.participants, responses.study.thresholds)
    found: dict[str, pd.DataFrame] = {}
    for name, (columns, _) in TABLES.items():
        table = excluded if name == "exclusions" else getattr(responses, name)
        if table is None or (name == "comments" and not comments):
            continue
        if "participant" in columns:
            table = table[~table["participant"].isin(withdrawn)]
        found[name] = table[list(columns)].reset_index(drop=True)
    return found


def property_values(columns: Columns) -> list[dict[str, object]]:
    """One PropertyValue a column."""
    return [_property(name, column) for name, column in columns.items()]


def all_property_values(names: list[str]) -> list[dict[str, object]]:
    """Those of all tables of `names`; a column that means different things in two tables says what in which."""
    found: dict[str, dict[str, object]] = {}
    for table in names:
        for one in property_values(TABLES[table][0]):
            name = str(one["name"])
            before = found.setdefault(name, one)
            if before != one:
                told = f"{before['description']}; in {table}: {one['description']}"
                found[name] = {"@type": "PropertyValue", "name": name, "description": told}
    return list(found.values())


def _property(name: str, column: Column) -> dict[str, object]:
    empty = "; empty where there is none" if column.missing else ""
    value: dict[str, object] = {
        "@type": "PropertyValue",
        "name": name,
        "description": f"{column.description} ({_KINDS[column.kind]}{empty})",
    }
    limits = {"unitText": column.unit, "minValue": column.low, "maxValue": column.high}
    value |= {key: given for key, given in limits.items() if given not in ("", None)}
    return value | ({"valuePattern": "|".join(column.choices)} if column.choices else {})
