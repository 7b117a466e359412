"""The page: one HTML file that works offline, with plotly.js packed inside."""

import base64
import gzip
import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from plotly.offline import get_plotlyjs

from search.report import captions, comparison, paper, summary, trial_rows, wording
from search.report.analysis import Analysis
from search.report.drawings import Drawing
from search.report.early_stopping import page_rows
from search.report.figures import frames
from search.report.figures.frames import Strip
from search.report.hms_parts import part_rows, part_steps
from search.report.matching_kinds import matching_kinds
from search.report.notices import notices
from search.report.pareto import pareto_metrics
from search.report.people import PeopleStudy
from search.report.references import reference_table
from search.report.sample import ILLUSTRATIVE_BELOW
from search.report.summaries import PAPERS
from search.report.templates import environment, script_json, source, style
from search.report.timeline import busy_share

SCRIPTS = ("trial_table.js", "page.js")


@cache
def packed_plotly() -> str:
    """plotly.js, gzip and base64: 2 MB in place of 4.8; equal input gives equal bytes."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode("utf-8"), 9, mtime=0)).decode("ascii")


def render(
    analysis: Analysis,
    drawn: list[Drawing],
    paged: Collection[int] = (),
    people: Sequence[tuple[PeopleStudy, str]] = (),
) -> str:
    """The whole page as HTML; the trials `paged` have pages of their own beside it; `people`: studies, with links."""
    figures = {d.name: d.interactive(d.data) for d in drawn if d.interactive is not None}
    context = _context(analysis, drawn) | _trial_table(analysis, paged) | {"people": people}
    return environment().get_template("page.html.j2").render(context, figures=script_json(figures))


def _context(analysis: Analysis, drawn: list[Drawing]) -> dict[str, Any]:
    record = analysis.tables.record
    references = reference_table(analysis)
    strips: list[Strip] = next((d.data for d in drawn if d.name == "predictions"), [])
    return {
        "record": record,
        "analysis": analysis,
        "account": analysis.account,
        "style": style(),
        "script": "\n".join(source(name) for name in SCRIPTS),
        "plotly": packed_plotly(),
        "drawn": {drawing.name: drawing.data for drawing in drawn},
        "metrics": analysis.tables.metrics,
        "table_1_names": _table_1_names(analysis),
        "published": PAPERS,
        "cards": summary.cards(analysis),
        "facts": summary.facts(analysis),
        "best": summary.best_table(analysis),
        "notices": notices(analysis),
        "countings": _countings(analysis),
        "replicate_rows": analysis.replicates.to_dict("records"),
        "reference_rows": references.to_dict("records"),
        "reference_columns": [column for column in references.columns if column not in ("model", "tid")],
        "pareto_rows": analysis.pareto.to_dict("records"),
        "pareto_metrics": pareto_metrics(analysis.defined.sample),
        "pareto_names": [analysis.tables.metrics[name].short for name in pareto_metrics(analysis.defined.sample)],
        "busy_share": busy_share(analysis.timeline, record),
        "undefined_rows": analysis.undefined.to_dict("records"),
        "early": page_rows.context(analysis.tables, analysis.early_stopping),
        "hms_steps": part_steps(analysis),
        "hms_parts": part_rows(analysis),
        "kinds": matching_kinds(analysis.tables).to_dict("records"),
        "strips": [_strip(strip) for strip in strips],
        "blocks": next((d.data.blocks for d in drawn if d.name == "rdms"), []),
        "paper": paper,
        "captions": captions,
        "compare": analysis.random_sample,
        "paper_note": "" if paper.same_protocol(record) else "different data",
        "illustrative": analysis.defined.rows.n < ILLUSTRATIVE_BELOW,
        "wording": wording,
        "provenance": json.dumps(record.provenance, indent=2, ensure_ascii=False, default=str),
        "config": json.dumps(record.config, indent=2, ensure_ascii=False, default=str),
    }


def _trial_table(analysis: Analysis, paged: Collection[int]) -> dict[str, Any]:
    data = script_json(trial_rows.trial_table(analysis.tables) | {"paged": list(paged)})
    return {"trial_count": len(analysis.tables.trials), "trial_data": data, "paged": len(paged)}


def _countings(analysis: Analysis) -> list[dict[str, Any]]:
    """Tables 1 and 2: of defined networks, and again with the undefined ones scored when there are any."""
    found = [("defined", "Defined networks only", analysis.defined)]
    if analysis.scored is not None:
        title = "Undefined HMS as 0, undefined accuracy as chance: as the paper probably counted them"
        found.append(("scored", title, analysis.scored))
    return [
        {
            "key": key,
            "title": title,
            "sample": counted.sample,
            "rows": counted.rows,
            "table_1": comparison.table_1_rows(counted),
            "table_2": comparison.table_2_rows(counted),
            "parameters": comparison.parameter_rows(counted),
            "caption_1": captions.table_1(analysis, counted),
            "caption_2": captions.correlations(analysis, counted),
        }
        for key, title, counted in found
    ]


def _table_1_names(analysis: Analysis) -> dict[str, str]:
    """Metric -> title, in the order of Table 1."""
    known = {"mse": "Next-frame MSE", "accuracy": "Matching accuracy (clean)", "hms": "HMS"}
    described, measured = analysis.tables.metrics, analysis.defined.sample.measured
    return known | {name: described[name].short for name in measured if name not in known}


def _strip(strip: Strip) -> dict[str, Any]:
    encoded = base64.b64encode(frames.png(strip)).decode("ascii")
    height, width = strip.image.shape[:2]
    return {"clip": strip.clip, "mse": strip.mse, "previous": strip.mse_previous_frame, "steps": strip.steps} | {
        "source": f"data:image/png;base64,{encoded}",
        "width": width,
        "height": height,
    }
