"""Accuracy, reaction time and confidence of main trials, by condition and by unit. Errors are over participants."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

MAIN = "main"


def main_trials(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that count: neither instruction, practice nor catch."""
    return trials[trials["kind"] == MAIN]


def participant_means(trials: pd.DataFrame, value: str = "correct") -> pd.DataFrame:
    """Mean of `value` for each participant in each condition; columns condition, participant, mean, trials."""
    groups = main_trials(trials).groupby(["condition", "participant"], sort=True)[value]
    return groups.agg(mean="mean", trials="size").reset_index().astype({"mean": np.float64})


def by_condition(trials: pd.DataFrame, value: str = "correct", keys: Sequence[str] = ()) -> pd.DataFrame:
    """Mean of `value` by condition (and `keys`, such as network): in the order of the trials.

    Columns: condition, keys, participants, trials, mean (of participant means), pooled (of all trials), sd (of
    participant means, ddof 1), sem2 (two standard errors, ddof 1), sem2_ddof0 (as published). NaN below 2 participants.
    """
    groups = ["condition", *keys]
    main = main_trials(trials).astype({value: np.float64})
    pooled = main.groupby(groups, sort=False)[value].agg(pooled="mean", trials="size")
    means = main.groupby([*groups, "participant"], sort=False)[value].mean().groupby(groups, sort=False)
    table = pooled.assign(
        participants=means.size(), mean=means.mean(), sd=means.std(ddof=1), sd_ddof0=means.std(ddof=0)
    )
    root = np.sqrt(table["participants"])
    table = table.assign(sem2=2 * table["sd"] / root, sem2_ddof0=2 * table["sd_ddof0"] / root)
    table.loc[table["participants"] < 2, "sem2_ddof0"] = np.nan
    shown = ["participants", "trials", "mean", "pooled", "sd", "sem2", "sem2_ddof0"]
    return table[shown].reset_index()


def by_stimulus(trials: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Pooled accuracy by condition and `keys`, such as layer; columns: condition, keys, trials, accuracy."""
    groups = main_trials(trials).groupby(["condition", *keys], sort=True)["correct"]
    return groups.agg(trials="size", accuracy="mean").reset_index()


def confidence_shares(trials: pd.DataFrame) -> pd.DataFrame:
    """For each condition and confidence 1, 2, 3: its trials, their share, and their accuracy (NaN without any)."""
    main = main_trials(trials)
    rows = []
    for condition, own in main.groupby("condition", sort=False):
        for level in (1, 2, 3):
            chosen = own.loc[own["confidence"] == level, "correct"]
            share = len(chosen) / len(own)
            accuracy = float(chosen.mean()) if len(chosen) else np.nan
            rows.append((condition, level, len(chosen), share, accuracy))
    return pd.DataFrame(rows, columns=["condition", "confidence", "trials", "share", "accuracy"])
