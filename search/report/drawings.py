"""Which figures a report has: prepared once, drawn for the page and for print."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from search.report import paper
from search.report.analysis import Analysis
from search.report.figures import (
    bars,
    curves,
    equal_budget,
    frames,
    matrix,
    parallel,
    pareto,
    rdms,
    replicates,
    scatter,
    small_multiples,
    thresholds,
    time_saved,
    timeline,
)
from search.report.figures import importance as shares
from search.report.figures.bars import Bars
from search.report.figures.style import Spec, print_settings, save
from search.report.wording import duration, number, share

BEST_IN_BASELINES = 3


@dataclass(frozen=True)
class Drawing:
    """`data` is what `interactive` and `printed` draw; a drawing without `interactive` is print only."""

    name: str
    data: Any
    interactive: Callable[[Any], Spec] | None
    printed: Callable[[Any], Figure]


def drawings(analysis: Analysis) -> list[Drawing]:
    """The figures for which there is something to draw."""
    tables, best = analysis.tables, analysis.best
    first = analysis.ranking[0] if analysis.ranking else None
    rows, table = analysis.defined.rows, analysis.defined.correlations
    candidates = [
        Drawing("curves", curves.prepare(tables, first, analysis.best_trivial), curves.interactive, curves.printed),
        *_early_stopping(analysis),
        Drawing("scatter", scatter.prepare(rows, table), scatter.interactive, scatter.printed),
        Drawing("correlations", matrix.prepare(table, tables.metrics), matrix.interactive, matrix.printed),
        Drawing(
            "rdms",
            rdms.prepare(analysis.brain, best.rdm, best.rdm_tid, analysis.compared),
            rdms.interactive,
            rdms.printed,
        ),
        Drawing("baselines", _baselines(analysis), bars.interactive, bars.printed),
        Drawing("importance", shares.prepare(analysis.importance, tables.metrics), shares.interactive, shares.printed),
        Drawing("parallel", parallel.prepare(rows), parallel.interactive, parallel.printed),
        Drawing("pareto", pareto.prepare(analysis.defined.sample), pareto.interactive, pareto.printed),
        Drawing("timeline", timeline.prepare(analysis.timeline), timeline.interactive, timeline.printed),
        Drawing("predictions", frames.prepare(best.predictions) or None, None, frames.printed),
        Drawing("time", _time(analysis), bars.interactive, bars.printed),
        Drawing("replicates", replicates.prepare(tables), replicates.interactive, replicates.printed),
    ]
    return [drawing for drawing in candidates if drawing.data is not None]


def print_all(drawn: list[Drawing], folder: Path) -> list[Path]:
    """Write every drawing as PNG and PDF into `folder`."""
    with print_settings():
        return [path for drawing in drawn for path in save(drawing.printed(drawing.data), folder, drawing.name)]


def _early_stopping(analysis: Analysis) -> list[Drawing]:
    tables, early = analysis.tables, analysis.early_stopping
    compare, guide = tables.record.random_sample, tables.metrics.get(early.guide)
    note = "" if paper.same_protocol(tables.record) else ", different data"
    accuracy = tables.metrics.get("accuracy")
    if guide is None:
        return []
    figures = {
        "saved": (time_saved, time_saved.prepare(early, compare=compare, note=note)),
        "budget": (equal_budget, equal_budget.prepare(early, guide)),
        "thresholds": (thresholds, thresholds.prepare(early, guide, accuracy, compare=compare, note=note)),
        "networks": (small_multiples, small_multiples.prepare(tables, early)),
    }
    return [Drawing(f"early_stopping_{n}", data, m.interactive, m.printed) for n, (m, data) in figures.items()]


def _baselines(analysis: Analysis) -> Bars | None:
    values = {k: float(v) for k, v in analysis.tables.record.hms_baselines.items() if v is not None}
    hms = analysis.tables.trials.set_index("tid")["hms"]
    best = {f"trial {tid}": float(hms[tid]) for tid in analysis.ranking[:BEST_IN_BASELINES]}
    if not values or not best:
        return None
    trivial = analysis.trivial_baselines
    colour = dict.fromkeys(best, "hms") | {name: "muted" if name in trivial else "accent" for name in values}
    ordered = sorted((best | values).items(), key=lambda item: -item[1])
    return Bars(
        title=f"HMS (Spearman ρ with the {analysis.compared.rdm})",
        labels=[name for name, _ in ordered],
        values=[value for _, value in ordered],
        colours=[colour[name] for name, _ in ordered],
        texts=[number(value) for _, value in ordered],
    )


def _time(analysis: Analysis) -> Bars | None:
    rows = analysis.time.to_dict("records")
    if not rows or analysis.time["seconds"].sum() == 0:
        return None
    return Bars(
        title="Seconds, added over trials",
        labels=[row["part"] for row in rows],
        values=[row["seconds"] for row in rows],
        colours=["hms" if row["part"] == "training" else "muted" for row in rows],
        texts=[f"{duration(row['seconds'])}, {share(row['share'])}" for row in rows],
    )
