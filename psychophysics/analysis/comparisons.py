"""Differences between conditions: tests on participant means that fit the design, which is read from the data.

Other participants in each condition: Mann-Whitney U. The same ones: Wilcoxon's signed ranks. Participants in some
conditions only: neither fits, and the mixed model is what remains. Holm (1979) corrects over all pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

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


def design_of(means: pd.DataFrame) -> Design:
    """`between`: every participant in one condition; `within`: every participant in all; else `mixed`.

    `means`: the table of `participant_means`, here and below.
    """
    taken = means.groupby("participant")["condition"].nunique()
    if (taken == 1).all():
        return "between"
    return "within" if (taken == means["condition"].nunique()).all() else "mixed"


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


def compare(means: pd.DataFrame, first: str, second: str, test: Literal["fitting", "unpaired"] = "fitting") -> Test:
    """The test of two conditions that fits the design.

    Raises DesignError when `unpaired` is asked for participants who took both, or when only some took both.
    """
    one, other = _samples(means, first, second)
    both = one.index.intersection(other.index)
    if test == "unpaired" and len(both):
        raise DesignError(
            f"{len(both)} participants took both {first} and {second} ({both[0]}, for one): their answers are "
            "not independent, so that an unpaired test does not apply; use the paired one."
        )
    if not len(both):
        return mann_whitney(one, other)
    if len(both) < max(len(one), len(other)):
        raise DesignError(
            f"{len(both)} of {len(one.index.union(other.index))} participants took both {first} and {second}: "
            "neither a paired nor an unpaired test of all fits; see the mixed model."
        )
    return wilcoxon(one, other.loc[one.index])


def equivalence(means: pd.DataFrame, first: str, second: str, bound: float) -> float:
    """p of two one-sided t tests (TOST) that mean accuracies differ by less than `bound` (a share); small = equivalent.

    Welch's for other participants, paired for the same. NaN with fewer than 2 participants, without any spread, and
    where only some took both. Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657.
    """
    one, other = _samples(means, first, second)
    both = one.index.intersection(other.index)
    if min(len(one), len(other)) < 2 or 0 < len(both) < max(len(one), len(other)):
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        if len(both):
            found = ttost_paired(one.to_numpy(), other.loc[one.index].to_numpy(), -bound, bound)
        else:
            found = ttost_ind(one.to_numpy(), other.to_numpy(), -bound, bound, usevar="unequal")
    return float(found[0])


def pairwise(means: pd.DataFrame, conditions: Sequence[str], bound: float | None = None) -> pd.DataFrame:
    """All pairs of `conditions`: difference of the mean accuracies, test, p, Holm's p; with a `bound`, equivalence.

    Columns `PAIR_COLUMNS`; difference: first - second; family: tests that are corrected together; p_equivalence: NaN
    without a bound; reason: why a pair has no test.
    """
    rows: list[dict[str, object]] = []
    for first, second in combinations(conditions, 2):
        one, other = _samples(means, first, second)
        row = {"first": first, "second": second, "n_first": len(one), "n_second": len(other)}
        row |= {"difference": float(one.mean() - other.mean())}
        row["p_equivalence"] = np.nan if bound is None else equivalence(means, first, second, bound)
        try:
            found = compare(means, first, second)
            rows.append(row | {"test": found.name, "statistic": found.statistic, "p": found.p, "reason": ""})
        except DesignError as error:
            rows.append(row | {"test": "", "statistic": np.nan, "p": np.nan, "reason": str(error)})
    table = pd.DataFrame(rows, columns=PAIR_COLUMNS).astype({"p": float, "p_holm": float})
    tested = table["p"].notna()
    table["family"] = int(tested.sum())
    if tested.any():
        table.loc[tested, "p_holm"] = multipletests(table.loc[tested, "p"], method="holm")[1]
    return table


def _samples(means: pd.DataFrame, first: str, second: str) -> tuple[pd.Series, pd.Series]:
    """Means of the participants of two conditions, indexed by participant; DesignError for a condition without any."""
    there = means["condition"].unique()
    for condition in (first, second):
        if condition not in there:
            raise DesignError(f"No main trials of condition {condition}; there are {', '.join(there) or 'none'}.")
    one, other = (means[means["condition"] == c].set_index("participant")["mean"] for c in (first, second))
    return one, other
