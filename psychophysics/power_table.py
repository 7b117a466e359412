"""Power of several designs side by side, of conditions or over networks: as a table for the terminal, as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from rich.table import Table

from psychophysics.network_power import NetworkDesign, NetworkPower, simulate_network_power
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


def simulate_all_networks(
    networks: Sequence[int],
    participants: Sequence[int],
    baseline: float,
    slopes: Sequence[float],
    design: NetworkDesign,
    *,
    simulations: int,
    alpha: float,
    seed: int,
) -> list[NetworkPower]:
    """The power for every slope, number of participants in all and number of networks, whose HMS are evenly spaced."""
    return [
        simulate_network_power(
            np.arange(float(n)), baseline, slope, replace(design, participants=people),
            simulations=simulations, alpha=alpha, seed=seed,
        )
        for slope in slopes
        for people in participants
        for n in networks
    ]  # fmt: skip


def simulated_for(hms: Sequence[float], design: NetworkDesign) -> list[NetworkPower]:
    """The power over networks of these HMS, for accuracies that rise from 60 % by 5, 10 and 20 points."""
    values = np.asarray(hms, dtype=np.float64)
    return [simulate_network_power(values, 0.6, slope, design) for slope in (0.05, 0.1, 0.2)]


def network_power_json(found: Sequence[NetworkPower], design: NetworkDesign) -> dict[str, Any]:
    """The design and one row for each power."""
    fixed = {name: value for name, value in asdict(design).items() if name != "participants"}
    return {"design": fixed, "test": "Spearman over networks", "power": list(map(asdict, found))}


def network_power_table(found: Sequence[NetworkPower], design: NetworkDesign) -> Table:
    """One line for each power, with its Monte-Carlo interval."""
    table = Table(
        title=f"Power of Spearman's correlation of accuracy with HMS over networks, two-sided alpha {found[0].alpha:g}",
        caption=(
            f"{design.units} units a network, all shown to every participant, {design.sets} image sets; SDs "
            f"(log-odds): participant {design.sd_participant:g}, unit {design.sd_unit:g}, unit x set "
            f"{design.sd_unit_by_set:g}, network beside its HMS {design.sd_network:g}; "
            f"{found[0].simulations:,} simulated studies a line"
        ),
    )
    interval = "95 % Monte-Carlo interval"
    for name in ("Accuracy, lowest to highest HMS", "Networks", "Participants in all", "Power", interval, "Median rho"):
        table.add_column(name, justify="right")
    for row in found:
        table.add_row(
            f"{row.baseline:.1%} -> {row.baseline + row.slope:.1%}",
            str(row.networks),
            str(row.participants),
            f"{row.power:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
            f"{row.rho:.2f}",
        )
    return table
