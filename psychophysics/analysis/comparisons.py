"""Differences between conditions: tests on participant means that fit the design, which is read from the data.

Other participants in each condition: Mann-Whitney U. The same ones: Wilcoxon's signed ranks. Participants in some
conditions only: neither fits, and the mixed model is what remains. Holm (1979) corrects over all pairs.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from psychophysics.analysis.summaries import participant_means
from psychophysics.errors import DesignError

Design = Literal["between", "within", "mixed"]

MANN_WHITNEY = "Mann-Whitney U"
WILCOXON = "Wilcoxon W"

PAIR_COLUMNS = ["first", "second", "n_first", "n_second", "difference"]
PAIR_COLUMNS += ["test", "statistic", "p", "p_holm", "family", "p_equivalence", "reason"]


@dataclass(frozen=True)
class Test:
    """statistic: U of the first sample, or W; p: two-sided; 1 where all values are equal."""

    __test__ = False  # no test of pytest's

    name: str
    statistic: float
    p: float


def design_of(trials: pd.DataFrame, conditions: tuple[str, ...] | None = None) -> Design:
    """`between`: every participant in one condition; `within`: every participant in all; else `mixed`."""
    means = participant_means(trials)
    chosen = means if conditions is None else means[means["condition"].isin(conditions)]
    taken = chosen.groupby("participant")["condition"].nunique()
    if (taken == 1).all():
        return "between"
    return "within" if (taken == chosen["condition"].nunique()).all() else "mixed"


def mann_whitney(first: npt.ArrayLike, second: npt.ArrayLike) -> Test:
    """Two independent samples; normal approximation, corrected for ties and continuity."""
    found = stats.mannwhitneyu(
        np.asarray(first, float), np.asarray(second, float), alternative="two-sided", method="asymptotic"
    )
    return Test(MANN_WHITNEY, float(found.statistic), float(np.nan_to_num(found.pvalue, nan=1.0)))


def wilcoxon(first: npt.ArrayLike, second: npt.ArrayLike) -> Test:
    """Paired samples; equal pairs are dropped. Exact for up to 50 pairs without ties, else normal approximation."""
    difference = np.round(np.asarray(first, float) - np.asarray(second, float), 12)
    if not difference.any():
        return Test(WILCOXON, 0.0, 1.0)
    found = stats.wilcoxon(difference[difference != 0])
    return Test(WILCOXON, float(found.statistic), float(found.pvalue))


def compare(trials: pd.DataFrame, first: str, second: str, test: Literal["fitting", "unpaired"] = "fitting") -> Test:
    """The test of two conditions that fits the design.

    Raises DesignError when `unpaired` is asked for participants who took both, or when only some took both.
    """
    one, other = _means(trials, first, second)
    design = design_of(trials, (first, second))
    repeated = sorted(set(one.index) & set(other.index))
    if test == "unpaired" and repeated:
        raise DesignError(
            f"{len(repeated)} participants took both {first} and {second} ({repeated[0]}, for one): their answers are "
            "not independent, so that an unpaired test does not apply; use the paired one."
        )
    if design == "mixed":
        raise DesignError(
            f"{len(repeated)} of {len(set(one.index) | set(other.index))} participants took both {first} and {second}: "
            "neither a paired nor an unpaired test of all fits; see the mixed model."
        )
    if design == "within":
        return wilcoxon(one.to_numpy(), other.loc[one.index].to_numpy())
    return mann_whitney(one.to_numpy(), other.to_numpy())


def pairwise(trials: pd.DataFrame, conditions: list[str], bound: float | None = None) -> pd.DataFrame:
    """All pairs of `conditions`: difference of the mean accuracies, test, p, Holm's p; with a `bound`, equivalence.

    Columns `PAIR_COLUMNS`; difference: first - second; family: tests that are corrected together; p_equivalence: NaN
    without a bound; reason: why a pair has no test.
    """
    rows = []
    for first, second in combinations(conditions, 2):
        one, other = _means(trials, first, second)
        row = {"first": first, "second": second, "n_first": len(one), "n_second": len(other)}
        row |= {"difference": float(one.mean() - other.mean()), "reason": ""}
        try:
            found = compare(trials, first, second)
            row |= {"test": found.name, "statistic": found.statistic, "p": found.p}
            row["p_equivalence"] = np.nan if bound is None else equivalence(trials, first, second, bound)
        except DesignError as error:
            row |= {"test": "", "statistic": np.nan, "p": np.nan, "p_equivalence": np.nan, "reason": str(error)}
        rows.append(row)
    order = [
        "first",
        "second",
        "n_first",
        "n_second",
        "difference",
        "test",
        "statistic",
        "p",
        "p_equivalence",
        "reason",
    ]
    table = pd.DataFrame(rows, columns=order)
    tested = table["p"].notna()
    table["family"] = int(tested.sum())
    if tested.any():
        table.loc[tested, "p_holm"] = multipletests(table.loc[tested, "p"].astype(float), method="holm")[1]
    return table


def equivalence(trials: pd.DataFrame, first: str, second: str, bound: float) -> float:
    """p of two one-sided t tests (TOST) that mean accuracies differ by less than `bound` (a share); small = equivalent.

    Welch's for other participants, paired for the same. NaN with fewer than 2 participants or without any spread.
    Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657.
    """
    one, other = _means(trials, first, second)
    if min(len(one), len(other)) < 2:
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        if design_of(trials, (first, second)) == "within":
            found = ttost_paired(one.to_numpy(), other.loc[one.index].to_numpy(), -bound, bound)
        else:
            found = ttost_ind(one.to_numpy(), other.to_numpy(), -bound, bound, usevar="unequal")
    return float(found[0])


def _means(trials: pd.DataFrame, first: str, second: str) -> tuple[pd.Series, pd.Series]:
    means = participant_means(trials).set_index(["condition", "participant"])["mean"]
    there = list(means.index.get_level_values("condition").unique())
    for condition in (first, second):
        if condition not in there:
            raise DesignError(f"No main trials of condition {condition}; there are {', '.join(there) or 'none'}.")
    return means.loc[first], means.loc[second]
