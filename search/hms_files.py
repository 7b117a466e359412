"""The files of an HMS report: hms.json, tables as CSV, the RDM, and figures as PNG and PDF."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metrics.hms_report import HmsReport, HmsTarget
from metrics.rdm import FloatArray
from search.atomic import replacing
from search.report.figures import arrangement, dendrogram, rdms
from search.report.figures.style import print_settings, save


def write_hms(report: HmsReport, rdm: FloatArray, target: HmsTarget, out: Path) -> list[Path]:
    """Fill the folder `out`; figures only where the RDM (n, n) is defined. The paths, in order of writing."""
    written = [out / "hms.json"]
    with replacing(written[0]) as path:
        path.write_text(json.dumps(report.to_dict(), indent=1, allow_nan=False), encoding="utf-8")
    for name, rows in _tables(report).items():
        written.append(out / f"{name}.csv")
        with replacing(written[-1]) as path:
            pd.DataFrame(rows).to_csv(path, index=False)
    written.append(out / "rdm.npz")
    with replacing(written[-1]) as path:
        np.savez_compressed(path, rdm=rdm, labels=np.array(target.reference.labels))
    return written + _figures(report, rdm, target, out)


def _figures(report: HmsReport, rdm: FloatArray, target: HmsTarget, out: Path) -> list[Path]:
    if report.hms.value is None:
        return []
    reference = target.reference
    categories = target.categories or ("",) * len(reference.labels)
    titled = {f"{report.name} (HMS {report.hms.value:.3f})": rdm, f"{reference.name} (mean of people)": reference.rdm}
    with print_settings():
        drawn = {
            "rdms": rdms.printed(rdms.beside(titled, categories, reference.labels)),
            "mds": arrangement.printed(titled, categories),
            "dendrogram": dendrogram.printed(titled, categories, reference.labels),
        }
        return [path for name, figure in drawn.items() for path in save(figure, out, name)]


def _tables(report: HmsReport) -> dict[str, list[dict[str, Any]]]:
    """File stem -> rows, those without rows left out."""
    tables = {
        "comparators": _comparators(report),
        "intervals": [{"resampled": key, **vars(found)} for key, found in report.intervals.items()],
        "layers": [{"layer": part.layer, "step": part.step, **vars(part.result)} for part in report.parts],
        "people": [vars(row) for row in report.subjects.sessions]
        + [{"subject": name, "session": None, "value": value} for name, value in report.subjects.subjects.items()],
        "categories": [{"first": row.first, "second": row.second, **vars(row.result)} for row in report.categories],
        "controlled": [{"controlled_for": key, "value": value} for key, value in report.controlled.items()],
        "baselines": [{"model": key, "hms": value} for key, value in report.baselines.items()],
    }
    return {name: rows for name, rows in tables.items() if rows}


def _comparators(report: HmsReport) -> list[dict[str, Any]]:
    rows = []
    for name, found in report.comparators.items():
        bounds: Iterable[tuple[str, float]] = vars(found.ceiling).items() if found.ceiling else ()
        values = {"comparator": name, "value": found.value, "subject_mean": found.subject_mean}
        rows.append(values | {f"ceiling_{key}": value for key, value in bounds})
    return rows
