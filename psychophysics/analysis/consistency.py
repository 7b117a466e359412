"""Do people err on the same trials? Error consistency: Cohen's kappa of two sequences of right and wrong.

kappa = (observed - expected) / (1 - expected); expected: agreement of independent sequences of the same accuracies.
1: the same trials wrong; 0: as independent. Undefined where the expected agreement is 1 (both always right, or always
wrong). Only queries count that both saw. Geirhos, Meding & Wichmann (2020), NeurIPS.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from psychophysics.analysis.summaries import main_trials
from psychophysics.responses import QUERY

FloatArray = npt.NDArray[np.floating[Any]]

RESAMPLES = 1000
COLUMNS = ["first", "second", "kappa", "low", "high", "pairs", "undefined"]


@dataclass(frozen=True)
class Sequences:
    """Answers to the same queries: values (r, q) float64, 1 right, 0 wrong, NaN not seen.

    condition and participant (r,) of each row: a participant of several conditions has a row in each.
    """

    values: FloatArray
    condition: npt.NDArray[np.object_]
    participant: npt.NDArray[np.object_]
    queries: pd.Index


def sequences(trials: pd.DataFrame) -> Sequences:
    """Main trials as one row for each participant and condition."""
    main = main_trials(trials)
    table = main.astype({"correct": float}).pivot_table(
        index=["condition", "participant"], columns=QUERY, values="correct", sort=False
    )
    labels = table.index.to_frame()
    condition, participant = (labels[name].to_numpy(dtype=object) for name in ("condition", "participant"))
    return Sequences(table.to_numpy(dtype=np.float64), condition, participant, table.columns)


def kappas(first: FloatArray, second: FloatArray) -> FloatArray:
    """kappa (m, n) of each row of `first` (m, q) with each of `second` (n, q); NaN: nothing shared, or undefined.

    Values are 1 or 0, or in between for a strategy that is undecided: then agreement is the expected one.
    """
    seen, other_seen = (~np.isnan(first)).astype(float), (~np.isnan(second)).astype(float)
    a, b = np.nan_to_num(first), np.nan_to_num(second)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = seen @ other_seen.T
        one, other = (a @ other_seen.T) / n, (seen @ b.T) / n
        observed = 1 - one - other + 2 * (a @ b.T) / n
        expected = one * other + (1 - one) * (1 - other)
        value = (observed - expected) / (1 - expected)
    return np.where((n > 0) & (1 - expected > 1e-12), value, np.nan)


def between_people(
    rows: Sequences, conditions: Iterable[str], seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Mean kappa of pairs of people within each condition and between any two; columns `COLUMNS`.

    low, high: 95 % percentile interval over resamples of participants, in which nobody is paired with himself;
    undefined: pairs with common queries but without a kappa. NaN where no two people share a query.
    """
    value = kappas(rows.values, rows.values)
    seen = (~np.isnan(rows.values)).astype(float)
    _, person = np.unique(rows.participant.astype(str), return_inverse=True)
    apart = person[:, None] != person[None, :]
    shared = (seen @ seen.T > 0) & apart
    usable = np.isfinite(value) & apart
    counts = _draws(rows, person, resamples, seed)
    found = []
    for first, second in combinations_with_replacement(conditions, 2):
        i, j = rows.condition == first, rows.condition == second
        pairs = 2 if first == second else 1
        block, defined = np.nan_to_num(value[np.ix_(i, j)]), usable[np.ix_(i, j)].astype(float)
        mean = _ratio((block * defined).sum(), defined.sum())
        left, right = counts[:, i], counts[:, j]
        drawn = _ratio(
            np.einsum("bi,ij,bj->b", left, block * defined, right), np.einsum("bi,ij,bj->b", left, defined, right)
        )
        undefined = int((shared[np.ix_(i, j)] & (defined == 0)).sum()) // pairs
        found.append((first, second, float(mean), *_limits(drawn), int(defined.sum()) // pairs, undefined))
    return pd.DataFrame(found, columns=COLUMNS)


def with_baselines(
    rows: Sequences, baselines: pd.DataFrame, conditions: Iterable[str], seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Mean kappa of people in each condition with each baseline; columns `COLUMNS`, `second` is the baseline's name.

    `baselines`: the table of that name (`psychophysics.responses.BASELINES`). Participants are resampled.
    """
    _, person = np.unique(rows.participant.astype(str), return_inverse=True)
    counts = _draws(rows, person, resamples, seed)
    found = []
    for name, own in baselines.groupby("baseline", sort=False):
        answers = own.set_index(QUERY)["correct"].reindex(rows.queries).to_numpy(dtype=np.float64)
        value = kappas(rows.values, answers[None, :])[:, 0]
        common = ((~np.isnan(rows.values)) & ~np.isnan(answers)).any(axis=1)
        for condition in conditions:
            chosen = rows.condition == condition
            defined = np.isfinite(value[chosen]).astype(float)
            mean = _ratio(np.nansum(value[chosen]), defined.sum())
            drawn = _ratio(counts[:, chosen] @ np.nan_to_num(value[chosen]), counts[:, chosen] @ defined)
            undefined = int((common[chosen] & (defined == 0)).sum())
            found.append((condition, name, float(mean), *_limits(drawn), int(defined.sum()), undefined))
    return pd.DataFrame(found, columns=COLUMNS)


def _draws(rows: Sequences, person: npt.NDArray[np.integer[Any]], resamples: int, seed: int) -> FloatArray:
    """How often each row counts in each resample (b, r): people are drawn within their set of conditions."""
    rng = np.random.default_rng(seed)
    people = int(person.max()) + 1
    taken = [tuple(sorted(set(rows.condition[person == p]))) for p in range(people)]
    counts = np.empty((resamples, people))
    for group in set(taken):
        members = np.array([p for p in range(people) if taken[p] == group])
        counts[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=resamples)
    return counts[:, person]


def _ratio(total: Any, count: Any) -> FloatArray:
    total, count = np.asarray(total, float), np.asarray(count, float)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _limits(drawn: FloatArray) -> tuple[float, float]:
    defined = drawn[np.isfinite(drawn)]
    if not defined.size:
        return np.nan, np.nan
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)
