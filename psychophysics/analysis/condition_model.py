"""The mixed model of a study: what changes the odds of a correct answer, over participants, units and image sets.

    correct ~ condition + (1 | participant) + (1 + condition | unit) + (1 | unit:image_set)
and `+ (1 | network)` when the study has more than one network.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special

from psychophysics.analysis.summaries import main_trials
from psychophysics.errors import NotEstimable
from psychophysics.mixed_model import Fit, RandomTerm, fit
from psychophysics.responses import QUERY, UNIT

FORMULA = "correct ~ condition + (1 | participant) + (1 + condition | unit) + (1 | unit:image_set)"


def formula(trials: pd.DataFrame) -> str:
    """The model that `fit_conditions` fits to these trials, as R writes it."""
    main = main_trials(trials)
    model = FORMULA if main["condition"].nunique() > 1 else FORMULA.replace("condition", "1").replace("1 + 1", "1")
    return model + (" + (1 | network)" if main["network"].nunique() > 1 else "")


def fit_conditions(trials: pd.DataFrame, reference: str) -> Fit:
    """Fit the model to main trials; effects: log-odds in condition `reference`, then each other condition's difference.

    Raises NotEstimable with the condition's name where all answers of a condition are alike.
    """
    main = main_trials(trials)
    accuracy = main.groupby("condition", sort=False)["correct"].mean()
    for condition, share in accuracy.items():
        if share in (0.0, 1.0):
            raise NotEstimable(
                f"All answers in condition {condition} are {'correct' if share else 'wrong'}: no finite odds."
            )
    others = [condition for condition in accuracy.index if condition != reference]
    names = ("intercept", *others)
    design = np.column_stack([np.ones(len(main)), *(main["condition"].to_numpy() == other for other in others)])
    ones = np.ones((len(main), 1))
    terms = [
        RandomTerm("participant", main["participant"].to_numpy(dtype=object), ones),
        RandomTerm("unit", _label(main, UNIT), design, names),
        RandomTerm("unit:image_set", _label(main, QUERY), ones),
    ]
    if main["network"].nunique() > 1:
        terms.append(RandomTerm("network", main["network"].to_numpy(dtype=object), ones))
    return fit(main["correct"], design, names, terms)


def condition_table(model: Fit, reference: str) -> pd.DataFrame:
    """Every pair of conditions: difference in log-odds, odds ratio, 95 % interval, p; first minus second.

    Columns first, second, log_odds, error, low, high, df, odds_ratio, p.
    """
    conditions = [reference, *model.names[1:]]
    weights = dict(zip(conditions, np.eye(len(conditions)), strict=True))
    weights[reference] = np.zeros(len(conditions))
    rows = []
    for first, second in combinations(conditions, 2):
        found = model.contrast(weights[first] - weights[second])
        row = (first, second, found.value, found.error, found.low, found.high, found.df, np.exp(found.value), found.p)
        rows.append(row)
    columns = ["first", "second", "log_odds", "error", "low", "high", "df", "odds_ratio", "p"]
    return pd.DataFrame(rows, columns=columns)


def typical_accuracy(model: Fit, reference: str) -> pd.DataFrame:
    """Accuracy by condition of the participant, unit and set in the middle; columns condition, accuracy, low, high.

    It is further from 0.5 than the mean over all of them, which is the observed accuracy.
    """
    rows = []
    for i, condition in enumerate([reference, *model.names[1:]]):
        weights = np.eye(len(model.names))[0] + (np.eye(len(model.names))[i] if i else 0)
        found = model.contrast(weights)
        rows.append((condition, *special.expit([found.value, found.low, found.high])))
    return pd.DataFrame(rows, columns=["condition", "accuracy", "low", "high"])


def spread_table(model: Fit) -> pd.DataFrame:
    """SD of the random effects, log-odds; columns term, effect, levels, sd."""
    rows = [
        (name, column, spread.levels, float(sd))
        for name, spread in model.random.items()
        for column, sd in zip(spread.columns, spread.sd, strict=True)
    ]
    return pd.DataFrame(rows, columns=["term", "effect", "levels", "sd"])


def _label(trials: pd.DataFrame, keys: list[str]) -> np.ndarray:
    return trials[keys].astype(str).agg("\x1f".join, axis=1).to_numpy(dtype=object)
