"""From exported tables to a report: one HTML page that works offline, CSV tables, PNG and PDF figures.

Reads a directory that `hms export` or `hms run` wrote; never the store.
"""

from collections.abc import Sequence
from pathlib import Path

from search.atomic import replacing
from search.report.analysis import Analysis, analyse
from search.report.drawings import drawings, print_all
from search.report.epoch_rule import EpochRule
from search.report.exports import export_tables
from search.report.notebook import load, load_rdm
from search.report.page import render
from search.report.people import people_studies
from search.report.sample import LAST
from search.report.side_by_side import side_by_side
from search.report.side_by_side_page import write_side_by_side
from search.report.tables import SearchTables, read_tables
from search.report.trial_pages import paged_trials, write_trial_pages

__all__ = [
    "Analysis",
    "EpochRule",
    "SearchTables",
    "analyse",
    "load",
    "load_rdm",
    "read_tables",
    "write_comparison",
    "write_report",
]


def write_report(
    tables_dir: Path | str, out_dir: Path | str, epoch_rule: EpochRule | str = LAST, *, printed: bool = True
) -> Path:
    """Write `report.html`, `trials/`, `tables/` and `figures/` into `out_dir`; return the path of `report.html`.

    Works for searches that are unfinished or empty: what cannot be computed is named on the page. `epoch_rule`: of
    which evaluation the values in statistics are; `last`, `final`, `stopped`, or an epoch's number as text.
    `printed`: draw the figures for print too.

    Raises:
        UsageError: `tables_dir` holds no exported search, or no network was evaluated at that epoch.
    """
    rule = EpochRule.parse(epoch_rule) if isinstance(epoch_rule, str) else epoch_rule
    out = Path(out_dir)
    analysis = analyse(read_tables(tables_dir), rule)
    drawn, paged = drawings(analysis), paged_trials(analysis.tables)
    people = [(study, study.link(out)) for study in people_studies(analysis.tables)]
    export_tables(analysis, out / "tables")
    if printed:
        print_all(drawn, out / "figures")
    write_trial_pages(analysis.tables, paged, out)
    page = out / "report.html"
    with replacing(page) as temporary:
        temporary.write_text(render(analysis, drawn, paged, people), encoding="utf-8")
    return page


def write_comparison(
    tables_dirs: Sequence[Path | str], out_dir: Path | str, epoch_rule: EpochRule | str = LAST
) -> Path:
    """Write the page that sets several searches side by side, with `tables/` and `figures/`; its path.

    Raises:
        UsageError: as `write_report`.
    """
    rule = EpochRule.parse(epoch_rule) if isinstance(epoch_rule, str) else epoch_rule
    analyses = [analyse(read_tables(folder), rule) for folder in tables_dirs]
    return write_side_by_side(side_by_side(analyses), Path(out_dir))
