"""Is a more brain-like network also easier to understand? Networks are the sample: one value each."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from psychophysics.analysis.summaries import main_trials
from search.report.rank_correlation import EXACT_UP_TO, exact_p_value, t_p_value

MIN_NETWORKS = 6  # with 4 even a perfect order has p = 0.08, with 5 a single exchange of neighbours has p = 0.08


@dataclass(frozen=True)
class NetworkQuestion:
    """rho: Spearman of a network's accuracy with its HMS over `n` networks, two-sided p by permutation up to 8, then t.

    `answer`: what may be said; rho and p are NaN when it is that the question cannot be answered.
    """

    n: int
    rho: float
    p: float
    answer: str


def by_network(trials: pd.DataFrame, networks: pd.DataFrame) -> pd.DataFrame:
    """One row a network and condition, by rising HMS: network, condition, hms, mse, participants, trials, accuracy.

    Accuracy is the mean over all its trials; units and participants differ between networks.
    """
    main = main_trials(trials).astype({"correct": np.float64})
    groups = main.groupby(["network", "condition"], sort=False)
    table = groups.agg(
        participants=("participant", "nunique"), trials=("correct", "size"), accuracy=("correct", "mean")
    )
    known = networks.set_index("network")[["hms", "mse"]]
    joined = table.reset_index().join(known, on="network").sort_values(["hms", "network"], kind="stable")
    return joined[["network", "condition", "hms", "mse", "participants", "trials", "accuracy"]]


def understanding_and_hms(table: pd.DataFrame, alpha: float = 0.05) -> NetworkQuestion:
    """The question for the mean accuracy of each network of `by_network` over the conditions with references.

    Without references nobody can know what a unit likes: condition `none` counts only where there is no other.
    Networks without HMS are left out. A relation is said to be shown where p < `alpha`. With fewer than 6 networks it
    says that the question cannot be answered.
    """
    shown = table[table["condition"] != "none"]
    means = (shown if len(shown) else table).groupby("network")[["hms", "accuracy"]].mean().dropna()
    n = len(means)
    if n < MIN_NETWORKS:
        text = f"{n} networks with a defined HMS: the question cannot be answered with fewer than {MIN_NETWORKS}."
        return NetworkQuestion(n, np.nan, np.nan, text)
    if means["hms"].nunique() < 2 or means["accuracy"].nunique() < 2:
        return NetworkQuestion(n, np.nan, np.nan, f"All {n} networks have the same HMS or accuracy: undefined.")
    rho = float(stats.spearmanr(means["hms"], means["accuracy"]).statistic)
    x, y = means["hms"].to_numpy(), means["accuracy"].to_numpy()
    p = exact_p_value(x, y) if n <= EXACT_UP_TO else t_p_value(rho, n - 2, n)
    direction = "easier" if rho > 0 else "harder"
    verdict = f"more brain-like networks are {direction} to understand" if p < alpha else "no relation is shown"
    return NetworkQuestion(n, rho, p, f"Over {n} networks {verdict}.")
