"""Write the folder: data files with their sidecars, dataset_description.json, README, CHANGES, documentation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from psychophysics.columns import data_dictionary
from psychophysics.errors import StudyError
from psychophysics.export.readme import readme
from psychophysics.export.variables import TABLES, all_property_values, property_values, published_tables
from psychophysics.responses import Responses
from psychophysics.stimuli.files import document_sha256, write_json, written

SCHEMA = "Psych-DS 1.5.1"
CITATION = (
    "Design: Zimmermann, Borowski, Geirhos, Bethge, Wallis, Brendel. How well do feature visualizations support causal "
    "understanding of CNN activations? NeurIPS 2021."
)


@dataclass(frozen=True)
class Particulars:
    """What a dataset's description says beyond the data; `license`: best its URL. `comments`: with the free texts."""

    title: str = ""
    authors: Sequence[str] = ()
    license: str = ""
    comments: bool = False


def write_dataset(
    responses: Responses, out: Path, particulars: Particulars = Particulars(), further: Mapping[str, str] | None = None
) -> Path:
    """Write the published tables of a study into `out`; return it. The same data give the same files.

    Args:
        responses: the checked tables. Only documented columns leave; people who withdrew are left out.
        out: folder; files of an earlier export are replaced, others stay. CHANGES.md keeps its earlier entries.
        particulars: title, authors, licence, whether free texts are published.
        further: path in `out` -> text of further documents, such as `documentation/preregistration.md`.

    Raises:
        StudyError: `out` holds something else, or cannot be written.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "dataset_description.json").is_file())):
        raise StudyError(f"{out} is there and is no earlier export: give another folder with --out.")
    tables = published_tables(responses, particulars.comments)
    stem = f"study-{_value(responses.study.name)}"
    for name, table in tables.items():
        data = out / "data" / f"{stem}_description-{name}_data.csv"
        with written(data) as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
        write_json(data.with_suffix(".json"), {"variableMeasured": property_values(TABLES[name][0])})
    dictionary = {name: data_dictionary(TABLES[name][0]) for name in tables}
    write_json(out / "documentation" / "data_dictionary.json", dictionary)
    texts = {"README.md": readme(responses, tables, stem, particulars.title), **(further or {})}
    for path, text in (texts | {"CHANGES.md": _changes(out / "CHANGES.md", tables)}).items():
        with written(out / path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    write_json(out / "dataset_description.json", _description(responses, tables, particulars))
    return out


def _description(responses: Responses, tables: Mapping[str, pd.DataFrame], particulars: Particulars) -> dict[str, Any]:
    people, trials = tables["participants"], tables["trials"]
    conditions = ", ".join(dict.fromkeys(people["condition"]))
    given: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": particulars.title or responses.study.name,
        "description": (
            "People predict which of two occlusions a unit of a neural network favours, after they saw visualizations "
            f"of what the unit likes. {len(people)} participants (conditions: {conditions}), {len(trials)} trials."
        ),
        "schemaVersion": SCHEMA,
        "variableMeasured": all_property_values(list(tables)),
        "citation": CITATION,
        "keywords": ["psychophysics", "feature visualization", "interpretability", "neural networks"],
        "identifier": f"sha256:{responses.study.config_hash}" if responses.study.config_hash else "",
        "author": [{"@type": "Person", "name": name} for name in particulars.authors],
        "license": particulars.license,
    }
    return {key: value for key, value in given.items() if value}


def _changes(path: Path, tables: Mapping[str, pd.DataFrame]) -> str:
    """The earlier entries, and one more where the data are not those of the last."""
    before = path.read_text(encoding="utf-8") if path.is_file() else "# Changes\n\n"
    digest = document_sha256({name: table.to_csv(index=False) for name, table in tables.items()})[:16]
    entries = [line for line in before.splitlines() if line.startswith("- ")]
    if entries and digest in entries[-1]:
        return before
    counts = f"{len(tables['participants'])} participants, {len(tables['trials'])} trials"
    return f"{before}- {datetime.now(UTC).date()}: {counts}; sha256 of the tables begins {digest}\n"


def _value(name: str) -> str:
    """A name as the value of a Psych-DS keyword: letters and digits."""
    return re.sub(r"[^a-zA-Z0-9]", "", name) or "study"
