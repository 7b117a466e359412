"""Tidy trials of a simulated study: the paper's design with effects that are known."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special


@dataclass(frozen=True)
class Effects:
    """Log-odds of a correct answer: an intercept a condition, and SDs of the random effects.

    `condition_by_unit`: SD of a unit's further deviation in every condition but the first. `network`: SD of networks.
    """

    intercepts: Mapping[str, float]
    participant: float = 0.35
    unit: float = 0.6
    unit_by_set: float = 0.6
    condition_by_unit: float = 0.0
    network: float = 0.0


def simulate_trials(
    effects: Effects,
    rng: np.random.Generator,
    *,
    participants: int = 50,
    units: int = 18,
    sets: int = 10,
    networks: int = 1,
) -> pd.DataFrame:
    """Main trials of `participants` people a condition (between participants), each with one image set of all units.

    Image sets are filled in turn. Sides, confidence and reaction time carry no information. The units are shared out
    among `networks`, the first ones to the first.
    """
    unit = rng.normal(0, effects.unit, units)
    by_set = rng.normal(0, effects.unit_by_set, (sets, units))
    names = ["simulated"] if networks == 1 else [f"simulated-{i:02d}" for i in range(networks)]
    network = np.arange(units) * networks // units
    if networks > 1:
        unit += rng.normal(0, effects.network, networks)[network]
    tables = []
    for c, (condition, intercept) in enumerate(effects.intercepts.items()):
        slope = rng.normal(0, effects.condition_by_unit, units) if c else 0.0
        chosen = np.arange(participants) % sets
        person = rng.normal(0, effects.participant, (participants, 1))
        p = special.expit(intercept + unit + slope + by_set[chosen] + person)
        correct = (rng.random(p.shape) < p).ravel()
        target = rng.choice(["left", "right"], p.size)
        tables.append(
            pd.DataFrame(
                {
                    "participant": np.repeat([f"{condition}-{i:03d}" for i in range(participants)], units),
                    "condition": condition,
                    "network": np.tile(np.array(names, dtype=object)[network], participants),
                    "layer": "layer",
                    "unit": np.tile([f"{i:02d}" for i in range(units)], participants),
                    "image_set": np.repeat(chosen, units),
                    "kind": "main",
                    "attempt": 0,
                    "position": np.tile(np.arange(units), participants),
                    "query_max": "max",
                    "query_min": "min",
                    "target_side": target,
                    "response_side": np.where(correct, target, np.where(target == "left", "right", "left")),
                    "confidence": rng.integers(1, 4, p.size),
                    "correct": correct,
                    "rt_s": np.round(rng.lognormal(1.5, 0.5, p.size), 3),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)
