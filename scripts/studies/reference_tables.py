"""The tables of the reference study as Markdown, from its committed tables: what docs/reference_study.md shows.

    python scripts/studies/reference_tables.py [results/reference] [results/reference-stability]

The first folder is of the search without a stopping rule, the second of the same networks with the rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from search.report import Analysis, SearchTables, analyse, comparison, paper, read_tables

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
    """Every rule and its controls, judged by HMS."""
    yield (
        "rule", "ended early", "device time saved", "95 % interval", "best network chosen", "regret as stopped",
        "regret at the end", "early to final ρ",
    )  # fmt: skip
    rules = analysis.early_stopping.rules
    for row in rules[rules["target"] == "hms"].to_dict("records"):
        yield (
            f"– {row['label']}" if row["kind"] == "control" else row["label"],
            f"{row['ended_early']:.0f}",
            f"{row['time_share']:.0%}",
            f"{row['time_share_low']:.0%} to {row['time_share_high']:.0%}",
            {0.0: "no", 1.0: "yes"}.get(row["best_chosen"], f"with p = {row['best_chosen']:.2f}"),
            f"{round(row['regret_at_stop'], 3) + 0.0:.3f}",
            f"{round(row['regret_final'], 3) + 0.0:.3f}",
            "–" if pd.isna(row["rho"]) else f"{row['rho']:.2f}",
        )


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
