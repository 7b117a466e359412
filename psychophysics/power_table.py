"""Power of several designs side by side: as a table for the terminal, as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from psychophysics.power import Power, PowerDesign, simulate_power


def simulate_all(
    baseline: float,
    accuracies: Sequence[float],
    participants: Sequence[int],
    design: PowerDesign,
    *,
    simulations: int,
    alpha: float,
    seed: int,
) -> list[Power]:
    """The power for every accuracy with every number of participants a condition."""
    return [
        simulate_power(baseline, accuracy, n, design, simulations=simulations, alpha=alpha, seed=seed)
        for accuracy in accuracies
        for n in participants
    ]


def power_json(found: Sequence[Power], design: PowerDesign) -> dict[str, Any]:
    """The design and one row for each power."""
    return {"design": asdict(design), "test": "Mann-Whitney U on participant means", "power": list(map(asdict, found))}


def power_table(found: Sequence[Power], design: PowerDesign) -> Table:
    """One line for each power, with its Monte-Carlo interval."""
    table = Table(
        title=f"Power of Mann-Whitney U on participant means, two-sided alpha {found[0].alpha:g}",
        caption=(
            f"{design.trials} trials a participant, {design.sets} image sets; SDs (log-odds): participant "
            f"{design.sd_participant:g}, unit {design.sd_unit:g}, unit x set {design.sd_unit_by_set:g}; "
            f"{found[0].simulations:,} simulated studies a line"
        ),
    )
    for name in ("Accuracies", "Participants a condition", "Power", "95 % Monte-Carlo interval"):
        table.add_column(name, justify="right")
    for row in found:
        table.add_row(
            f"{row.baseline:.1%} -> {row.accuracy:.1%}",
            str(row.participants),
            f"{row.power:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
        )
    return table
