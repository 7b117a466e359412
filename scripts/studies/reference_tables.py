"""The tables of the reference study as Markdown, from its committed tables: what docs/reference_study.md shows.

    python scripts/studies/reference_tables.py [results/reference] [results/reference-stability]

The first folder is of the search without a stopping rule, the second of the same networks with the rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from search.report import Analysis, SearchTables, analyse, comparison, paper, read_tables
from search.report.early_stopping import replay, scores
from search.report.early_stopping.rules import long_enough

RESULTS = Path(__file__).parents[2] / "results"


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("full", type=Path, nargs="?", default=RESULTS / "reference")
    parser.add_argument("stopped", type=Path, nargs="?", default=RESULTS / "reference-stability")
    options = parser.parse_args()
    for title, lines in tables(options.full, options.stopped).items():
        print(f"**{title}**\n\n{lines}\n")


def tables(full: Path, stopped: Path) -> dict[str, str]:
    """Title -> Markdown table."""
    found, with_rule = read_tables(full), read_tables(stopped)
    analysis = analyse(found)
    return {
        "Table 1": markdown(table_1(analysis)),
        "Table 2": markdown(table_2(analysis)),
        "Both countings": markdown(both_countings(analysis)),
        "Stability": markdown(stability(analysis)),
        "Time saved": markdown(saved(analysis)),
        "With the rule": markdown(compared(found, with_rule)),
    }


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Rows, the first of which is the header, as a Markdown table."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * lines[0].count(" | ") + "|---|", *lines[1:]])


def table_1(analysis: Analysis) -> Iterator[Sequence[str]]:
    """Groups of networks, ours beside the paper's."""
    yield "networks", "n", "MSE", "paper", "accuracy", "paper ᵃ", "HMS", "paper"
    for row in comparison.table_1_rows(analysis.defined):
        cells = row["cells"]
        values = [cells[metric][side] for metric in ("mse", "accuracy", "hms") for side in ("ours", "paper")]
        yield row["label"], str(row["n"]), *values


def table_2(analysis: Analysis) -> Iterator[Sequence[str]]:
    """Spearman correlations, ours beside the paper's."""
    yield "pair", "n", "ρ", "95 % interval", "p, Bonferroni", "given learning rate", "paper", "paper, given LR ᵇ"
    for row in comparison.table_2_rows(analysis.defined):
        yield (
            row["pair"], str(row["n"]), row["rho"], row["ci"], row["p"], row["partial_rate"]["rho"], row["paper"],
            row["paper_partial"],
        )  # fmt: skip


def stability(analysis: Analysis) -> Iterator[Sequence[str]]:
    """Whether and when each metric is stable, and whether it stays so."""
    yield (
        "metric", "stable networks", "epoch, mean (SD)", "paper", "unstable again", "median change from stop to end",
        "largest",
    )  # fmt: skip
    for row in analysis.early_stopping.holds.to_dict("records"):
        mean, sd = paper.STABLE_EPOCH.get(row["metric"], (None, None))
        published = "–" if mean is None else f"{mean:g}" + (f" ({sd:g})" if sd == sd else "")
        yield (
            analysis.tables.metrics[row["metric"]].short,
            f"{row['stable']:.0f} of {row['n'] - row['too_short']:.0f}",
            f"{row['epoch_mean']:.1f} ({row['epoch_sd']:.1f})",
            published,
            f"{row['unstable_again']:.0f} of {row['testable']:.0f}",
            f"{row['difference_median']:.3f}",
            f"{row['difference_max']:.3f}",
        )


def saved(analysis: Analysis) -> Iterator[Sequence[str]]:
    """Every rule and its controls on the networks that could be stopped and whose metrics are all defined."""
    yield (
        "rule", "ended early", "device time saved", "95 % interval", "chosen", "regret as stopped",
        "regret at the end", "95 % interval", "early to final ρ",
    )  # fmt: skip
    early, defined = analysis.early_stopping, analysis.defined.sample.frame["tid"]
    usable = early.usable.where(long_enough(early.usable, early.settings) & np.isin(early.usable.tids, defined))
    draws = scores.resampling(usable.n)
    for outcome in replay.outcomes(usable, "hms", early.settings):
        for row in replay.scored(usable, outcome, "hms", draws):
            yield (
                f"– {row['label']}" if row["kind"] == scores.CONTROL else row["label"],
                f"{row['ended_early']:.0f}",
                f"{row['time_share']:.0%}",
                _between(row["time_share_low"], row["time_share_high"], "{:.0%}"),
                "–" if row["chosen_tid"] is None else f"trial {row['chosen_tid']:.0f}",
                f"{round(row['regret_at_stop'], 3) + 0.0:.3f}",
                f"{round(row['regret_final'], 3) + 0.0:.3f}",
                _between(row["regret_final_low"], row["regret_final_high"], "{:.3f}"),
                "–" if pd.isna(row["rho"]) else f"{row['rho']:.2f}",
            )


def _between(low: float, high: float, form: str) -> str:
    words = form.format(low), form.format(high)
    return "–" if words[0] == words[1] else f"{words[0]} to {words[1]}"


def both_countings(analysis: Analysis) -> Iterator[Sequence[str]]:
    """What the networks with an undefined accuracy change: their HMS and MSE are defined."""
    yield "pair", "ρ, all metrics defined", "p", "ρ, undefined accuracy as chance", "p", "paper"
    if analysis.scored is None:
        return
    scored = {row["pair"]: row for row in comparison.table_2_rows(analysis.scored)}
    for row in comparison.table_2_rows(analysis.defined):
        other = scored[row["pair"]]
        yield (
            row["pair"], f"{row['rho']} (n = {row['n']})", row["p"], f"{other['rho']} (n = {other['n']})", other["p"],
            row["paper"],
        )  # fmt: skip


def compared(full: SearchTables, stopped: SearchTables) -> Iterator[Sequence[str]]:
    """The same points, seeds and data without and with the rule."""
    yield "", full.record.name, stopped.record.name
    both = full.finished, stopped.finished
    yield "networks", *(str(len(trials)) for trials in both)
    yield "epochs trained", *(f"{trials['epochs_trained'].sum():,.0f}" for trials in both)
    yield "device time", *(f"{trials['seconds'].sum() / 3600:.2f} h" for trials in both)
    yield "ended by the rule", *(str(int((trials["finish"] == "hms_stable").sum())) for trials in both)
    for place in range(3):
        yield f"place {place + 1} by HMS", *(_place(trials, place) for trials in both)


def _place(trials: pd.DataFrame, place: int) -> str:
    row: Any = trials.sort_values(["hms", "tid"], ascending=[False, True]).iloc[place]
    return f"trial {row['tid']:.0f}: {row['hms']:.3f} at epoch {row['epochs_trained']:.0f}"


if __name__ == "__main__":
    main()
