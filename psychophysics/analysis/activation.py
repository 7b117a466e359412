"""Is a query pair answered better the further its two activations lie apart?"""

import numpy as np
import pandas as pd
from scipy import stats

from psychophysics.analysis.summaries import by_stimulus
from psychophysics.responses import QUERY

COLUMNS = ["condition", "n", "rho", "p", "not_defined"]


def relative_difference(queries: pd.DataFrame) -> pd.Series:
    """(max - min) / base of each query pair; NaN where the base activation is 0 or below: no share of it exists."""
    base = queries["activation_base"].astype(float)
    return ((queries["activation_max"] - queries["activation_min"]) / base).where(base > 0)


def activation_effect(trials: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """Spearman of a pair's accuracy with its relative activation difference, by condition; columns `COLUMNS`.

    n: pairs with answers and a defined difference; not_defined: pairs with answers but a base activation of 0 or below.
    rho and p (two-sided, Student's t) are NaN below 3 pairs or without variation.
    """
    known = queries.set_index(QUERY)
    difference = relative_difference(known)
    rows = []
    accuracy = by_stimulus(trials, QUERY)
    for condition in trials["condition"].unique():
        own = accuracy[accuracy["condition"] == condition].set_index(QUERY)["accuracy"]
        own = own[own.index.isin(known.index)]
        x = difference.reindex(own.index)
        defined = x.notna()
        rho = p = np.nan
        if defined.sum() >= 3 and x[defined].nunique() > 1 and own[defined].nunique() > 1:
            found = stats.spearmanr(x[defined], own[defined])
            rho, p = float(found.statistic), float(found.pvalue)
        rows.append((condition, int(defined.sum()), rho, p, int((~defined).sum())))
    return pd.DataFrame(rows, columns=COLUMNS)
