"""The README of a published dataset."""

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from psychophysics.export.variables import TABLES
from psychophysics.responses import Responses

_ABOUT = {
    "trials": "one row an answered trial",
    "participants": "one row a participant",
    "exclusions": "one row a rule that a participant breaks; the data of such people are not analysed",
    "queries": "one row a query pair: activations of its images",
    "baselines": "one row a query pair and simple strategy: what it would answer",
    "networks": "one row a network: human-model similarity (HMS) and next-frame error",
    "comments": "one row a free text of a participant",
}
_FREE_TEXTS = {True: "It holds the free texts of participants as they wrote them.", False: "Nor are free texts."}


def readme(responses: Responses, tables: Mapping[str, pd.DataFrame], stem: str, title: str) -> str:
    """Markdown: files, their keys, the task, exclusions and privacy."""
    study = responses.study
    files = "\n".join(
        f"| `data/{stem}_description-{name}_data.csv` | {_ABOUT[name]} | {', '.join(TABLES[name][1])} | {len(table)} |"
        for name, table in tables.items()
    )
    limits = "\n".join(f"- `{name}`: {_limit(value)}" for name, value in asdict(study.thresholds).items())
    withdrawn = int(responses.participants["withdrawn"].sum())
    frozen = f"sha256 {study.config_hash}" if study.config_hash else "not frozen"
    bound = "none" if study.equivalence_bound is None else f"{study.equivalence_bound:g} (share of correct answers)"
    return f"""# {title or study.name}

A dataset in the layout of [Psych-DS](https://psych-ds.github.io). Made by `hms study export` (HMS Search).

| file | what | a row is named by | rows |
|---|---|---|---|
{files}

Each data file has a sidecar `.json` that describes its columns; `documentation/data_dictionary.json` does so for all,
with types.

## The task

A participant sees references of a unit (a channel of a network's layer), a base image and two copies of it with a
patch, and says which copy the unit favours more. `condition`: what the references were; `none`: there were none. In
`trials`, `kind` is `main` for the answers under study. `correct` is `target_side` = `response_side`; `confidence` is 1
to 3, the same on both sides.

## Fixed before the data

Configuration: {frozen}. Bound for equivalence: {bound}. Limits of the exclusion rules, seconds and counts:

{limits}

## Privacy

Participants have random pseudonyms. No recruiter id, no network address and no time of day is in this dataset.
{_FREE_TEXTS["comments" in tables]}
{f"{withdrawn} withdrew consent; they are in none of the files." if withdrawn else "Nobody withdrew consent."}
"""


def _limit(value: object) -> str:
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, tuple) else f"{value:g}"
